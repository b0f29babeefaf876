"""The `bochner` command, as a user calls it."""

import os
import signal
import subprocess
import sys
import time

import pytest

import bochner
from bochner.cli import demo, main

pytest.importorskip("rich")
pytest.importorskip("matplotlib")

LABELS = [scheme.label for scheme in demo.SCHEMES]


@pytest.fixture(scope="module")
def comparison():
    """What the quick demonstration measures."""
    return demo.compare(demo.load(demo.QUICK.n_rows), demo.QUICK, lambda work: None)


@pytest.fixture
def wide_terminal(monkeypatch):
    monkeypatch.setenv("COLUMNS", "120")


def test_demo_shows_a_table_and_writes_a_picture(tmp_path, capsys, wide_terminal):
    output = tmp_path / "picture.png"
    assert main(["demo", "--quick", "--output", str(output)]) == 0
    shown = capsys.readouterr().out
    for label in [*LABELS, "exact kernel", "error", "time", "accuracy", str(output)]:
        assert label in shown
    assert output.read_bytes().startswith(b"\x89PNG")
    assert output.stat().st_size > 20_000


def test_demo_measures_every_scheme_at_every_width(comparison):
    measured = [(m.n_components, m.scheme) for m in comparison.measurements]
    assert measured == [(width, label) for width in demo.QUICK.n_seeds for label in LABELS]


def test_demo_measures_sane_values(comparison):
    assert comparison.compile_seconds >= 0
    assert comparison.exact_seconds > 0
    assert 0.9 < comparison.exact_accuracy <= 1
    for m in comparison.measurements:
        assert 0 < m.error < 0.5
        assert m.seconds > 0
        assert 0.5 < m.accuracy <= 1


def test_demo_errors_fall_with_the_number_of_features(comparison):
    # Four times the features, half the error; 0.7 leaves room for the few seeds.
    for errors in demo.curves(comparison, "error").values():
        assert errors[-1] < 0.7 * errors[0]


def test_demo_orders_the_schemes(comparison):
    errors = {label: sum(values) for label, values in demo.curves(comparison, "error").items()}
    assert errors["ORF"] < 1.1 * errors["RFF"]
    assert errors["ORF, stratified"] < errors["RFF"]
    assert errors["Hadamard, stratified"] < errors["RFF"]


def test_progress_reaches_its_end():
    settings = demo.Settings(n_seeds={32: 2}, n_rows=100)
    done = []
    demo.compare(demo.load(settings.n_rows), settings, done.append)
    assert sum(done) == settings.work


def test_linear_model_tends_to_the_exact_machine():
    digits = demo.load(500)
    _, _, accuracy = demo.trial(demo.feature_map(demo.SCHEMES[2], 8192, seed=0), digits)
    assert accuracy == pytest.approx(demo.exact_accuracy(digits), abs=0.02)


def test_version(capsys):
    with pytest.raises(SystemExit) as leaving:
        main(["--version"])
    assert leaving.value.code == 0
    assert capsys.readouterr().out == f"bochner {bochner.__version__}\n"


def test_no_command_shows_the_help(capsys):
    assert main([]) == 0
    assert "demo" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (["nonsense"], "invalid choice: 'nonsense'"),
        (["demo", "--output", "picture.txt"], "must end in .png, .pdf, .svg. Got 'picture.txt' instead."),
        (["demo", "--output", "no/such/folder/picture.png"], "does not exist"),
    ],
)
def test_wrong_arguments_are_told_before_any_work(argv, message, capsys):
    with pytest.raises(SystemExit) as leaving:
        main(argv)
    assert leaving.value.code == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(("package", "extra"), [("rich", "cli"), ("matplotlib", "plots")])
def test_a_missing_package_names_the_extra(package, extra, tmp_path):
    code = f"import sys; sys.modules['{package}'] = None; from bochner.cli import main; sys.exit(main(['demo']))"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=tmp_path)
    assert run.returncode == 1
    assert f"pip install 'bochner[{extra}]'" in run.stderr
    assert "Traceback" not in run.stderr


@pytest.mark.parametrize("more", [[], ["--list"]])
def test_reproduce_names_the_extra_that_brings_all_it_needs(more, tmp_path):
    code = "import sys; sys.modules['rich'] = None; from bochner.cli import main; "
    code += f"sys.exit(main(['reproduce', '--quick', *{more}]))"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=tmp_path)
    assert run.returncode == 1
    assert "pip install 'bochner[experiments]'" in run.stderr
    assert "Traceback" not in run.stderr
    assert not list(tmp_path.iterdir())


def test_interrupt_leaves_quietly(monkeypatch, capsys, tmp_path):
    def interrupted(*arguments):
        raise KeyboardInterrupt

    monkeypatch.setattr(demo, "compare", interrupted)
    assert main(["demo", "--quick", "--output", str(tmp_path / "picture.png")]) == 130
    assert "Interrupted" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


@pytest.mark.skipif(os.name == "nt", reason="Windows has no SIGINT to send to a child")
def test_interrupt_of_a_real_process(tmp_path):
    code = "import sys; from bochner.cli import main; print('ready', flush=True); sys.exit(main(['demo']))"
    # A child of a background job ignores SIGINT unless told otherwise.
    restore = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); "
    with subprocess.Popen(
        [sys.executable, "-c", restore + code],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=tmp_path,
    ) as child:
        assert child.stdout.readline() == "ready\n"
        time.sleep(3)
        child.send_signal(signal.SIGINT)
        _, errors = child.communicate(timeout=60)
    assert child.returncode == 130
    assert "Traceback" not in errors
