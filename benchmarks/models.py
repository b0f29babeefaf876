"""Time, memory and accuracy of the models on random features: bochner against scikit-learn and xGPR.

Needs the data sets as .npz files in --data, or $BOCHNER_DATA, or ../shared/data beside the repository; what is not
there is left out. Every fit runs in a process of its own, one after the other, so that its peak memory (the process's
high-water mark, less what is resident once the data are loaded) is its own. Fits of a minute are timed once.

Parts, chosen by --parts (all by default):

- ridge: sgemm, standardised, 4096 features, Matern 3/2 of length scale 6, alpha 0.1. `RBFSampler` + `Ridge(cholesky)`
  has the Gaussian kernel of the same length scale; xGPR the same kernel, features and penalty, by its two ways to fit.
- softmax: fashion_mnist / 255, 4096 features of the Laplacian of length scale 20, alpha 1, against LogisticRegression
  (lbfgs) on the same matrix. Both to the objective that ours reaches: the solver of scikit-learn is given tolerances
  that fall, from its last solution on, until it is within 1e-6 of it; its making of features is not counted.
- calibration: the paper's Table 3: fashion_mnist, rows of norm one, log loss, 20,000 features (its p = 10,000) with
  orthogonal directions by fast Hadamard transforms, all chosen by itself.
- wide: ridge with 50,176 features on the same data, all chosen by itself.
- growth: household_power, 2048 features, growing rows; covtype, 4096 features. Fixed alpha and length scale.
- accuracy: the paper's Table 5 (random features): its preprocessing and its p*, Laplacian. The paper leaves bandwidth
  and penalty open: both are "auto" here. Classes by the squared error on indicators, as in the paper.
- automatic: the cost of choosing alpha and length scale, as a multiple of the fit with what was chosen.
"""

import math
import time
from typing import Any

import numpy as np
from fits import Result, answer, in_process, load, measured, standardised, unit_norm
from harness import Report, Target, arguments, optional, read
from sklearn.kernel_approximation import RBFSampler
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import r2_score

from bochner import Laplacian, Matern, RandomFeatureClassifier, RandomFeatureRegressor
from bochner.diagnostics import expected_calibration_error


def fitted(model: Any, data: tuple[np.ndarray, ...]) -> Result:
    """Fit, and what is to be said of it."""
    X, y, Xt, yt = data
    model, result = measured(lambda: model.fit(X, y))
    facts = {"score": float(model.score(Xt, yt)), "solver": model.solver_, "alpha": float(model.alpha_)}
    scale = {"length scale": float(model.kernel_.length_scale), "iterations": int(model.solution_.n_iter)}
    return result | facts | scale | {"converged": bool(model.solution_.converged)}


# Fits, each in a process of its own

RIDGE_WIDTH, RIDGE_SCALE, RIDGE_ALPHA = 4096, 6.0, 0.1
SOFTMAX_SCALE, SOFTMAX_ALPHA = 20.0, 1.0


def ridge_ours() -> Result:
    """Ridge on sgemm by this library."""
    kernel = Matern(nu=1.5, length_scale=RIDGE_SCALE)
    return fitted(RandomFeatureRegressor(kernel, RIDGE_WIDTH, alpha=RIDGE_ALPHA, random_state=0), standardised("sgemm"))


def ridge_gram() -> Result:
    """The same by the Gram matrix."""
    kernel = Matern(nu=1.5, length_scale=RIDGE_SCALE)
    model = RandomFeatureRegressor(kernel, RIDGE_WIDTH, alpha=RIDGE_ALPHA, solver="gram", random_state=0)
    return fitted(model, standardised("sgemm"))


def ridge_sklearn() -> Result:
    """Ridge on sgemm by scikit-learn."""
    X, y, Xt, yt = standardised("sgemm")
    sampler = RBFSampler(gamma=0.5 / RIDGE_SCALE**2, n_components=RIDGE_WIDTH, random_state=0)
    ridge = Ridge(alpha=RIDGE_ALPHA, solver="cholesky")
    _, result = measured(lambda: ridge.fit(sampler.fit_transform(X), y.astype(np.float32)))
    return result | {"score": float(r2_score(yt, ridge.predict(sampler.transform(Xt))))}


