"""Tables: reading files, columns into numbers, and models that remember how.

`read` and `chunks` read CSV, TSV, Parquet, Feather and `.npz` files; an `Encoder` decides for each
column how it becomes numbers and does it again for new rows; a `TableModel` is an estimator with
its encoder, its target and what is known of its making. The command line is made of these.
"""

from typing import TYPE_CHECKING

from greedygp.lazy import lazy_names

if TYPE_CHECKING:
    from greedygp.tables.encoder import Encoder as Encoder
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
