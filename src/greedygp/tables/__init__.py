"""Tables: reading files, columns into numbers, and models that remember how.

`read` and `chunks` read files (`source.py`, `text.py`, `binary.py`). `plans.py` decides what each
column is, and a `TableEncoder` of
scikit-learn's encoders turns it into features, the same way for new rows. `targets.py` looks
after the target. `training.py` puts them together, and a `TableModel` is the result: an estimator
with its encoder, its target, and how it was made. The command line is made of these.
"""

from typing import TYPE_CHECKING

from greedygp.lazy import lazy_names

if TYPE_CHECKING:
    from greedygp.tables.encoder import TableEncoder as TableEncoder
    from greedygp.tables.encoder import make_pipeline as make_pipeline
    from greedygp.tables.model import TableModel as TableModel
    from greedygp.tables.problems import ColumnProblem as ColumnProblem
    from greedygp.tables.problems import DataProblem as DataProblem
    from greedygp.tables.problems import FileProblem as FileProblem
    from greedygp.tables.problems import MissingPackage as MissingPackage
    from greedygp.tables.problems import TableProblem as TableProblem
    from greedygp.tables.reading import chunks as chunks
    from greedygp.tables.reading import read as read
else:
    __getattr__, __dir__, __all__ = lazy_names(__name__)
