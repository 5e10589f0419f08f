"""A table with numbers, words and truth values."""

import numpy as np
import pandas


def table(n=30, seed=0):
    rng = np.random.default_rng(seed)
    return pandas.DataFrame(
        {
            "size": rng.normal(50, 10, n).round(3),
            "rooms": rng.integers(1, 6, n),
            "colour": rng.choice(["red", "green", "blue"], n),
            "sold": rng.random(n) < 0.5,
            "price": rng.normal(0, 1, n),
        }
    )
