"""The laws against closed forms: by Kolmogorov-Smirnov, by Laplace transforms, and point by point with mpmath.

Seeds are fixed. With fresh ones, each statistical test would fail with probability ``FALSE_ALARM``; there are under
200 of them here, so all together less than once in 5,000 runs.
"""

import mpmath
import numpy as np
import pytest
from scipy import stats
from scipy.special import betainc, betaln, gammainc, gammaln, ndtri

from bochner import laws, sampling

FALSE_ALARM = 1e-6
N = 100_000
EXPONENTS = [0.02, 0.05, 0.3, 0.7, 1.0, 1.5, 1.99]
SHAPES = [0.01, 0.3, 0.5, 1.5, 6.0, 392.0]
BETAS = [(0.5, 0.01), (392.0, 0.01), (1.5, 0.3), (0.5, 0.5), (6.0, 2.5), (392.0, 1.5), (35.0, 60.0)]
ENDS = sampling.open_interval(np.array([0.0, 1.0]))
# Uniforms with ever smaller distance to both ends of the interval.
POWERS = 10.0 ** -np.arange(1.0, 16)
TAILS = np.sort(np.r_[ENDS, POWERS, 0.3, 0.5, 0.7, 1 - POWERS])


def uniforms(seed, dimension=1):
    return np.random.default_rng(seed).uniform(ENDS[0], ENDS[1], size=(dimension, N))


def follows(sample, cdf):
    return stats.kstest(sample, cdf).pvalue > FALSE_ALARM


# --- closed forms: of the logarithm, so that no value is too small or too large for float64 -------------------------


def log_gamma_cdf(logarithm, shape):
    small = np.exp(np.minimum(shape * logarithm - gammaln(shape + 1), 0))  # the first term, exact below exp(-600)
    return np.where(logarithm > -600, gammainc(shape, np.exp(np.clip(logarithm, -600, 700))), small)


def log_beta_prime_cdf(logarithm, a, b):
    lower = np.exp(np.minimum(a * logarithm - np.log(a) - betaln(a, b), 0))
    upper = 1 - np.exp(np.minimum(-b * logarithm - np.log(b) - betaln(a, b), 0))
    middle = betainc(a, b, 1 / (1 + np.exp(-np.clip(logarithm, -600, 600))))
    return np.where(logarithm < -600, lower, np.where(logarithm > 30, upper, middle))


@pytest.mark.parametrize("shape", [*SHAPES, 1e4])
def test_log_gamma_has_its_law(shape):
    assert follows(laws.log_gamma(uniforms(1)[0], shape), lambda x: log_gamma_cdf(x, shape))


@pytest.mark.parametrize("shape", [0.3, 0.5, 1.5, 6.0, 392.0])
def test_gamma_has_its_law(shape):
    assert follows(laws.gamma(uniforms(2)[0], shape), stats.gamma(shape).cdf)


@pytest.mark.parametrize("shape", [0.3, 0.5, 1.5, 6.0, 392.0])
def test_inverse_gamma_has_its_law(shape):
    assert follows(laws.inverse_gamma(uniforms(3)[0], shape), stats.invgamma(shape).cdf)


@pytest.mark.parametrize("df", [1, 2, 3, 16, 784])
def test_chi_has_its_law(df):
    assert follows(laws.chi(uniforms(4)[0], df), stats.chi(df).cdf)


def test_log_chi_of_few_degrees_of_freedom_has_its_law():
    # chi^2 / 2 is a gamma variable of shape df / 2; at df = 0.02 most of it is below 1e-300.
    assert follows(laws.log_chi(uniforms(5)[0], 0.02), lambda x: log_gamma_cdf(2 * x - np.log(2), 0.01))


@pytest.mark.parametrize(("a", "b"), BETAS)
def test_log_beta_prime_has_its_law(a, b):
    assert follows(laws.log_beta_prime(uniforms(6)[0], a, b), lambda x: log_beta_prime_cdf(x, a, b))


@pytest.mark.parametrize(("a", "b"), [(1.5, 0.3), (0.5, 0.5), (6.0, 2.5), (392.0, 1.5)])
def test_beta_prime_has_its_law(a, b):
    assert follows(laws.beta_prime(uniforms(7)[0], a, b), stats.betaprime(a, b).cdf)


