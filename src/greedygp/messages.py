"""How values appear in messages to users."""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["shown"]


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
