"""Leave-one-out measures by name: a row's part, given `s = mean(r^2)` over the targets and `t`.

`r` and `t` are the residual and the variance, noise included, of a row that is left out. Equations
(2) to (4) of Sundararajan, Keerthi and Shevade; (3) up to constants.
"""

import numpy as np

LOO_FORMULAS = {
    "loo_cve": lambda s, t: s,
    "nlgpp": lambda s, t: s / t + np.log(t),
    "gpe": lambda s, t: s + t,
}