@pytest.mark.parametrize("nu", [0.3, 0.5, 4.0])
@pytest.mark.parametrize("d", [1, 3, 70])
def test_generalized_beta_prime_is_the_length_of_a_multivariate_t(d, nu):
    length = laws.generalized_beta_prime(uniforms(8)[0], d / 2, nu, 2.0, np.sqrt(2 * nu))
    assert follows(length**2 / d, stats.f(d, 2 * nu).cdf)


@pytest.mark.parametrize(("p", "q"), [(1.0, 3.0), (2.0, 0.5), (0.7, 2.0)])
def test_generalized_beta_prime_has_its_law(p, q):
    sample = laws.generalized_beta_prime(uniforms(9)[0], 1.5, 2.5, p, q)
    assert follows(sample, lambda x: stats.betaprime(1.5, 2.5).cdf((x / q) ** p))


def test_cauchy_has_its_law():
    assert follows(laws.cauchy(uniforms(10)[0]), stats.cauchy.cdf)


# --- the positive stable law ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("t", [0.03, 1.0, 20.0])
@pytest.mark.parametrize("exponent", EXPONENTS)
def test_positive_stable_has_its_laplace_transform(exponent, t):
    a = exponent / 2
    values = np.exp(-laws.finite_exp(np.log(t) + laws.log_positive_stable(*uniforms(11, 2), a)))
    z = (values.mean() - np.exp(-(t**a))) / (values.std() / np.sqrt(N))
    assert abs(z) < -ndtri(FALSE_ALARM / 2)


def test_positive_stable_of_exponent_two_is_one():
    assert (laws.positive_stable(*uniforms(12, 2), 1.0) == 1.0).all()


def test_positive_stable_of_index_one_half_is_levy():
    assert follows(laws.positive_stable(*uniforms(13, 2), 0.5), stats.levy(scale=0.5).cdf)


@pytest.mark.parametrize("a", [0.35, 0.5, 0.75])
def test_positive_stable_is_scipys_stable_law_in_the_first_parametrisation(a):
    law = stats.levy_stable(a, 1.0, loc=0.0, scale=np.cos(np.pi * a / 2) ** (1 / a))
    sample = laws.positive_stable(*uniforms(14, 2), a)
    for x in np.quantile(sample, [0.1, 0.5, 0.9]):
        p = law.cdf(x)
        assert abs((sample <= x).mean() - p) < -ndtri(FALSE_ALARM / 2) * np.sqrt(p * (1 - p) / N)


@pytest.mark.parametrize("a", [0.01, 0.25, 0.5, 0.9, 0.995])
def test_positive_stable_is_kanters_formula(a):
    with mpmath.workdps(40):
        for u in TAILS[::4]:
            for v in TAILS[1::6]:
                theta, w, index = mpmath.pi * mpmath.mpf(u), -mpmath.log(mpmath.mpf(v)), mpmath.mpf(a)
                first = mpmath.sin(index * theta) / mpmath.sin(theta) ** (1 / index)
                log = mpmath.log(first) + (1 - index) / index * mpmath.log(mpmath.sin((1 - index) * theta) / w)
                assert abs(float(laws.log_positive_stable(np.array(u), np.array(v), a) - log)) < 1e-10


# --- both ends of the interval -------------------------------------------------------------------------------------

QUANTILES = {
    **{f"gamma {s}": (lambda u, s=s: laws.gamma(u, s)) for s in SHAPES},
    **{f"inverse gamma {s}": (lambda u, s=s: laws.inverse_gamma(u, s)) for s in SHAPES},
    **{f"chi {df}": (lambda u, df=df: laws.chi(u, df)) for df in (0.02, 1, 784)},
    **{f"beta prime {ab}": (lambda u, ab=ab: laws.beta_prime(u, *ab)) for ab in BETAS},
    "generalised beta prime": lambda u: laws.generalized_beta_prime(u, 1.5, 0.01, 2.0, 0.14),
}
LOG_QUANTILES = {
    **{f"gamma {s}": (lambda u, s=s: laws.log_gamma(u, s)) for s in SHAPES},
    "chi 0.02": lambda u: laws.log_chi(u, 0.02),
    **{f"beta prime {ab}": (lambda u, ab=ab: laws.log_beta_prime(u, *ab)) for ab in BETAS},
    "cauchy": laws.cauchy,
}