def ridge_xgpr(mode: str) -> Result:
    """Ridge on sgemm by xGPR, by one of its ways to fit."""
    xgpr = optional("xGPR")
    X, y, Xt, yt = standardised("sgemm")
    settings = {"matern_nu": 1.5, "intercept": True}
    hyperparameters = np.log([math.sqrt(RIDGE_ALPHA), 1.0 / RIDGE_SCALE])
    data = xgpr.build_regression_dataset(X, y, chunk_size=2000)
    model = xgpr.xGPRegression(RIDGE_WIDTH, kernel_choice="Matern", kernel_settings=settings, verbose=False)
    model.set_hyperparams(hyperparameters, data)
    _, result = measured(lambda: model.fit(data, mode=mode, suppress_var=True))
    return result | {"score": float(r2_score(yt, model.predict(Xt)))}


def softmax_model() -> RandomFeatureClassifier:
    """The classifier of the race."""
    return RandomFeatureClassifier(Laplacian(SOFTMAX_SCALE), 4096, alpha=SOFTMAX_ALPHA, random_state=0)


def pixels() -> tuple[np.ndarray, ...]:
    """fashion_mnist between 0 and 1."""
    X, y, Xt, yt = load("fashion_mnist")
    return X / 255.0, y, Xt / 255.0, yt


def objective(Phi: np.ndarray, y: np.ndarray, coefficients: np.ndarray, intercept: np.ndarray) -> float:
    """The penalised log loss, in double precision."""
    value = 0.5 * SOFTMAX_ALPHA * float(np.square(coefficients).sum())
    for start in range(0, len(Phi), 4096):
        z = Phi[start : start + 4096].astype(np.float64) @ coefficients.T + intercept
        top = z.max(axis=1)
        own = z[np.arange(len(z)), y[start : start + 4096]]
        value += float((np.log(np.exp(z - top[:, None]).sum(axis=1)) + top - own).sum())
    return value


def softmax_ours() -> Result:
    """Softmax on fashion_mnist, features made by the fit."""
    X, y, Xt, yt = pixels()
    model, result = measured(lambda: softmax_model().fit(X, y))
    value = objective(model.features_.transform(X), y.astype(int), model.coef_, model.intercept_)
    return result | {"score": float(model.score(Xt, yt)), "objective": value, "iterations": model.n_iter_}


def softmax_sklearn(wanted: float, longest: float) -> Result:
    """LogisticRegression on the same features until it is within 1e-6 of an objective, or the time is over."""
    X, y, Xt, yt = pixels()
    model = softmax_model().set_params(alpha=1e6, max_iter=1, tol=1.0).fit(X, y)  # for its features only
    Phi = model.features_.transform(X)
    peer = LogisticRegression(C=1.0 / SOFTMAX_ALPHA, warm_start=True, tol=1e-12)
    seconds, iterations, value = 0.0, 0, math.inf
    while value > wanted * (1.0 + 1e-6) and seconds < longest:
        peer.set_params(max_iter=100)
        start = time.perf_counter()
        peer.fit(Phi, y)
        seconds += time.perf_counter() - start
        iterations += int(peer.n_iter_[0])
        value = objective(Phi, y.astype(int), peer.coef_, peer.intercept_)
    score = float(peer.score(model.features_.transform(Xt), yt))
    return {"seconds": seconds, "score": score, "objective": value, "iterations": iterations}


def calibration() -> Result:
    """Log loss with the paper's p = 10,000, and its calibration on the test part."""
    data = unit_norm("fashion_mnist")
    model = RandomFeatureClassifier(n_components=20_000, directions="hadamard", random_state=0)
    result = fitted(model, data)
    return result | {"ECE": float(expected_calibration_error(data[3], model.predict_proba(data[2])))}


def wide_ridge() -> Result:
    """Ridge with the paper's p = 25,088."""
    model = RandomFeatureClassifier(n_components=50_176, loss="squared_error", random_state=0)
    return fitted(model, unit_norm("fashion_mnist"))


def growth(n_rows: int) -> Result:
    """Ridge on the first rows of household_power."""
    X, y, Xt, yt = standardised("household_power")
    model = RandomFeatureRegressor(Laplacian(3.0), 2048, alpha=0.1, random_state=0)
    return fitted(model, (X[:n_rows], y[:n_rows], Xt[:10_000], yt[:10_000]))


def covtype() -> Result:
    """Classes of covtype by ridge, 4096 features."""
    model = RandomFeatureClassifier(Laplacian(7.0), 4096, loss="squared_error", alpha=0.1, random_state=0)
    return fitted(model, standardised("covtype"))


