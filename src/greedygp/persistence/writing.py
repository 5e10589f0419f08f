"""Files that appear whole or not at all."""

from __future__ import annotations

import contextlib
import os
import secrets
from collections.abc import Iterator
from pathlib import Path

__all__ = ["replacing"]


@contextlib.contextmanager
def replacing(path: str | Path) -> Iterator[Path]:
    """Give the name of a temporary file in the same folder; rename it at the end, or remove it.

    Parameters
    ----------
    path : str or Path
        The file to make or replace.

    Yields
    ------
    Path
        An empty file to write to. After an error, an interruption included, it is removed and
        `path` is as it was before.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from greedygp.persistence import replacing
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with replacing(Path(folder) / "a.txt") as temporary:
    ...         _ = temporary.write_text("all of it")
    ...     sorted(file.name for file in Path(folder).iterdir())
    ['a.txt']
    """
    path = Path(path)
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(8)}.part")
    try:  # Ctrl-C may come as soon as the file is there
        temporary.touch(mode=0o600, exist_ok=False)
        yield temporary
        with temporary.open("rb+") as file:
            os.fsync(file.fileno())
        os.chmod(temporary, 0o666 & ~_umask())
        os.replace(temporary, path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
