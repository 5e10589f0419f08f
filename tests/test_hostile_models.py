"""Model files that are damaged, newer, or made to do harm: refused with one sentence."""

import io
import json
import os
import pickle
import struct
import sys
import tracemalloc
import zipfile

import numpy as np
import pytest

import greedygp
from greedygp.persistence import FORMAT, ModelFileError
from greedygp.persistence.contents import HEADER
from model_files import data, parts_of, quick, refusal, write

skops_io = pytest.importorskip("skops.io")


@pytest.fixture(scope="module")
def fitted():
    return quick().fit(*data())


@pytest.fixture
def saved(fitted, tmp_path):
    return greedygp.save(fitted, tmp_path / "model.skops")


# ------------------------------------------------------------------------- damaged and newer


def test_no_such_file(tmp_path):
    with pytest.raises(FileNotFoundError, match="There is no file"):
        greedygp.load(tmp_path / "nothing.skops")
    assert "not a file" in refusal(tmp_path)


@pytest.mark.parametrize("content", [b"", b"PK", b"a,b\n1,2\n", bytes(1000)])
def test_not_a_model(content, tmp_path):
    path = tmp_path / "m.skops"
    path.write_bytes(content)
    assert "not a model file" in refusal(path)


@pytest.mark.parametrize("share", [0.01, 0.3, 0.7, 0.9, 0.99, 0.999])
def test_cut_short(saved, share):
    content = saved.read_bytes()
    saved.write_bytes(content[: int(share * len(content))])
    assert "damaged" in refusal(saved)


def test_flipped_bits_are_noticed_or_harmless(saved, fitted):
    content = saved.read_bytes()
    X, _ = data()
    expected = fitted.predict(X)
    rng = np.random.default_rng(0)
    refused = 0
    for place in rng.integers(len(content), size=60):
        damaged = bytearray(content)
        damaged[place] ^= 1 << rng.integers(8)
        saved.write_bytes(bytes(damaged))
        try:
            model = greedygp.load(saved)
        except ModelFileError:
            refused += 1
        else:
            np.testing.assert_array_equal(model.predict(X), expected)
    assert refused > 30


def test_newer_format(saved):
    parts = parts_of(saved)
    header = json.loads(parts[HEADER]) | {"format": FORMAT + 1, "greedygp": "99.0"}
    write(saved, parts | {HEADER: json.dumps(header)})
    assert "upgrade greedygp" in refusal(saved)
    assert "99.0" in refusal(saved)


@pytest.mark.parametrize("version", [None, "1", True, 0, 1.5])
def test_senseless_format(saved, version):
    write(saved, parts_of(saved) | {HEADER: json.dumps({"format": version})})
    assert "format version" in refusal(saved)


def test_file_of_skops_without_the_header(tmp_path, fitted):
    path = tmp_path / "m.skops"
    skops_io.dump(fitted, path)
    assert "not a greedygp model" in refusal(path)


@pytest.mark.parametrize("content", [b"[]", b"{", b"\xff", b"[" * 100_000])
@pytest.mark.parametrize("part", [HEADER, "schema.json"])
def test_broken_json(saved, part, content):
    write(saved, parts_of(saved) | {part: content})
    assert "damaged" in refusal(saved)


def test_missing_array(saved):
    parts = parts_of(saved)
    del parts[next(name for name in parts if name.endswith(".npy"))]
    write(saved, parts)
    assert "missing" in refusal(saved)


# ---------------------------------------------------------------------------------- hostile


class Bomb:
    """A pickle that makes a file when it is loaded."""

    def __init__(self, marker):
        self.marker = marker

    def __reduce__(self):
        return os.mkdir, (str(self.marker),)


def test_pickle(tmp_path):
    path = tmp_path / "m.skops"
    path.write_bytes(pickle.dumps(Bomb(tmp_path / "ran")))
    assert "pickle" in refusal(path)
    assert not (tmp_path / "ran").exists()


def test_pickle_in_an_array(saved, tmp_path):
    buffer = io.BytesIO()
    np.save(buffer, np.array([Bomb(tmp_path / "ran")], dtype=object), allow_pickle=True)
    parts = parts_of(saved)
    parts[next(name for name in parts if name.endswith(".npy"))] = buffer.getvalue()
    write(saved, parts)
    assert "pickled" in refusal(saved)
    assert not (tmp_path / "ran").exists()


def node(loader, module, name, **more):
    return {"__loader__": loader, "__module__": module, "__class__": name, **more}


def text(value):
    return node("JsonNode", "builtins", "str", content=json.dumps(value), is_json=True)


def call(module, name, *arguments):
    """A node that would call a function with the arguments."""
    content = node("TupleNode", "builtins", "tuple", content=[text(a) for a in arguments])
    return node("ConstructorFromReduceNode", module, name, content=content)