def accuracy(name: str, centre: bool, shuffled: bool) -> Result:
    """The paper's setting with its p* of 512 frequencies per input."""
    data = unit_norm(name, centre, shuffled)
    options = {"n_components": 1024 * data[0].shape[1], "random_state": 0}
    if name == "sgemm":
        return fitted(RandomFeatureRegressor(**options), data)
    return fitted(RandomFeatureClassifier(loss="squared_error", **options), data)


def automatic(task: str) -> Result:
    """A fully automatic fit, and the fit with what it chose."""
    X, y, Xt, yt = standardised("sgemm") if task == "ridge" else pixels()
    estimator = RandomFeatureRegressor if task == "ridge" else RandomFeatureClassifier
    chosen, result = measured(lambda: estimator(n_components=4096, random_state=0).fit(X, y))
    known = estimator(chosen.kernel_, 4096, alpha=chosen.alpha_, random_state=0)
    _, again = measured(lambda: known.fit(X, y))
    return result | {"known": again["seconds"], "score": float(chosen.score(Xt, yt))}


# The report

FIGURES = ("seconds", "MB", "score")


def row(name: str, result: Result | None, *figures: str) -> list[Any]:
    """A line of a table."""
    return [name, *("no result" if result is None else result.get(figure, "") for figure in figures)]


def ratio(above: Result | None, below: Result | None, figure: str) -> float | None:
    """A figure of one over that of another."""
    return None if above is None or below is None else above[figure] / below[figure]


def part_ridge(report: Report) -> list[Target]:
    """Ridge on sgemm against the peers."""
    ours, gram, peer = in_process("ridge_ours"), in_process("ridge_gram"), in_process("ridge_sklearn")
    longest = 60.0 + 15.0 * ours["seconds"] if ours else None  # its set-up and data included
    modes = ("exact", "cg") if optional("xGPR") else ()
    tried = [in_process("ridge_xgpr", mode, longest=longest) for mode in modes]
    named = [("bochner, auto", ours), ("bochner, gram", gram), ("RBFSampler + Ridge", peer)]
    named += [(f"xGPR, {mode}", result) for mode, result in zip(modes, tried, strict=True)]
    rows = [row(name, result, *FIGURES, "solver", "iterations") for name, result in named]
    note = "A way of xGPR without a result was given up after 15 times our seconds, and a minute."
    report.table("Ridge on sgemm, 4096 features", ["fit", *FIGURES, "solver", "iterations"], rows, note)
    best = min((t for t in tried if t), key=lambda t: t["seconds"], default=None)
    return [
        Target("ridge: xGPR (its better way) / bochner, seconds", ratio(best, ours, "seconds"), 3.0),
        Target("ridge: RBFSampler + Ridge / bochner, seconds", ratio(peer, ours, "seconds"), 1.5),
        Target("ridge: RBFSampler + Ridge / bochner, memory", ratio(peer, ours, "MB"), 4.0),
        Target("ridge: R2 less that of RBFSampler + Ridge", ours and peer and ours["score"] - peer["score"], 0.0),
        Target("ridge: R2 less that of xGPR", ours and best and ours["score"] - best["score"], -5e-4),
    ]


def part_softmax(report: Report) -> list[Target]:
    """Softmax against LogisticRegression."""
    ours = in_process("softmax_ours")
    peer = ours and in_process("softmax_sklearn", ours["objective"], 6.0 * ours["seconds"])
    figures = ("seconds", "score", "objective", "iterations")
    rows = [row("bochner", ours, *figures), row("LogisticRegression", peer, *figures)]
    note = "LogisticRegression stops within 1e-6 of our objective, or after 6 times our seconds."
    report.table("Softmax on fashion_mnist, 4096 features", ["fit", *figures], rows, note)
    return [Target("softmax: LogisticRegression / bochner, seconds", ratio(peer, ours, "seconds"), 4.0)]


def part_calibration(report: Report) -> list[Target]:
    """The paper's Table 3."""
    result = in_process("calibration")
    figures = (*FIGURES, "ECE", "alpha", "length scale", "iterations")
    report.table(
        "Calibration on fashion_mnist", ["fit", *figures], [row("log loss, 20,000 features", result, *figures)]
    )
    return [
        Target("calibration: ECE", result and result["ECE"], 0.02, False),
        Target("calibration: accuracy", result and result["score"], 0.88),
        Target("calibration: minutes", result and result["seconds"] / 60.0, 20.0, False),
    ]


