"""How values appear in messages to users."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

__all__ = ["said_plainly", "shown"]


def shown(value: Any) -> str:
    """Return a value as messages print it: 7.0, not np.float64(7.0).

    Examples
    --------
    >>> import numpy as np
    >>> from greedygp.messages import shown
    >>> shown(np.float64(7.0)), shown("auto"), shown((np.int64(1), 2.5))
    ('7.0', "'auto'", '(1, 2.5)')
    """
    if isinstance(value, np.generic):
        return repr(value.item())
    if type(value) in (list, tuple):
        return repr(type(value)(v.item() if isinstance(v, np.generic) else v for v in value))
    return repr(value)


def said_plainly(error: Exception) -> str:
    """Return an error of NumPy's without the names of its types.

    Examples
    --------
    >>> from greedygp.messages import said_plainly
    >>> said_plainly(ValueError("could not convert string to float: np.str_('a')"))
    "could not convert string to float: 'a'"
    """
    return re.sub(r"\bnp\.\w+\((.*?)\)", r"\1", str(error))
