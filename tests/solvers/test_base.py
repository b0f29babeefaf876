"""A design in blocks is the matrix that it stands for."""

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

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


def made(matrix, block_rows=None):
    def write(rows, out):
        out[:] = matrix[rows]

    return Design.made_by(write, matrix.shape, matrix.dtype, block_rows)


@pytest.mark.parametrize("block_rows", [1, 7, 30, 100, None])
def test_rows_that_are_made_anew_are_those_of_the_matrix(block_rows):
    matrix = np.random.default_rng(0).normal(size=(30, 4))
    design = made(matrix, block_rows)
    for _ in range(2):
        found = np.full((30, 4), np.nan)
        for rows, block in design:
            found[rows] = block
        assert np.array_equal(found, matrix)
    kept = design.kept()
    assert np.array_equal(np.vstack([block for _, block in kept]), matrix)


@pytest.mark.parametrize("n_rows", [1, 15, 16, 17, 5000])
def test_totals_are_sums_over_all_blocks(n_rows):
    matrix = np.random.default_rng(0).normal(size=(n_rows, 4)).astype(np.float32)
    for design in (Design.of(matrix), Design.of(matrix, 3), made(matrix), made(matrix, 100)):
        products, count = design.total(lambda rows, block: (block.T @ block, len(block)))
        assert products == pytest.approx(matrix.T.astype(float) @ matrix, rel=1e-5)
        assert products.dtype == np.float64
        assert count == n_rows


def test_totals_do_not_depend_on_the_number_of_threads():
    matrix = np.random.default_rng(0).normal(size=(3000, 40)).astype(np.float32)

    def total():
        return made(matrix, 17).total(lambda rows, block: (block.sum(axis=0),))[0]

    with threadpool_limits(1):
        alone = total()
    assert all(np.array_equal(total(), alone) for _ in range(5))


def test_a_pass_tells_how_far_it_is():
    matrix, told = np.ones((100, 4)), []
    design = made(matrix, 16).telling("Sums", lambda what, done: told.append((what, done)))
    design.total(lambda rows, block: (block.sum(),))
    assert [what for what, _ in told] == ["Sums"] * 7
    assert sorted(done for _, done in told) == [done for _, done in told]
    assert told[-1][1] == 1.0
    told.clear()
    list(design)
    assert told[-1] == ("Sums", 1.0)


def test_an_error_in_a_block_is_raised():
    def contribution(rows, block):
        raise RuntimeError("no such block")

    with pytest.raises(RuntimeError, match="no such block"):
        made(np.ones((100, 4)), 16).total(contribution)


@pytest.mark.parametrize("block_rows", [7, 100])
def test_the_mean_is_weighted(block_rows):
    rng = np.random.default_rng(0)
    matrix, weights = rng.normal(size=(30, 4)), rng.uniform(size=30)
    design = Design.of(matrix, block_rows)
    assert design.mean() == pytest.approx(matrix.mean(axis=0), abs=1e-14)
    assert design.mean(weights) == pytest.approx(np.average(matrix, axis=0, weights=weights), abs=1e-14)
