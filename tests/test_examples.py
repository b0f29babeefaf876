"""The examples run, and what they show is true."""

import runpy
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[1] / "examples"


def test_from_a_csv_to_a_picture(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["from_csv_to_picture.py"])
    names = runpy.run_path(str(EXAMPLES / "from_csv_to_picture.py"), run_name="example")
    names["main"](None, "picture.png")
    told = capsys.readouterr().out
    with_metric, without = (float(word.strip(",")) for word in told.split("\n")[0].split() if word[0] == "0")
    assert with_metric > without
    assert with_metric > 0.95
    assert (tmp_path / "picture.png").stat().st_size > 10_000
    assert (tmp_path / "rentals.csv").is_file()


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.py")), ids=lambda path: path.name)
def test_an_example_says_what_it_is(path):
    assert path.read_text(encoding="utf-8").startswith('"""')
