"""The rows of the data: this folder and `arrays.py` are all that knows where they live.

========================  =========================================================================
module                    rows
========================  =========================================================================
:mod:`~.blocks`           whose state is kept, in blocks: in memory, on a device
:mod:`~.store`            that pass by in chunks, nothing kept: what all stores have in common
:mod:`~.memory`           in arrays and memory maps
:mod:`~.files`            in Parquet and CSV files
:mod:`~.device`           of these, sent to a GPU a chunk at a time
:mod:`~.cluster`          on the workers of a Dask cluster
:mod:`~.work`             what those workers do
:mod:`~.collections`      Dask's collections: chunks of X, y and weights brought into line
:mod:`~.survey`           looked at once: finite, counted, the moments of the targets
========================  =========================================================================
"""

from greedygp.rows.blocks import RowBlock, Rows, add_up
from greedygp.rows.memory import ArrayRows
from greedygp.rows.store import Chunk, RowStore
from greedygp.rows.survey import Survey, survey

__all__ = ["ArrayRows", "Chunk", "RowBlock", "RowStore", "Rows", "Survey", "add_up", "survey"]
