"""Tables: reading files, columns into numbers, and models that remember how.

`read` and `chunks` read CSV, TSV, Parquet, Feather and `.npz` files; an `Encoder` decides for each
column how it becomes numbers and does it again for new rows; a `TableModel` is an estimator with
its encoder, its target and what is known of its making. The command line is made of these.
"""

from greedygp.tables.encoder import Encoder
from greedygp.tables.model import TableModel
from greedygp.tables.problems import (
    ColumnProblem,
    DataProblem,
    FileProblem,
    MissingPackage,
    TableProblem,
)
from greedygp.tables.reading import chunks, read

__all__ = [
    "ColumnProblem",
    "DataProblem",
    "Encoder",
    "FileProblem",
    "MissingPackage",
    "TableModel",
    "TableProblem",
    "chunks",
    "read",
]
