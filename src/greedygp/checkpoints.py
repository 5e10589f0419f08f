"""Files that let long work go on after an interruption: arrays, written in one piece or not at all.

A file is written under another name and then takes the place of the last one, so that whoever is
killed leaves a whole file behind. It holds plain arrays, and is read without unpickling anything.
"""

from __future__ import annotations

import os
import re
import tempfile
import zipfile
from pathlib import Path
from typing import Any

import numpy as np

__all__ = ["read_arrays", "remove_arrays", "write_arrays"]

# What a temporary file has behind the name that it is to get.
UNFINISHED = re.compile(r"[a-z0-9_]{8}\.part")


def write_arrays(path: Path, arrays: dict[str, Any]) -> None:
    """Put named arrays into a file, all or none; an OSError says in a sentence what is wrong."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(
            dir=path.parent, prefix=path.name, suffix=".part", delete=False
        ) as file:
            try:
                np.savez(file, **arrays)
                file.flush()
                os.fsync(file.fileno())
            except BaseException:
                Path(file.name).unlink()
                raise
        os.replace(file.name, path)
    except OSError as error:
        why = error.strerror or str(error)
        raise OSError(
            error.errno,
            f"checkpoint: {path} cannot be written ({why}); make room, or give another path",
        ) from error


def read_arrays(path: Path) -> dict[str, np.ndarray]:
    """Return the arrays of a file; a ValueError says in a sentence why they cannot be had."""
    try:
        with zipfile.ZipFile(path):  # np.load would read other kinds of file as well
            pass
        with np.load(path, allow_pickle=False) as stored:
            return {name: stored[name] for name in stored.files}
    except (OSError, ValueError, EOFError, zipfile.BadZipFile) as error:
        raise ValueError(
            f"checkpoint: {path} cannot be read ({error}); remove it, or give another name."
        ) from error


def remove_arrays(path: Path) -> None:
    """Remove a file, and what those left behind who were killed while they wrote it."""
    path.unlink(missing_ok=True)
    for part in path.parent.glob("*.part"):
        if part.name.startswith(path.name) and UNFINISHED.fullmatch(part.name[len(path.name) :]):
            part.unlink(missing_ok=True)
