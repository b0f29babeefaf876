"""Solvers of penalised linear models on rows that come in blocks; they know nothing of kernels or estimators."""

from .base import SMALL, Design, Solution, rows_of, total_weight
from .conjugate_gradient import centred_normal, conjugate_gradient, moments, ridge_by_conjugate_gradient
from .eigenpro import Loss, eigenpro
from .gram import Factor, FoldedGram, Gram, choose_alpha, degrees_of_freedom, refine
from .kernel_ridge import PointSample, kernel_ridge, kernel_ridge_by_cholesky, pivoted_cholesky
from .kernel_softmax import kernel_softmax
from .lbfgs import steps_memory
from .nystrom import Preconditioner, RowSample, gram_preconditioner
from .preconditioning import Preconditioning
from .softmax import (
    ROWS_OF_SAMPLE,
    WIDEST_SUMS,
    Softmax,
    SoftmaxPreconditioning,
    curvature_weights,
    log_losses,
    log_odds,
    minimise_softmax,
)

__all__ = [
    "ROWS_OF_SAMPLE",
    "SMALL",
    "WIDEST_SUMS",
    "Design",
    "Factor",
    "FoldedGram",
    "Gram",
    "Loss",
    "PointSample",
    "Preconditioner",
    "Preconditioning",
    "RowSample",
    "Softmax",
    "SoftmaxPreconditioning",
    "Solution",
    "centred_normal",
    "choose_alpha",
    "conjugate_gradient",
    "curvature_weights",
    "degrees_of_freedom",
    "eigenpro",
    "gram_preconditioner",
    "kernel_ridge",
    "kernel_ridge_by_cholesky",
    "kernel_softmax",
    "log_losses",
    "log_odds",
    "minimise_softmax",
    "moments",
    "pivoted_cholesky",
    "refine",
    "ridge_by_conjugate_gradient",
    "rows_of",
    "steps_memory",
    "total_weight",
]
