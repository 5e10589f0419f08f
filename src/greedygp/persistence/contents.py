"""A model file that is looked at but not yet trusted."""

from __future__ import annotations

import io
import json
import math
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

import numpy as np

from greedygp.persistence.moved import name_of_today
from greedygp.persistence.types import LOADERS, PACKAGES, is_allowed

__all__ = ["FORMAT", "HEADER", "Contents", "ModelFileError", "brief"]

FORMAT = 1
HEADER, SCHEMA = "greedygp.json", "schema.json"
HEADER_LIMIT, SCHEMA_LIMIT, MEMBER_LIMIT = 4 << 20, 256 << 20, 100_000
OLDEST_PROTOCOL = 2  # of skops, when format 1 was laid down


class ModelFileError(ValueError):
    """A file is not a model that this version of greedygp can open safely."""


class Contents:
    """A model file that is looked at but not yet trusted; opening it checks sizes and header."""

    def __init__(self, file: IO[bytes], path: Path):
        self.file, self.path = file, path
        start = file.read(2)
        size = file.seek(0, 2)
        file.seek(0)
        if start[:1] == b"\x80":
            raise self.refusal(
                "is a pickle, which could run any code; greedygp only opens files written by "
                "greedygp.save"
            )
        try:
            self.archive = zipfile.ZipFile(file)
        except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError) as error:
            raise self.refusal("is not a model file, or it is damaged or cut short") from error
        self.members = self._check_members(size)
        self.header = self._read_header()

    def refusal(self, what: str) -> ModelFileError:
        """Return the error that says what is wrong with the file."""
        return ModelFileError(f"{self.path} {what}.")

    def _check_members(self, size: int) -> dict[str, zipfile.ZipInfo]:
        infos = self.archive.infolist()
        if len(infos) > MEMBER_LIMIT:
            raise self.refusal(f"has {len(infos)} members, more than a model can have")
        if any(info.compress_type != zipfile.ZIP_STORED or info.flag_bits & 1 for info in infos):
            raise self.refusal("holds compressed or encrypted parts, which no model file does")
        if sum(max(info.file_size, info.compress_size) for info in infos) > size:
            raise self.refusal("claims to hold more than its own size, so it is not opened")
        members = {info.filename: info for info in infos}
        if len(members) != len(infos):
            raise self.refusal("holds two parts of one name")
        return members

    def _read(self, name: str, limit: int) -> bytes:
        if name not in self.members:
            raise self.refusal(f"is not a greedygp model: it has no {name}")
        if self.members[name].file_size > limit:
            raise self.refusal(f"has a {name} larger than a model's can be")
        try:
            return self.archive.read(name)
        except Exception as error:
            raise self.refusal(f"is damaged: {brief(error)}") from error

    def _read_json(self, name: str, limit: int) -> dict[str, Any]:
        text = self._read(name, limit)
        try:
            value = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise self.refusal(f"is damaged: its {name} cannot be read") from error
        if not isinstance(value, dict):
            raise self.refusal(f"is damaged: its {name} is not what it should be")
        return value

    def _read_header(self) -> dict[str, Any]:
        header = self._read_json(HEADER, HEADER_LIMIT)
        version = header.get("format")
        if isinstance(version, bool) or not isinstance(version, int) or version < 1:
            raise self.refusal(f"is damaged: its format version is {version!r}")
        if version > FORMAT:
            raise self.refusal(
                f"is in format {version}, written by greedygp {header.get('greedygp')}; this "
                f"version opens formats up to {FORMAT}: upgrade greedygp"
            )
        return header

    def checked(self) -> tuple[IO[bytes], set[str]]:
        """Return what skops may load, and the names of the packages' classes in it, all known.

        What is returned is the file itself or, where classes have moved since it was written, a
        copy in memory that names them as they are now. Raises a ModelFileError at the first thing
        that no model holds.
        """
        schema = self._read_json(SCHEMA, SCHEMA_LIMIT)
        protocol = schema.get("protocol")
        if not isinstance(protocol, int) or protocol < OLDEST_PROTOCOL:
            raise self.refusal(f"is damaged: its skops protocol is {protocol!r}")
        trusted, arrays, moved = set(), set(), False
        for node in self._nodes(schema):
            moved |= _brought_up_to_date(node)
            full = self._check_type(node)
            if full.split(".")[0] in PACKAGES:
                trusted.add(full)
            if "file" in node:
                arrays.add(str(node["file"]))
        for member in arrays:
            self._check_array(member)
        self.file.seek(0)
        return (self._with_schema(schema) if moved else self.file), trusted

    def _check_type(self, node: dict[str, Any]) -> str:
        """Return the name of the class of a node, which a model may hold."""
        loader, module, name = (node.get(key) for key in ("__loader__", "__module__", "__class__"))
        full = f"{module}.{name}"
        if loader not in LOADERS:
            raise self.refusal(f"holds {full} ({loader}), which no model holds; not opened")
        if not is_allowed(str(loader), str(module), str(name)):
            raise self.refusal(
                f"holds an object of type {full}; only types of greedygp, NumPy and "
                "scikit-learn are opened"
            )
        return full

    def _with_schema(self, schema: dict[str, Any]) -> IO[bytes]:
        """Return the file in memory, with another tree."""
        try:
            text = json.dumps(schema)
        except RecursionError as error:
            raise self.refusal(f"is damaged: its {SCHEMA} cannot be read") from error
        copy = io.BytesIO()
        with zipfile.ZipFile(copy, "w", zipfile.ZIP_STORED) as archive:
            for name in self.members:
                if name != SCHEMA:
                    archive.writestr(name, self._read(name, self.members[name].file_size))
            archive.writestr(SCHEMA, text)
        copy.seek(0)
        return copy

    def _nodes(self, schema: dict[str, Any]) -> Iterator[dict[str, Any]]:
        """Yield every node of the tree, without recursion."""
        waiting: list[Any] = [schema]
        while waiting:
            value = waiting.pop()
            if isinstance(value, dict):
                if "__loader__" in value:
                    yield value
                waiting += value.values()
            elif isinstance(value, list):
                waiting += value

    def _check_array(self, member: str) -> None:
        """Check that an array's own header tells its true size, and that it holds no objects."""
        if member not in self.members:
            raise self.refusal(f"is damaged: the array {member} is missing")
        try:
            with self.archive.open(member) as file:
                version = np.lib.format.read_magic(file)
                reader = {
                    (1, 0): np.lib.format.read_array_header_1_0,
                    (2, 0): np.lib.format.read_array_header_2_0,
                }[version]
                shape, _, dtype = reader(file)
                begin = file.tell()
        except Exception as error:
            raise self.refusal(f"is damaged: the array {member} cannot be read") from error
        if dtype.hasobject:
            raise self.refusal("holds an array of pickled objects, which could run any code")
        if begin + math.prod(shape) * dtype.itemsize != self.members[member].file_size or (
            dtype.itemsize == 0 and math.prod(shape) > 0
        ):
            raise self.refusal(f"is damaged: the array {member} is not of the size it claims")


def _brought_up_to_date(node: dict[str, Any]) -> bool:
    """Give a node the name that its class has now, in place; tell whether that is another."""
    old = str(node.get("__module__")), str(node.get("__class__"))
    new = name_of_today(*old)
    if new == old:
        return False
    node["__module__"], node["__class__"] = new
    return True


def brief(error: BaseException) -> str:
    """Return the first line of an error, of a length that can be read."""
    lines = str(error).splitlines()
    return (lines[0] if lines else type(error).__name__)[:200]
