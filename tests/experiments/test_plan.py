"""Plans: read, multiplied out, and chosen from."""

import pytest

from bochner import datasets
from bochner.experiments import plan
from bochner.experiments.measures import KINDS, SCHEMES

PLANS = [plan.read(name, quick) for name in plan.names() for quick in (False, True)]


def test_the_papers_tables_and_figures_have_plans():
    of_the_paper = ["table-5", "table-3", "errors", "speed"]
    over_rows = ["rows", "rows-given", "small-copy"]
    explaining = ["features", "epochs", "columns", "choices", "splits", "all-rows", "smoothness"]
    added = ["unit-scale", "penalties", "columns-given", "other-exponents"]
    assert plan.names() == [*of_the_paper, "exponents", *over_rows, *explaining, *added]


@pytest.mark.parametrize("experiment", PLANS, ids=lambda e: f"{e.name}-{len(e.settings)}")
def test_every_setting_can_be_measured(experiment):
    keys = {setting.key for setting in experiment.settings}
    assert len(keys) == len(experiment.settings)
    assert experiment.kind in KINDS
    for setting in experiment.settings:
        values = setting.values
        assert values["dataset"] in datasets.names()
        assert values["kernel"] in ("laplacian", "exponential-power", "matern")
        assert values["method"] in ("exact", *SCHEMES)
        assert ("n_components" in values) == (values["method"] != "exact")
        assert "seed" in values


def test_the_prediction_table_is_the_papers():
    settings = plan.read("table-5").settings
    cells = {(s.values["dataset"], s.values["kernel"], s.values["method"]) for s in settings}
    assert len({c[0] for c in cells}) == 11
    assert len({c for c in cells if c[2] in ("exact", "rff", "orf")}) == 11 * 3 * 3
    assert {c[0] for c in cells if c[2] == "hadamard"} == {"skin", "household_power"}
    for method, seeds in {"exact": [0], "rff": [0, 1, 2, 3, 4], "orf": [0, 1, 2, 3, 4]}.items():
        found = [s.values["seed"] for s in settings if s.values["method"] == method]
        assert sorted(found) == sorted(seeds * 33)
    letter = next(s for s in settings if s.values["dataset"] == "letter" and s.values["method"] == "rff")
    assert letter.values["n_components"] == 2 * 8192


def test_a_setting_may_take_the_choices_of_another_seed():
    settings = plan.read("table-5").settings
    by_key = {setting.key: setting for setting in settings}
    taking = [setting for setting in settings if setting.chooser]
    assert {s.values["dataset"] for s in taking} == {"ijcnn1", "fashion_mnist", "mnist", "svhn", "covtype"}
    for setting in taking:
        chooser = by_key[setting.chooser.key]  # which is planned too
        assert chooser.chooser is None
        assert (setting.values["seed"] > 0, chooser.values["seed"]) == (True, 0)
        assert {n: v for n, v in setting.values.items() if n not in ("seed", "choices_of_seed")} == {
            n: v for n, v in chooser.values.items() if n != "seed"
        }
    assert plan.with_choosers(taking[:1]) == [taking[0], taking[0].chooser]
    assert plan.with_choosers(settings) == list(settings)


@pytest.mark.parametrize("choosing", [3, 1], ids=["not there", "does not choose"])
def test_choices_must_be_of_a_setting_that_chooses(choosing, monkeypatch):
    file = {"title": "", "about": "", "paper": "", "kind": "prediction", "grid": {"seed": [0, 1, 2]}}
    file["set"] = [{"where": {"seed": [1, 2]}, "choices_of_seed": choosing}]
    monkeypatch.setattr(plan, "_files", lambda: {"mine": file})
    with pytest.raises(ValueError, match=r"no setting that chooses for 'mine 1 .': it must be 'mine .'"):
        plan.read("mine")


def test_rules_apply_in_their_order():
    part = {
        "grid": {"a": [1, 2, 3], "b": ["x", "y"]},
        "set": [{"where": {"a": [1, 2]}, "c": 10}, {"where": {"a": 2, "b": "y"}, "c": 20}],
        "skip": [{"where": {"a": 3, "b": "x"}}, {"where": {"c": 20}}],
    }
    assert list(plan.expanded(part)) == [
        {"a": 1, "b": "x", "c": 10},
        {"a": 1, "b": "y", "c": 10},
        {"a": 2, "b": "x", "c": 10},
        {"a": 3, "b": "y"},
    ]


def test_several_grids_come_one_after_the_other():
    part = {"grid": [{"a": [1, 2]}, {"a": [1], "b": ["x", "y"]}], "skip": [{"where": {"a": 2}}]}
    assert list(plan.expanded(part)) == [{"a": 1}, {"a": 1, "b": "x"}, {"a": 1, "b": "y"}]


def test_settings_are_chosen_by_their_values():
    experiments = [plan.read("table-5"), plan.read("table-3")]
    found = plan.chosen(experiments, {"dataset": ["skin"], "kernel": ["matern"], "seed": ["0"]})
    assert {s.values["method"] for s in found} == {"exact", *SCHEMES}
    assert all(s.experiment == "table-5" for s in found)
    with pytest.raises(ValueError, match=r"There is no dataset leter here\. Known are aqi, covtype"):
        plan.chosen(experiments, {"dataset": ["leter"]})


def test_what_no_setting_has_is_told_with_what_there_is():
    experiments = [plan.read("table-5"), plan.read("table-3")]
    with pytest.raises(
        ValueError, match=r"^Settings of table-5, table-3 have no norm\. They have seed, dataset, kernel"
    ):
        plan.chosen(experiments, {"norm": ["fro"]})
    assert {s.experiment for s in plan.chosen([*experiments, plan.read("errors")], {"norm": ["fro"]})} == {"errors"}


def test_values_that_no_setting_has_together_are_told_with_what_goes():
    experiments = [plan.read("table-5")]
    with pytest.raises(ValueError, match=r"^No setting of table-5 has dataset letter and method hadamard\.") as told:
        plan.chosen(experiments, {"dataset": ["letter"], "method": ["hadamard"]})
    expected = "With the rest as it is, dataset can be household_power, skin; method can be exact, orf, rff."
    assert str(told.value).endswith(expected)
    assert plan.chosen(experiments, {"dataset": ["letter", "skin"], "method": ["hadamard"]})


def test_an_unknown_experiment_is_told():
    with pytest.raises(ValueError, match=r"no experiment 'table-9'\. Known are table-5, table-3"):
        plan.read("table-9")
