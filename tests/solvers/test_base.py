"""A design in blocks is the matrix that it stands for."""

import numpy as np
import pytest

from bochner.solvers import Design


@pytest.mark.parametrize("block_rows", [1, 7, 30, 100])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_design_is_the_matrix_that_it_stands_for(block_rows, dtype):
    matrix = np.random.default_rng(0).normal(size=(30, 4)).astype(dtype)
    design = Design.of(matrix, block_rows)
    assert design.shape == (30, 4)
    assert design.dtype == dtype
    assert design.n_bytes == matrix.nbytes
    for passes in (design, design, design.kept(3)):  # a second pass makes the same blocks
        assert np.array_equal(np.vstack([block for _, block in passes]), matrix)
        assert all(np.array_equal(matrix[rows], block) for rows, block in passes)


def test_a_design_whose_blocks_share_a_buffer_can_be_kept():
    matrix, buffer = np.random.default_rng(0).normal(size=(30, 4)), np.empty((7, 4))

    def blocks():
        for start in range(0, 30, 7):
            rows = slice(start, min(start + 7, 30))
            buffer[: rows.stop - start] = matrix[rows]
            yield rows, buffer[: rows.stop - start]

    kept = Design(blocks, matrix.shape, matrix.dtype).kept()
    buffer[:] = np.nan
    assert np.array_equal(np.vstack([block for _, block in kept]), matrix)


@pytest.mark.parametrize("block_rows", [7, 100])
def test_the_mean_is_weighted(block_rows):
    rng = np.random.default_rng(0)
    matrix, weights = rng.normal(size=(30, 4)), rng.uniform(size=30)
    design = Design.of(matrix, block_rows)
    assert design.mean() == pytest.approx(matrix.mean(axis=0), abs=1e-14)
    assert design.mean(weights) == pytest.approx(np.average(matrix, axis=0, weights=weights), abs=1e-14)