HOSTILE = {
    "system": lambda marker: call("os", "mkdir", marker),
    "eval": lambda marker: call("builtins", "eval", f"__import__('os').mkdir({marker!r})"),
    "popen": lambda marker: call("subprocess", "Popen", ["mkdir", marker]),
    "through greedygp": lambda marker: call("greedygp.datasets.os", "mkdir", marker),
    "name in greedygp": lambda marker: call("greedygp.persistence.writing", "replacing", marker),
    "imported name": lambda marker: call("greedygp.datasets", "Path", marker),
    "command line": lambda marker: node("ObjectNode", "greedygp.cli", "main"),
    "numpy function": lambda marker: call("numpy", "savetxt", marker, [1.0]),
    "numpy memmap": lambda marker: call("numpy", "memmap", marker, "int8", "w+", 0, 3),
    "numpy module": lambda marker: call("numpy.testing._private.utils", "runstring", "1", {}),
    "scikit-learn function": lambda marker: call("sklearn.datasets", "load_files", marker),
    "main": lambda marker: node("TypeNode", "greedygp.__main__", "x"),
    "function": lambda marker: node("FunctionNode", "numpy", "savetxt"),
    "method": lambda marker: node(
        "MethodNode", "builtins", "str", content={"func": "format", "obj": text("x")}
    ),
    "operator": lambda marker: node("OperatorFuncNode", "operator", "methodcaller"),
    "partial": lambda marker: node("PartialNode", "functools", "partial"),
    "constructor": lambda marker: call("greedygp.kernels.stationary", "Gaussian", 1.0),
    "huge array": lambda marker: call("numpy", "ndarray", 10**12),
    "huge scalar": lambda marker: node("NdArrayNode", "numpy", "void", type="json", content=[]),
    "array as an object": lambda marker: node("ObjectNode", "numpy", "ndarray"),
    "object as a list": lambda marker: node(
        "ListNode", "greedygp.kernels.stationary", "Gaussian", content=[]
    ),
    "type that opens files": lambda marker: node("TypeNode", "numpy", "memmap"),
    "cached": lambda marker: node("CachedNode", "builtins", "list", __id__=1),
    "unknown loader": lambda marker: node("PickleNode", "builtins", "list"),
    "unknown module": lambda marker: node("ObjectNode", "no_such_module", "Thing"),
    "no names": lambda marker: {"__loader__": "ObjectNode"},
}


@pytest.mark.parametrize("kind", HOSTILE)
def test_hostile_types_are_refused(kind, saved, tmp_path):
    marker = tmp_path / "ran"
    parts = parts_of(saved)
    schema = json.loads(parts["schema.json"])
    schema["content"]["content"]["kernel"] = HOSTILE[kind](str(marker))
    write(saved, parts | {"schema.json": json.dumps(schema)})
    assert "holds" in refusal(saved)
    assert not marker.exists()


def test_imports_nothing_that_a_file_names(saved, tmp_path, monkeypatch):
    (tmp_path / "sneaky.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')")
    monkeypatch.syspath_prepend(tmp_path)
    parts = parts_of(saved)
    schema = json.loads(parts["schema.json"])
    schema["content"]["content"]["kernel"] = node("ObjectNode", "sneaky", "Thing")
    write(saved, parts | {"schema.json": json.dumps(schema)})
    refusal(saved)
    assert not (tmp_path / "ran").exists()
    assert "sneaky" not in sys.modules


def test_old_protocol_of_skops(saved):
    parts = parts_of(saved)
    schema = json.loads(parts["schema.json"]) | {"protocol": 0}
    write(saved, parts | {"schema.json": json.dumps(schema)})
    assert "protocol" in refusal(saved)


def peak_of_refusal(path):
    """Return the sentence and the largest amount of memory while the file is refused."""
    tracemalloc.start()
    sentence = refusal(path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return sentence, peak


@pytest.mark.parametrize("part", ["schema.json", HEADER, "1.npy"])
def test_zip_bomb(saved, part):
    write(saved, parts_of(saved) | {part: bytes(100 << 20)}, zipfile.ZIP_DEFLATED)
    sentence, peak = peak_of_refusal(saved)
    assert "compressed" in sentence
    assert peak < 10 << 20


def test_overlapping_members(saved):
    """A directory whose entries all point at the same bytes."""
    content = bytearray(saved.read_bytes())
    end = content.rindex(b"PK\x05\x06")
    n_entries, size, start = struct.unpack("<HII", content[end + 10 : end + 20])
    entries = bytes(content[start : start + size])
    first = entries[: 46 + sum(struct.unpack("<HHH", entries[28:34]))]
    extra = b"".join(
        first[:46] + f"{k:0{struct.unpack('<H', first[28:30])[0]}d}".encode() for k in range(500)
    )
    content[start : start + size] = entries + extra
    tail = bytearray(content[-22:])
    struct.pack_into("<HHII", tail, 8, n_entries + 500, n_entries + 500, size + len(extra), start)
    content[-22:] = tail
    saved.write_bytes(bytes(content))
    sentence, peak = peak_of_refusal(saved)
    assert "more than its own size" in sentence
    assert peak < 10 << 20


@pytest.mark.parametrize("shape", ["(1000000000000,)", "(1000000, 1000000)"])
def test_array_that_claims_to_be_huge(saved, shape):
    buffer = io.BytesIO()
    np.lib.format.write_array_header_1_0(
        buffer, {"descr": "<f8", "fortran_order": False, "shape": eval(shape)}
    )
    parts = parts_of(saved)
    parts[next(name for name in parts if name.endswith(".npy"))] = buffer.getvalue() + bytes(8)
    write(saved, parts)
    sentence, peak = peak_of_refusal(saved)
    assert "size it claims" in sentence
    assert peak < 10 << 20


def test_two_parts_of_one_name(saved):
    with (
        pytest.warns(UserWarning, match="Duplicate"),
        zipfile.ZipFile(saved, "a") as archive,
    ):
        archive.writestr("schema.json", b"{}")
    assert "two parts" in refusal(saved)
