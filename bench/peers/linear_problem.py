# SPDX-License-Identifier: Apache-2.0
"""What compare_linear.py has every engine compute, and how far from it an engine may be."""
import math
from typing import NamedTuple

import numpy as np

GROUP = 128  # k that share a scale


class Problem(NamedTuple):
    """y = x Wᵀ with W = scale * (code - 8). Layer i of several has W and y rotated by i rows and columns, so that no
    engine can share their memory."""
    codes: np.ndarray  # uint8 [N, K]
    scales: np.ndarray  # float32 [N, K / GROUP]
    x: np.ndarray  # float32 [M, K]
    reference: np.ndarray  # float64 [M, N], of layer 0

    @property
    def shape(self):
        return self.codes.shape

    def layer_codes(self, i):
        return np.roll(self.codes, i, axis=0)

    def layer_scales(self, i, group):
        """Smaller groups repeat the scale, so W is the same under every group."""
        return np.repeat(np.roll(self.scales, i, axis=0), GROUP // group, axis=1)

    def relative_error(self, outputs, m):
        """The largest |y - reference| / |reference| (Frobenius) of the layers' outputs y [m, N]."""
        reference = self.reference[:m]
        return (max(np.linalg.norm(y - np.roll(reference, i, axis=1)) for i, y in enumerate(outputs))
                / np.linalg.norm(reference))


def random_problem(n, k, rows, seed):
    """Scales of 16/1024 to 31/1024: code - 8 times a scale has at most 8 significant bits, so that bf16 weights are
    exactly the 4-bit ones, and the error of a contender is that of its arithmetic alone."""
    random = np.random.default_rng(seed)
    codes = random.integers(0, 16, (n, k), dtype=np.uint8)
    scales = random.integers(16, 32, (n, k // GROUP)).astype(np.float32) / 1024
    x = random.uniform(-1, 1, (rows, k)).astype(np.float32)
    weights = (codes - 8.0) * np.repeat(scales, GROUP, axis=1)
    return Problem(codes, scales, x, x.astype(np.float64) @ weights.T)


def allowed_error(precision, x):
    """The bound of the relative error for x rounded to this precision and sums in float.

    A float sum of K products errs by about 3 sqrt(K) 2^-24 sum |x w| at most (Higham and Mary 2019), and for
    independent signs sum |x w| is at most sqrt(K) |y| in the mean. Rounding x by dx changes y by |dx| / |x|: for
    integers half a step, a row's maximum / levels, in each value; bf16 rounds x and y by 2^-8 of each.
    """
    k = x.shape[1]
    bound = 3 * k * 2.0**-24
    if precision == "bf16":
        return bound + 2 * 2.0**-8
    if precision == "f32":
        return bound
    levels = {"int8": 127, "int16": 32512}[precision.split("/")[0]]
    half_steps = np.abs(x).max(axis=1) / (2 * levels)
    return bound + math.sqrt(k * np.sum(half_steps**2)) / np.linalg.norm(x)
