"""Time, memory and accuracy of the exact kernel machines: bochner against scikit-learn and plain EigenPro 2 in torch.

Classes by the squared error on indicators, Laplacian kernel, the paper's preprocessing. `KernelRidge` gets this
library's kernel matrix, precomputed (its making is counted), where the matrix fits into memory. "torch" is the formula
of EigenPro 2 written plainly: eigenvectors of a sample, batches, no early stopping, ten epochs; this library's own
stops by held-out rows. A pass is an epoch, or an iteration of conjugate gradients, which uses each entry twice. Length
scales are fixed at 1, the order of the distances between rows of norm one; the penalty is 1e-3.
"""

from typing import Any

import numpy as np
from fits import Result, answer, in_process, measured, unit_norm
from harness import Report, Target, arguments, optional, read
from sklearn.kernel_ridge import KernelRidge

from bochner import KernelClassifier, Laplacian

LENGTH_SCALE, ALPHA = 1.0, 1e-3
CENTRED = {"letter": True, "fashion_mnist": False}


def exact_ours(name: str, solver: str = "auto") -> Result:
    """The classifier of this library."""
    X, y, Xt, yt = unit_norm(name, CENTRED[name])
    model = KernelClassifier(Laplacian(LENGTH_SCALE), alpha=ALPHA, solver=solver, random_state=0)
    _, result = measured(lambda: model.fit(X, y))
    facts = {"solver": model.solver_, "passes": int(model.solution_.n_iter)}
    return result | {"score": float(model.score(Xt, yt))} | facts


def exact_sklearn(name: str) -> Result:
    """KernelRidge on a precomputed matrix."""
    X, y, Xt, yt = unit_norm(name, CENTRED[name])
    kernel, classes = Laplacian(LENGTH_SCALE), np.unique(y)
    targets = (y[:, None] == classes).astype(np.float32)
    model = KernelRidge(alpha=ALPHA, kernel="precomputed")
    _, result = measured(lambda: model.fit(kernel(X), targets))
    labels = classes[model.predict(kernel(Xt, X)).argmax(axis=1)]
    return result | {"score": float((labels == yt).mean()), "solver": "cholesky"}


def exact_torch(name: str, n_epochs: int = 10) -> Result:
    """EigenPro 2 by its formula."""
    X, y, Xt, yt = unit_norm(name, CENTRED[name])
    classes = np.unique(y)
    targets = (y[:, None] == classes).astype(np.float32)
    coefficients, result = measured(lambda: eigenpro_in_torch(X, targets, n_epochs))
    labels = classes[(laplacian_in_torch(Xt, X) @ coefficients).argmax(dim=1).numpy()]
    return result | {"score": float((labels == yt).mean()), "solver": "eigenpro", "passes": n_epochs}


def laplacian_in_torch(X: Any, Z: Any) -> Any:
    """The exact kernel."""
    torch = optional("torch")
    return torch.exp(-torch.cdist(torch.as_tensor(X), torch.as_tensor(Z)) / LENGTH_SCALE)


def eigenpro_in_torch(X: np.ndarray, targets: np.ndarray, n_epochs: int, size: int = 4096, q: int = 160) -> Any:
    """Coefficients after some epochs: sample of 4096 rows, 160 eigenvectors, as the authors suggest."""
    torch = optional("torch")
    generator = torch.Generator().manual_seed(0)
    points, Y, n = torch.as_tensor(X), torch.as_tensor(targets), len(X)
    sample = torch.randperm(n, generator=generator)[:size]
    values, vectors = torch.linalg.eigh(laplacian_in_torch(points[sample], points[sample]))
    values, vectors = values.flip(0)[: q + 1], vectors.flip(1)[:, :q]
    rest, values = values[q], values[:q]
    damping = vectors * ((1.0 - rest / values) / values)
    left = 1.0 - (vectors**2 * (values - rest)).sum(dim=1)
    batch = min(2048, int(left.max() * size / rest))
    step = 1.0 / (left.max() + (batch - 1) * rest / size)
    coefficients = torch.zeros((n, Y.shape[1]))
    for _ in range(n_epochs):
        for rows in torch.randperm(n, generator=generator).split(batch):
            block = laplacian_in_torch(points[rows], points)
            residuals = block @ coefficients - Y[rows]
            coefficients[rows] -= step * residuals
            coefficients[sample] += step * damping @ (vectors.T @ (block[:, sample].T @ residuals))
    return coefficients


def part(report: Report, name: str, small: bool, title: str) -> tuple[Result | None, Result | None]:
    """A table of one data set; ours, and the formula in torch."""
    ours = in_process("exact_ours", name)
    torch = in_process("exact_torch", name) if optional("torch") else None
    named = [("bochner", ours), ("EigenPro 2 in torch", torch)]
    if small:
        named.append(("bochner, EigenPro 2", in_process("exact_ours", name, "eigenpro")))
        named.append(("KernelRidge, precomputed", in_process("exact_sklearn", name)))
    figures = ("seconds", "MB", "score", "solver", "passes")
    rows = [[who, *(result.get(figure, "") for figure in figures)] for who, result in named if result is not None]
    report.table(title, ["fit", *figures], rows)
    return ours, torch


def main() -> None:
    """Run the benchmark, or one measured call of it."""
    parser = arguments(__doc__, rounds=1)
    parser.add_argument("--call", help="run one function and print its result (for the benchmark's own processes)")
    options = read(parser)
    if options.call:
        answer(options.call, globals())
        return
    report = Report("exact", "Exact kernel machines", options)
    letter, letter_torch = part(report, "letter", True, "letter, 16,000 rows")
    fashion, fashion_torch = part(report, "fashion_mnist", False, "fashion_mnist, 60,000 rows")
    report.targets(
        [
            Target("letter: accuracy x 100 (paper 97.5)", letter and 100.0 * letter["score"], 97.2),
            Target("letter: seconds", letter and letter["seconds"], 60.0, False),
            Target("letter: GB above the data", letter and letter["MB"] / 1e3, 1.0, False),
            Target("fashion_mnist: accuracy x 100 (paper 90.8)", fashion and 100.0 * fashion["score"], 90.4),
            Target("fashion_mnist: minutes", fashion and fashion["seconds"] / 60.0, 25.0, False),
            Target("fashion_mnist: GB above the data", fashion and fashion["MB"] / 1e3, 3.0, False),
            Target("letter: torch / bochner, seconds", _ratio(letter_torch, letter), 1.0),
            Target("fashion_mnist: torch / bochner, seconds", _ratio(fashion_torch, fashion), 1.0),
        ]
    )
    report.write()


def _ratio(above: Result | None, below: Result | None) -> float | None:
    return above["seconds"] / below["seconds"] if above and below else None


if __name__ == "__main__":
    main()