@pytest.mark.parametrize("law", QUANTILES)
def test_a_variable_is_finite_and_positive_in_the_whole_interval(law):
    values = QUANTILES[law](TAILS)
    assert np.isfinite(values).all()
    assert (values > 0).all()


@pytest.mark.parametrize("exponent", [*EXPONENTS, 1.9999, 2.0])
def test_a_positive_stable_variable_is_finite_and_positive_in_the_whole_square(exponent):
    u, v = np.meshgrid(TAILS, TAILS)
    assert np.isfinite(laws.log_positive_stable(u, v, exponent / 2)).all()
    assert (laws.positive_stable(u, v, exponent / 2) > 0).all()


@pytest.mark.parametrize("law", LOG_QUANTILES)
def test_a_logarithm_is_finite_in_the_whole_interval(law):
    assert np.isfinite(LOG_QUANTILES[law](TAILS)).all()


@pytest.mark.parametrize("law", LOG_QUANTILES)
def test_a_quantile_increases(law):
    grid = np.unique(np.r_[TAILS, np.linspace(0.0015, 0.9985, 500)])
    assert (np.diff(LOG_QUANTILES[law](grid)) > 0).all()


@pytest.mark.parametrize("shape", SHAPES)
def test_inverse_gamma_increases(shape):
    assert (np.diff(laws.inverse_gamma(TAILS, shape)) >= 0).all()


def relative_error(log_x, u, lower, upper, log_density):
    """Relative error of a quantile x, by one Newton step from it: (P(x) - u) / (x density(x))."""
    x, u = mpmath.exp(mpmath.mpf(log_x)), mpmath.mpf(u)
    miss = lower(x) - u if u < 0.5 else (1 - u) - upper(x)
    return abs(float(miss / mpmath.exp(log_density(x))))


def gamma_error(log_x, u, shape):
    s = mpmath.mpf(shape)
    return relative_error(
        log_x,
        u,
        lambda x: mpmath.gammainc(s, 0, x, regularized=True),
        lambda x: mpmath.gammainc(s, x, regularized=True),
        lambda x: s * mpmath.log(x) - x - mpmath.loggamma(s),
    )


def beta_prime_error(log_x, u, a, b):
    a, b = mpmath.mpf(a), mpmath.mpf(b)
    log_beta = mpmath.loggamma(a) + mpmath.loggamma(b) - mpmath.loggamma(a + b)
    return relative_error(
        log_x,
        u,
        lambda x: mpmath.betainc(a, b, 0, x / (1 + x), regularized=True),
        lambda x: mpmath.betainc(b, a, 0, 1 / (1 + x), regularized=True),
        lambda x: a * mpmath.log(x / (1 + x)) - b * mpmath.log(1 + x) - log_beta,
    )


@pytest.mark.parametrize("shape", SHAPES)
def test_gamma_quantiles_are_right_in_both_tails(shape):
    with mpmath.workdps(50):
        errors = [gamma_error(x, u, shape) for x, u in zip(laws.log_gamma(TAILS, shape), TAILS, strict=True)]
    assert max(errors) < 1e-11


@pytest.mark.parametrize("shape", [0.5, 1.5, 6.0, 392.0])
def test_inverse_gamma_quantiles_are_right_in_both_tails(shape):
    values = laws.inverse_gamma(TAILS, shape)
    with mpmath.workdps(50):
        # 1 / x is the gamma quantile of 1 - u, which mpmath holds with all digits.
        errors = [gamma_error(-np.log(x), 1 - mpmath.mpf(u), shape) for x, u in zip(values, TAILS, strict=True)]
    assert max(errors) < 1e-10


@pytest.mark.parametrize(("a", "b"), BETAS)
def test_beta_prime_quantiles_are_right_in_both_tails(a, b):
    values = laws.log_beta_prime(TAILS, a, b)
    with mpmath.workdps(50):
        errors = [beta_prime_error(x, u, a, b) for x, u in zip(values, TAILS, strict=True)]
    assert max(errors) < 1e-10


def test_cauchy_quantiles_are_right_in_both_tails():
    with mpmath.workdps(40):
        exact = [-mpmath.cot(mpmath.pi * mpmath.mpf(u)) for u in TAILS]
        errors = [abs(float(x - t)) / max(1, abs(float(t))) for x, t in zip(laws.cauchy(TAILS), exact, strict=True)]
    assert max(errors) < 1e-15