def part_wide(report: Report) -> list[Target]:
    """A width at which no Gram matrix fits."""
    result = in_process("wide_ridge")
    figures = (*FIGURES, "alpha", "length scale", "iterations")
    report.table("Wide ridge on fashion_mnist", ["fit", *figures], [row("ridge, 50,176 features", result, *figures)])
    return [
        Target("wide: minutes of ridge, 50,176 features", result and result["seconds"] / 60.0, 15.0, False),
        Target("wide: GB of ridge, 50,176 features", result and result["MB"] / 1e3, 8.0, False),
    ]


def part_growth(report: Report) -> list[Target]:
    """Time and memory over the number of rows."""
    sizes = (100_000, 200_000, 400_000, 800_000, 1_600_000)
    results = [in_process("growth", n) for n in sizes]
    cover = in_process("covtype")
    rows = [
        row(f"household_power, {n:,}", result, *FIGURES, "solver") for n, result in zip(sizes, results, strict=True)
    ]
    rows.append(row("covtype, 464,810", cover, *FIGURES, "solver"))
    report.table("Growth", ["rows", *FIGURES, "solver"], rows)
    if any(result is None for result in results):
        return []
    slope = float(np.polyfit(np.log(sizes), np.log([r["seconds"] for r in results]), 1)[0])
    memory = [result["MB"] for result in results]
    return [
        Target("growth: slope of log seconds over log rows", slope, 1.05, False),
        Target("growth: most memory over least", max(memory) / min(memory), 1.25, False),
        Target("covtype: GB above the data", cover and cover["MB"] / 1e3, 1.2, False),
    ]


# Name, the paper's figure, whether it centres, whether the split is new. The paper's n of ijcnn1, 40,000, is four
# fifths of the usual training rows; its split of letter is not known, so both are shown.
PAPER = (
    ("letter", 97.2, True, False),
    ("letter", 97.2, True, True),
    ("ijcnn1", 98.7, False, True),
    ("sgemm", 97.1, False, False),
    ("skin", 98.7, True, False),
)


def part_accuracy(report: Report) -> list[Target]:
    """The paper's Table 5."""
    results = [in_process("accuracy", name, centre, shuffled) for name, _, centre, shuffled in PAPER]
    figures = ("seconds", "MB", "alpha", "length scale", "solver", "iterations")
    names = [name + (", split 80/20 anew" if shuffled else "") for name, _, _, shuffled in PAPER]
    rows = [
        [name, paper, result and 100.0 * result["score"], *row("", result, *figures)[1:]]
        for name, (_, paper, _, _), result in zip(names, PAPER, results, strict=True)
    ]
    report.table("Table 5 of the paper, Laplacian", ["data", "paper", "score x 100", *figures], rows)
    return [
        Target(f"accuracy: {name}, x 100", result and 100.0 * result["score"], paper - 0.3)
        for name, (_, paper, _, _), result in zip(names, PAPER, results, strict=True)
    ]


def part_automatic(report: Report) -> list[Target]:
    """What choosing costs."""
    results = {task: in_process("automatic", task) for task in ("ridge", "softmax")}
    rows = [row(task, result, "seconds", "known", "score") for task, result in results.items()]
    report.table("Cost of choosing alpha and length scale", ["fit", "seconds", "known", "score"], rows)
    return [
        Target(
            f"automatic: {task}, seconds / with known values",
            result and result["seconds"] / result["known"],
            3.0,
            False,
        )
        for task, result in results.items()
    ]


PARTS = {
    "ridge": part_ridge,
    "softmax": part_softmax,
    "accuracy": part_accuracy,
    "calibration": part_calibration,
    "automatic": part_automatic,
    "growth": part_growth,
    "wide": part_wide,
}


def main() -> None:
    """Run the benchmark, or one measured call of it."""
    parser = arguments(__doc__, rounds=1)
    parser.add_argument("--parts", nargs="+", choices=list(PARTS), default=list(PARTS), help="what to measure")
    parser.add_argument("--call", help="run one function and print its result (for the benchmark's own processes)")
    options = read(parser)
    if options.call:
        answer(options.call, globals())
        return
    suffix = "" if options.parts == list(PARTS) else "-" + "-".join(options.parts)
    report = Report(f"models{suffix}", "Models on random features", options)
    targets: list[Target] = []
    for name in options.parts:
        targets += PARTS[name](report)
    report.targets(targets)
    report.write()


if __name__ == "__main__":
    main()
