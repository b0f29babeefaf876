"""The Python examples of the documents run, and print what they say they print.

A block fenced as ``python`` is run: as a session if it has prompts (``>>>``), as a script otherwise.
The blocks of one document share their names, in the order in which a reader meets them.
"""

import doctest
import json
import re
import shutil
from pathlib import Path

import pytest

from bochner.experiments import page, plan

ROOT = Path(__file__).parents[1]
DOCUMENTS = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])
FENCED = re.compile(r"^```python\n(.*?)^```", flags=re.MULTILINE | re.DOTALL)
OPTIONS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_examples_of_a_document(path, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # what an example writes goes away
    text = path.read_text(encoding="utf-8")
    names = {"__name__": "__main__"}
    for block in FENCED.finditer(text):
        first_line = text.count("\n", 0, block.start(1))
        run_block(block[1], names, path, first_line)


def run_block(source, names, path, first_line):
    if ">>>" not in source:
        # Blank lines in front make a traceback point at the line of the document.
        exec(compile("\n" * first_line + source, path, "exec"), names)
        return
    session = doctest.DocTestParser().get_doctest(source, names, path.name, str(path), first_line)
    report = []
    results = doctest.DocTestRunner(optionflags=OPTIONS).run(session, out=report.append, clear_globs=False)
    names.update(session.globs)  # the parser works on a copy
    assert results.failed == 0, "".join(report)


def test_the_transforms_of_the_readme_are_those_of_the_results():
    results = (ROOT / "benchmarks/results/features.md").read_text(encoding="utf-8")
    table = results.split("## Seconds of a transform, float32\n\n")[1].split("\n\n")[0]
    assert table in (ROOT / "README.md").read_text(encoding="utf-8")


def test_the_learned_metrics_of_the_readme_are_those_of_the_results():
    tables = json.loads((ROOT / "benchmarks/results/learned_metric.json").read_text())["tables"]
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    for row in tables["R2 or accuracy, times 100, and seconds of the fit"]:
        measured = [(row[c], row[f"{c}, s"]) for c in ("isotropic", "learned", "boosting", "xrfm")]
        cells = ["-" if score == "-" else f"{score}, {seconds} s" for score, seconds in measured]
        paper = row["paper, exact"]
        assert f"| {row['data']} | {row['rows']:,} | {row['features']:,} | {paper} | {' | '.join(cells)} |" in text


def test_the_fits_of_the_readme_are_those_of_the_results():
    tables = {}
    for run in ("models", "models-softmax-automatic"):  # later ones in the place of earlier ones
        tables |= json.loads((ROOT / f"benchmarks/results/{run}.json").read_text())["tables"]
    fits = {
        row["fit"]: row for title in tables for row in tables[title] if title.startswith(("Ridge on", "Softmax on"))
    }
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    for name in ("bochner, auto", "RBFSampler + Ridge", "xGPR, exact"):
        fit = fits[name]
        assert f"{fit['seconds']:.1f} s, {fit['MB']:.0f} MB, R² {fit['score']:.3f}" in text
    assert f"{fits['bochner']['seconds']:.1f} s | {fits['LogisticRegression']['seconds']:.0f} s" in text
    costs = [row["seconds"] / row["known"] for row in tables["Cost of choosing alpha and length scale"]]
    assert f"costs {min(costs):.1f} to {max(costs):.1f} times as much" in text


def test_the_exact_machine_of_the_readme_is_that_of_the_results():
    tables = json.loads((ROOT / "benchmarks/results/exact.json").read_text())["tables"]
    fit = next(row for row in tables["fashion_mnist, 60,000 rows"] if row["fit"] == "bochner")
    assert fit["seconds"] < 600
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert f"60,000 images in under ten minutes and {fit['MB'] / 1e3:.1f} GB" in text


def test_the_tables_of_the_paper_are_those_of_the_records(tmp_path):
    results = ROOT / "experiments/results"
    for path in results.glob("*.jsonl"):
        shutil.copy(path, tmp_path)
    page.write(tmp_path, [plan.read(name) for name in plan.names()])
    written, kept = ((folder / "tables.md").read_text(encoding="utf-8") for folder in (tmp_path, results))
    assert written == kept, "Write tables.md anew: bochner.experiments.page.write"
