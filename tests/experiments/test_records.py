"""Records: one for each setting, mended where a run was ended, and told where they are broken."""

import json
import re
import shutil
from pathlib import Path

import pytest

import bochner
from bochner import experiments
from bochner.cli import main
from bochner.experiments import plan, records

ONE = {"dataset": ["diabetes"], "kernel": ["laplacian"], "method": ["rff"], "seed": ["0"]}


def record(seed, score=0.5, **more):
    setting = {"dataset": "digits", "seed": seed}
    return {
        "experiment": "table-5",
        "setting": setting,
        "figures": {"score": score},
        "peak MB": 1.0,
        "cores": 2,
    } | more


def write(folder, *lines):
    path = records.file_of(folder, "table-5")
    path.write_text("".join(line if isinstance(line, str) else json.dumps(line) + "\n" for line in lines))
    return path


def test_of_two_records_of_a_setting_the_last_counts(tmp_path):
    turned = {"seed": 0, "dataset": "digits"}
    write(tmp_path, record(0, 0.5), record(1, 0.6), record(0, 0.7, setting=turned))
    found = records.read(tmp_path, "table-5")
    assert [(r["setting"]["seed"], r["figures"]["score"]) for r in found] == [(0, 0.7), (1, 0.6)]


def test_an_experiment_that_is_named_twice_is_run_once(tmp_path):
    told = []
    twice = ["table-5", "table-5"]
    experiments.reproduce(twice, folder=tmp_path, quick=True, wanted=ONE, tell=lambda *step: told.append(step))
    assert [step[1:] for step in told] == [(0, 1)]
    assert len(records.file_of(tmp_path, "table-5").read_text().splitlines()) == 1
    assert len(experiments.progress(twice, folder=tmp_path, quick=True)) == 1


def test_choices_of_another_seed_are_taken_and_measured_first(tmp_path):
    told, wanted = [], ONE | {"dataset": ["breast_cancer"], "seed": ["1"]}
    experiments.reproduce(
        ["table-5"], folder=tmp_path, quick=True, wanted=wanted, tell=lambda s, *_: told.append(s.values["seed"])
    )
    assert told == [0, 1]
    first, second = (found["figures"] for found in records.read(tmp_path, "table-5"))
    assert second["length scale"] == first["length scale"]
    assert second["alpha"] == pytest.approx(first["alpha"], rel=1e-12)
    path = records.file_of(tmp_path, "table-5")
    path.write_text(path.read_text().splitlines()[0] + "\n")  # a run that was ended between them
    experiments.reproduce(["table-5"], folder=tmp_path, quick=True, wanted=wanted)
    assert records.read(tmp_path, "table-5")[1]["figures"]["score"] == second["score"]


def test_what_has_the_choices_of_an_older_record_is_missing():
    def chosen(alpha, **setting):
        figures = {"length scale": 2.0, "alpha": alpha, "n_rows": 10}
        return {"experiment": "table-5", "setting": setting, "figures": figures}

    settings = [plan.Setting("table-5", "prediction", v) for v in ({"seed": 0}, {"seed": 1, "choices_of_seed": 0})]
    taking = chosen(0.3 * (1 + 1e-12), seed=1, choices_of_seed=0)
    assert records.missing(settings, [chosen(0.3, seed=0), taking]) == []
    assert records.missing(settings, [chosen(0.4, seed=0), taking]) == settings[1:]
    assert records.planned(settings, [chosen(0.4, seed=0), taking]) == [chosen(0.4, seed=0)]


def test_a_record_says_which_source_it_is_of(tmp_path):
    experiments.reproduce(["table-5"], folder=tmp_path, quick=True, wanted=ONE)
    (found,) = records.read(tmp_path, "table-5")
    assert found["versions"]["source"] == records.source_of(Path(bochner.__file__).parent)
    assert re.fullmatch("[0-9a-f]{12}", found["versions"]["source"])


def test_the_source_is_that_of_the_files_that_can_change_a_figure(tmp_path):
    def source(**changed):
        texts = {"features.py": "a", "models/costs.py": "b", "py.typed": ""}
        texts |= {"cli/demo.py": "c", "experiments/page.py": "d", "progress.py": "e"} | changed
        shutil.rmtree(tmp_path)
        for name, text in texts.items():
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        return records.source_of(tmp_path)

    first = source()
    for name in ("features.py", "models/costs.py", "models/progress.py", "experiments/measures.py"):
        assert source(**{name: "changed"}) != first
    for name in ("cli/demo.py", "experiments/page.py", "progress.py", "features.txt"):
        assert source(**{name: "changed"}) == first
    assert source(**{"features.py": "b", "models/costs.py": "a"}) != first


def test_records_of_an_older_version_are_read(tmp_path):
    write(tmp_path, record(0, versions={"bochner": "0.1.0"}), record(1))
    assert len(records.read(tmp_path, "table-5")) == 2


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ('{"experiment": "table-5", "sett\n', "Unterminated string"),
        ("\n", "Expecting value"),
        ("[1, 2]\n", "it is not an object of JSON"),
        ('{"experiment": "table-5", "figures": {}, "cores": 2}\n', "it has no setting, peak MB"),
        (json.dumps(record(0) | {"figures": 3}) + "\n", "its figures is not an object of JSON"),
    ],
)
def test_a_broken_line_is_told_with_its_place(line, said, tmp_path):
    path = write(tmp_path, record(0), line, record(1))
    with pytest.raises(ValueError, match=r"Remove this line") as told:
        records.read(tmp_path, "table-5")
    assert str(told.value).startswith(f"Line 2 of {path} is no record ({said}")


def test_a_line_that_is_no_text_is_told_too(tmp_path):
    path = write(tmp_path, record(0))
    path.write_bytes(path.read_bytes() + b"\xff\xfe\xfa{}\n")
    with pytest.raises(ValueError, match=r"^Line 2 of "):
        records.read(tmp_path, "table-5")


def test_a_broken_line_of_any_experiment_is_told_before_any_work(tmp_path, capsys):
    write(tmp_path, "{}\n")
    assert main(["reproduce", "errors", "--quick", "--output", str(tmp_path)]) == 2
    assert "Line 1 of" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["table-5.jsonl"]


@pytest.mark.parametrize("kept", [0, 2])
def test_a_cut_line_is_mended_without_writing_the_others_again(kept, tmp_path, monkeypatch):
    lines = [record(seed) for seed in range(kept)]
    path = write(tmp_path, *lines, '{"experiment": "table-5", "sett')
    opened, open_ = [], Path.open

    def watched(path, mode="r", *more, **options):
        opened.append(mode)
        return open_(path, mode, *more, **options)

    monkeypatch.setattr(Path, "open", watched)
    records.append(tmp_path, "table-5", record(9))
    assert not any("w" in mode for mode in opened)
    assert [json.loads(line) for line in path.read_text().splitlines()] == [*lines, record(9)]


def test_keys_of_records_are_those_of_settings(tmp_path):
    settings = plan.read("table-5", quick=True).settings
    for setting in settings[:2]:
        line = record(0, setting=dict(reversed(setting.values.items())))
        records.append(tmp_path, "table-5", line)
    assert records.missing(settings, records.read(tmp_path, "table-5")) == list(settings[2:])


def test_what_is_no_more_planned_is_not_shown(tmp_path):
    planned = plan.read("table-5").settings[0]
    found = [record(0, 0.8, setting=dict(planned.values)), record(0, 0.2, setting={**planned.values, "n_rows": 7})]
    assert records.planned([planned], found) == found[:1]
