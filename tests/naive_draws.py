"""Distribution functions by numerical integration, to compare random draws with."""

import numpy as np


def polya_gamma_moments(b, c):
    """Mean and variance of PG(b, c) as sums over its gammas."""
    rate = 2 * np.pi**2 * (np.arange(500_000) + 0.5) ** 2 + c**2 / 2
    # The remainder of the sum for the mean is computed as an integral.
    rest = 1 / (2 * np.pi**2 * len(rate))
    return b * ((1 / rate).sum() + rest), b * (rate**-2.0).sum()


def polya_gamma_cdf(x, b, c, n_grid=100_000):
    """P(PG(b, c) <= x) by Gil-Pelaez: 1/2 - 1/pi int Im(e^(-itx) phi(t)) / t dt, t = e^s, trapezium in s.

    phi(t) = (cosh(c/2) / cosh(sqrt(c^2/4 - it/2)))^b, with log cosh w = w + log1p(e^(-2w)) - log 2.
    """
    x = np.asarray(x, dtype=float)
    top = max((80 / b) ** 2, 60 * c / b, 1e3 / x.max()) * 4
    log_t = np.linspace(np.log(1e-9 / x.max()), np.log(top), n_grid)
    t = np.exp(log_t)
    root = np.sqrt(c**2 / 4 - 0.5j * t)
    log_cosh = root + np.log1p(np.exp(-2 * root)) - (c / 2 + np.log1p(np.exp(-c)))
    phi = np.exp(-b * log_cosh)
    step = log_t[1] - log_t[0]
    return np.array([0.5 - (np.exp(-1j * t * value) * phi).imag.sum() * step / np.pi for value in x])


def polya_gamma_sum_error(b, c, n_gammas, n_grid=20_000):
    """The largest error of P(X <= x), X = the first gammas of PG(b, c) plus one that matches mean and variance."""
    rate = 2 * np.pi**2 * (np.arange(500_000) + 0.5) ** 2 + c**2 / 2
    mean, variance = (1 / rate).sum() + 1 / (2 * np.pi**2 * len(rate)), (rate**-2.0).sum()
    rest_mean, rest_variance = mean - (1 / rate[:n_gammas]).sum(), (rate[n_gammas:] ** -2.0).sum()
    sd = np.sqrt(b * variance)
    log_t = np.linspace(np.log(1e-6 / sd), np.log(60 / sd), n_grid)
    t = np.exp(log_t)
    root = np.sqrt(c**2 / 4 - 0.5j * t)
    exact = -b * (root + np.log1p(np.exp(-2 * root)) - (c / 2 + np.log1p(np.exp(-c))))
    summed = -b * sum(np.log1p(-1j * t / rate[k]) for k in range(n_gammas))
    summed -= b * rest_mean**2 / rest_variance * np.log1p(-1j * t * rest_variance / rest_mean)
    gap = np.exp(summed) - np.exp(exact)
    places = b * mean + sd * np.linspace(-4, 6, 41)
    step = log_t[1] - log_t[0]
    return max(abs((np.exp(-1j * t * x) * gap).imag.sum() * step / np.pi) for x in places)
