"""Pictures of fitted models, in the manner of scikit-learn's Display objects.

Each display is made by ``from_estimator`` (or ``from_predictions``), draws with ``plot``, and
keeps the axes and artists as attributes that end in ``_``. Matplotlib is imported when something
is drawn: ``pip install 'greedygp[plot]'``. The figures themselves, as arrays, are computed in
:mod:`greedygp.plotting.curves` and :mod:`greedygp.plotting.slices`.
"""

from typing import TYPE_CHECKING

from greedygp.lazy import lazy_names

if TYPE_CHECKING:
    from greedygp.plotting.calibration import (
        RegressionCalibrationDisplay as RegressionCalibrationDisplay,
    )
    from greedygp.plotting.path import SelectionPathDisplay as SelectionPathDisplay
    from greedygp.plotting.posterior import PosteriorDisplay as PosteriorDisplay
    from greedygp.plotting.relevance import RelevanceDisplay as RelevanceDisplay
else:
    __getattr__, __dir__, __all__ = lazy_names(__name__)
