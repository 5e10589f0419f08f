"""Pictures of fitted models, in the manner of scikit-learn's Display objects.

Each display is made by ``from_estimator`` (or ``from_predictions``), draws with ``plot``, and
keeps the axes and artists as attributes that end in ``_``. Matplotlib is imported when something
is drawn: ``pip install 'greedygp[plot]'``. The figures themselves, as arrays, are computed in
:mod:`greedygp.plotting.curves` and :mod:`greedygp.plotting.slices`.
"""

from greedygp.plotting.calibration import RegressionCalibrationDisplay
from greedygp.plotting.path import SelectionPathDisplay
from greedygp.plotting.posterior import PosteriorDisplay
from greedygp.plotting.relevance import RelevanceDisplay

__all__ = [
    "PosteriorDisplay",
    "RegressionCalibrationDisplay",
    "RelevanceDisplay",
    "SelectionPathDisplay",
]
