"""Derives the coefficients of math.c: minimax fits in the relative error, by Lawson's iteratively reweighted least squares, in
double precision on Chebyshev nodes. Prints C arrays, constant term first.

    python3 fit_math.py
"""
import math

import numpy as np


def nodes(a, b, n=2000):
    return (a + b) / 2 + (b - a) / 2 * np.cos(np.pi * (np.arange(n) + 0.5) / n)


def poly(f, a, b, deg, rel):
    """Coefficients c of sum(c[i] x^i) minimising max |p - f| * rel over [a, b]."""
    x = nodes(a, b)
    y, s = f(x), max(abs(a), abs(b))
    w = np.ones_like(x)
    best = None
    for _ in range(400):
        m = np.vander(x / s, deg + 1, increasing=True) * (np.sqrt(w) * rel(x))[:, None]
        c = np.linalg.lstsq(m, y * rel(x) * np.sqrt(w), rcond=None)[0]
        err = np.abs((np.vander(x / s, deg + 1, increasing=True) @ c - y) * rel(x))
        if best is None or err.max() < best[0]:
            best = (err.max(), c / s ** np.arange(deg + 1))
        w = w * (err / err.max() + 1e-4)
        w /= w.sum()
    return best


def show(name, err, c):
    print(f"static const double {name}[] = {{" + ", ".join(f"{v:.12g}" for v in c) + f"}}; /* {err:.2g} */")


def expm1_tail(r):
    """(exp(r) - 1 - r) / r^2, by its series where that cancels."""
    s = sum(r ** k / math.factorial(k + 2) for k in range(18))
    return s


def log_tail(f):
    """(log(1+f) - f + f^2/2) / f^3 by the series of atanh: log(1+f) = 2 atanh(f / (2 + f))."""
    out = np.empty_like(f)
    small = np.abs(f) < 0.05
    out[small] = sum((-1.0) ** k * f[small] ** k / (k + 3) for k in range(20))
    g = f[~small]
    out[~small] = (np.log1p(g) - g + g * g / 2) / g ** 3
    return out


def erf_tail(u):
    """erf(sqrt(u)) / sqrt(u) - 1, by the series of erf."""
    k = np.arange(24)
    c = np.array([2 / math.sqrt(math.pi) * (-1.0) ** int(n) / (math.factorial(int(n)) * (2 * int(n) + 1)) for n in k])
    return np.power.outer(u, k) @ c - 1


def log_erfc(a):
    return np.array([math.log(math.erfc(v)) for v in a])


def erfc_weight(a):
    """What an error of log erfc does to erf, relatively."""
    return np.array([math.erfc(v) / math.erf(v) for v in a])


def tail_factor(t):
    """Half of erfc(a / sqrt(2)) * exp(a^2 / 2) for a = 4 / t - 4, divided by t."""
    a = 4 / t - 4
    return np.array([math.erfc(v / math.sqrt(2)) / 2 * math.exp(v * v / 2) for v in a]) / t


h = math.log(2) / 2 * 1.0001
e, c = poly(expm1_tail, -h, h, 4, lambda r: r * r * np.exp(-r))
show("EXP_F32", e, c)
e, c = poly(expm1_tail, -h, h, 4, lambda r: np.abs(r * r / np.expm1(r + (np.abs(r) < 1e-9))))
show("EXPM1_F32", e, c)
e, c = poly(log_tail, math.sqrt(0.5) - 1, math.sqrt(2) - 1, 8, lambda f: np.abs(f ** 3 / np.log1p(f)))
show("LOG_F32", e, c)
e, c = poly(erf_tail, 0, 0.95 ** 2, 5, lambda u: 1 / (1 + erf_tail(u)))
show("ERF_SMALL", e, c)
e, c = poly(log_erfc, 0.9, 4.0, 6, erfc_weight)
show("ERF_LARGE", e, c)
e, c = poly(tail_factor, 4 / (4 + 14.4), 1, 9, lambda t: 1 / tail_factor(t))
show("NCDF_F32", e, c)
