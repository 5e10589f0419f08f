"""Models in files that can be opened without running anything that is inside them.

A model file is a zip archive in skops' format: a tree of types and plain values in `schema.json`,
one `.npy` file per array, and `greedygp.json`, a header with the format's version, which is read
first and can be read alone. The rules that keep a file harmless:

- members are stored, not compressed, and are together no larger than the file: opening a file
  cannot take more memory than a few times its size on disk;
- the tree is walked here before skops sees it; it may hold plain containers, numbers, text, NumPy
  arrays, and objects of classes of greedygp and of scikit-learn, nothing else: no function, no
  method, no pickle, no type of another package;
- an array's header must agree with the size of its member; arrays of objects are refused.

What predicts after loading is bit for bit what was saved. Arrays of torch become NumPy arrays, so
that a model fitted on a GPU loads on a machine that has none.
"""

from typing import TYPE_CHECKING

from greedygp.lazy import lazy_names

if TYPE_CHECKING:
    from greedygp.persistence.contents import FORMAT as FORMAT
    from greedygp.persistence.contents import ModelFileError as ModelFileError
    from greedygp.persistence.model_file import load as load
    from greedygp.persistence.model_file import portable as portable
    from greedygp.persistence.model_file import read_header as read_header
    from greedygp.persistence.model_file import save as save
    from greedygp.persistence.writing import replacing as replacing
else:
    __getattr__, __dir__, __all__ = lazy_names(__name__)
