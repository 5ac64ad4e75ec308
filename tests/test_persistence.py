"""Model files: exact round trips, and a one-sentence error for every kind of bad file."""

import io
import json
import random
import struct
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from safetensors import safe_open
from safetensors.numpy import save_file

from supertopic import LDA, load, persistence
from supertopic.persistence import (
    FORMAT_VERSION,
    read_file,
    read_model,
    write_file,
    write_model,
)

MANIFEST = {
    "estimator": "LDA",
    "vocabulary": ["wörd", "字", "\ud800", 'quo"te'],
    "n_topics": 3,
    "nested": {"a": [1.5, None]},
}


def some_arrays():
    rng = np.random.default_rng(0)
    return {
        "word_topic": rng.random((7, 3), dtype=np.float32),
        "bound": rng.random(5),
        "mask": np.array([True, False, True]),
        "codes": np.array([1, -2, 3], dtype=np.int8),
        "ids": np.arange(4, dtype=np.int64),
        "empty": np.zeros((0, 3), dtype=np.float32),
        "scalar": np.array(2.5),
        "nan": np.array([np.nan, -0.0, np.inf], dtype=np.float32),
    }


def assert_same_arrays(got, expected):
    assert got.keys() == expected.keys()
    for name, array in expected.items():
        assert got[name].shape == array.shape, name
        assert got[name].dtype == array.dtype.newbyteorder("="), name
        native = array.astype(array.dtype.newbyteorder("="), order="C")
        assert got[name].tobytes() == native.tobytes(), name


@pytest.fixture
def model_file(tmp_path):
    path = tmp_path / "model.supertopic"
    write_model(path, MANIFEST, some_arrays())
    return path


# Round trips


def test_a_model_comes_back_exactly_and_writable(model_file):
    manifest, arrays = read_model(model_file)
    assert {key: manifest[key] for key in MANIFEST} == MANIFEST
    assert manifest["format"] == "supertopic"
    assert manifest["format_version"] == FORMAT_VERSION
    assert manifest["kind"] == "model"
    assert manifest["supertopic_version"]
    assert_same_arrays(arrays, some_arrays())
    arrays["bound"][0] = 1.0


@settings(max_examples=60, deadline=None)
@given(
    st.dictionaries(
        st.text(min_size=1, max_size=5).filter(lambda name: name.isprintable()),
        st.one_of(
            hnp.arrays(dtype, hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4))
            for dtype in ["f2", "f4", "f8", ">f8", "i1", "i2", ">i4", "i8", "u1", "u2", "u4", "u8", "?"]
        ),
        max_size=4,
    )
)
def test_any_numeric_arrays_come_back_bit_for_bit(tmp_path_factory, arrays):
    path = tmp_path_factory.mktemp("any") / "m"
    write_model(path, {}, arrays)
    assert_same_arrays(read_model(path)[1], arrays)


@pytest.mark.parametrize("view", [np.s_[::2], np.s_[::-1], np.s_[:, 1:2], np.s_[1:3, ::-2]])
def test_arrays_that_are_not_contiguous_are_saved_as_they_look(tmp_path, view):
    base = np.arange(24, dtype=np.float32).reshape(4, 6)
    arrays = {"view": base[view], "transposed": base.T, "fortran": np.asfortranarray(base)}
    write_model(tmp_path / "m", {}, arrays)
    assert_same_arrays(read_model(tmp_path / "m")[1], arrays)


def test_numpy_scalars_and_special_floats_in_the_manifest(tmp_path):
    manifest = {
        "k": np.int64(3),
        "a": np.float32(0.1),
        "b": float("-inf"),
        "flag": np.bool_(True),
        "v": np.arange(2),
    }
    write_model(tmp_path / "m", manifest, {})
    got, _ = read_model(tmp_path / "m")
    assert got["k"] == 3 and got["b"] == float("-inf") and got["flag"] is True and got["v"] == [0, 1]
    assert np.float32(got["a"]) == np.float32(0.1)


def test_any_safetensors_reader_opens_the_file(model_file):
    with safe_open(str(model_file), framework="numpy") as file:
        assert json.loads(file.metadata()["manifest"])["estimator"] == "LDA"
        assert sorted(file.keys()) == sorted(some_arrays())
        assert np.array_equal(file.get_tensor("word_topic"), some_arrays()["word_topic"])


def test_every_buffer_is_aligned_to_its_items(model_file):
    blob = model_file.read_bytes()
    (length,) = struct.unpack("<Q", blob[:8])
    header = json.loads(blob[8 : 8 + length])
    for name, array in some_arrays().items():
        assert (8 + length + header[name]["data_offsets"][0]) % array.itemsize == 0, name


def test_writing_holds_no_second_copy_of_the_arrays(tmp_path):
    program = (
        "import numpy as np, resource, sys\n"
        "from supertopic.persistence import write_model\n"
        "arrays = {'a': np.ones(6_000_000), 'b': np.ones(6_000_000)}\n"
        "before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        "write_model(sys.argv[1], {}, arrays)\n"
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)\n"
    )
    pytest.importorskip("resource", reason="needs POSIX")
    done = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path / "m")], capture_output=True, text=True, check=True
    )
    unit = 1 if sys.platform == "darwin" else 1024
    assert int(done.stdout) * unit < 20e6  # the arrays are 96 MB


# What cannot be saved


@pytest.mark.parametrize("bad", [np.array(["a", "b"]), np.array([None, 1]), np.array([1 + 2j])])
def test_arrays_of_other_things_than_numbers_are_refused_by_name(tmp_path, bad):
    with pytest.raises(ValueError, match=r"arrays: 'labels' has dtype .* expected numbers or booleans"):
        write_model(tmp_path / "m", {}, {"labels": bad})
    assert list(tmp_path.iterdir()) == []


def test_a_manifest_that_json_cannot_hold_is_refused(tmp_path):
    with pytest.raises(TypeError, match="a set cannot be saved"):
        write_model(tmp_path / "m", {"words": {1, 2}}, {})
    with pytest.raises(ValueError, match="'kind' is reserved"):
        write_model(tmp_path / "m", {"kind": "mine"}, {})
    assert list(tmp_path.iterdir()) == []


def test_a_manifest_too_long_for_the_format_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(persistence, "_HEADER_LIMIT", 1000)
    with pytest.raises(ValueError, match="expected at most 1,000"):
        write_model(tmp_path / "m", {"words": "w" * 1000}, {})


# Bad files


def test_a_missing_file(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"nothing.supertopic does not exist: check the path"):
        read_model(tmp_path / "nothing.supertopic")


def test_a_folder(tmp_path):
    with pytest.raises(ValueError, match="is a folder"):
        read_model(tmp_path)


@pytest.mark.parametrize("content", [b"", b"x", b"word,count\n" * 50, b"\x80\x04\x95" + b"p" * 100, b"{}" * 40])
def test_a_foreign_file(tmp_path, content):
    (tmp_path / "data.csv").write_bytes(content)
    with pytest.raises(ValueError, match=r"data\.csv was not saved by supertopic"):
        read_model(tmp_path / "data.csv")


def test_a_safetensors_file_of_somebody_else(tmp_path):
    save_file({"weight": np.ones(3)}, tmp_path / "other.safetensors", metadata={"manifest": "{}"})
    with pytest.raises(ValueError, match=r"other\.safetensors was not saved by supertopic"):
        read_model(tmp_path / "other.safetensors")


def test_a_newer_format(tmp_path, monkeypatch):
    monkeypatch.setattr(persistence, "FORMAT_VERSION", FORMAT_VERSION + 1)
    write_model(tmp_path / "m", {}, {})
    monkeypatch.undo()
    with pytest.raises(ValueError, match=r"has format version 2 .* reads up to 1: upgrade supertopic"):
        read_model(tmp_path / "m")


def test_a_checkpoint_is_not_a_model_nor_a_model_a_checkpoint(tmp_path, model_file):
    write_file(tmp_path / "c", "checkpoint", {}, {})
    with pytest.raises(ValueError, match="is a checkpoint of an unfinished fit, not a model"):
        read_model(tmp_path / "c")
    with pytest.raises(ValueError, match="is a saved model, not a checkpoint"):
        read_file(model_file, "checkpoint")


def test_every_truncation_is_noticed(model_file):
    blob = model_file.read_bytes()
    for length in {*range(120), *range(0, len(blob), 11), *range(len(blob) - 40, len(blob))}:
        model_file.write_bytes(blob[:length])
        with pytest.raises(ValueError, match=r"model\.supertopic (is damaged or cut short|was not saved by)"):
            read_model(model_file)


def test_something_appended_is_noticed(model_file):
    model_file.write_bytes(model_file.read_bytes() + b"\0")
    with pytest.raises(ValueError, match="is damaged or cut short"):
        read_model(model_file)


def loads_the_same_or_raises_value_error(path, blob):
    path.write_bytes(blob)
    try:
        manifest, arrays = read_model(path)
    except ValueError as error:
        assert str(path) in str(error)
        return False
    assert {key: manifest[key] for key in MANIFEST} == MANIFEST
    assert_same_arrays(arrays, some_arrays())
    return True


def test_a_flipped_bit_in_any_byte_loads_the_same_or_is_noticed(model_file):
    blob = model_file.read_bytes()
    loaded = 0
    for position in range(len(blob)):
        flipped = bytearray(blob)
        flipped[position] ^= 1 << position % 8
        loaded += loads_the_same_or_raises_value_error(model_file, bytes(flipped))
    assert loaded < 8  # white space that pads the header, at most


def test_random_damage_loads_the_same_or_is_noticed(model_file):
    blob = model_file.read_bytes()
    rng = random.Random(0)
    for _ in range(1000):
        damaged = bytearray(blob)
        for _ in range(rng.randint(1, 8)):
            where = rng.randrange(len(damaged))
            how = rng.randrange(4)
            if how == 0:
                damaged[where] = rng.randrange(256)
            elif how == 1:
                del damaged[where : where + rng.randint(1, 30)]
            elif how == 2:
                damaged[where:where] = rng.randbytes(rng.randint(1, 30))
            else:
                damaged[where:where] = damaged[:where][-rng.randint(1, 60) :]
        loads_the_same_or_raises_value_error(model_file, bytes(damaged))


def header_with(path, change):
    """Rewrite the header of a good file with valid lengths, as an attacker would."""
    blob = path.read_bytes()
    (length,) = struct.unpack("<Q", blob[:8])
    header = json.loads(blob[8 : 8 + length])
    change(header)
    text = json.dumps(header, separators=(",", ":")).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + blob[8 + length :])


@pytest.mark.parametrize(
    "change",
    [
        lambda h: h["bound"].update(shape=[2**62]),
        lambda h: h["bound"].update(shape=[2**32, 2**32]),
        lambda h: h["bound"].update(shape=[-1]),
        lambda h: h["bound"].update(dtype="F32"),
        lambda h: h["bound"].update(dtype="I64"),
        lambda h: h["bound"].update(dtype="BF16"),
        lambda h: h["bound"].update(dtype="NONSENSE"),
        lambda h: h["bound"].update(data_offsets=[0, 2**40]),
        lambda h: h["bound"].update(data_offsets=[40, 0]),
        lambda h: h.pop("bound"),
        lambda h: h.update(renamed=h.pop("bound")),
        lambda h: h["__metadata__"].pop("manifest"),
        lambda h: h["__metadata__"].pop("checksum"),
        lambda h: h["__metadata__"].update(manifest="[]"),
        lambda h: h["__metadata__"].update(manifest="{}"),
        lambda h: h["__metadata__"].update(manifest="["),
        lambda h: h["__metadata__"].update(manifest="[" * 200_000),
        lambda h: h["__metadata__"].update(manifest='{"format":"supertopic","kind":"model","format_version":"1"}'),
        lambda h: h["__metadata__"].update(manifest='{"format":"supertopic","kind":"model","format_version":0}'),
        lambda h: h["__metadata__"].update(manifest='{"format":"supertopic","kind":"model","format_version":1}'),
        lambda h: h["__metadata__"].update(manifest=3),
    ],
)
def test_a_forged_header_is_refused(model_file, change):
    header_with(model_file, change)
    with pytest.raises(ValueError, match=r"model\.supertopic is damaged"):
        read_model(model_file)


@pytest.mark.parametrize("length", [0, 1, 2**31, 2**40, 2**63, 2**64 - 1])
def test_a_forged_header_length_is_refused_before_allocation(model_file, length):
    model_file.write_bytes(struct.pack("<Q", length) + model_file.read_bytes()[8:])
    with pytest.raises(ValueError, match=r"model\.supertopic is damaged"):
        read_model(model_file)


def test_what_is_open_is_written_and_read_like_a_file(model_file):
    stream = io.BytesIO()
    manifest, arrays = read_model(model_file)
    write_model(stream, manifest, arrays)
    assert stream.getvalue() == model_file.read_bytes()
    with open(model_file, "rb") as file:
        again, found = read_model(file)
    assert again == manifest and found.keys() == arrays.keys()
    for name, array in arrays.items():
        assert found[name].dtype == array.dtype and found[name].flags.writeable
        np.testing.assert_array_equal(found[name], array)
    data = stream.getvalue()
    for damaged in (b"", data[:7], data[:200], data[:-1], data + b"x", data[:-1] + bytes([data[-1] ^ 1])):
        with pytest.raises(ValueError, match=r"^the stream (was not saved by supertopic|is damaged or cut short)"):
            read_model(io.BytesIO(damaged))


def test_a_model_goes_through_memory(tmp_path):
    model, stream = LDA(2, max_iter=2).fit(np.eye(4)), io.BytesIO()
    model.save(stream)
    again = load(io.BytesIO(stream.getvalue()))
    np.testing.assert_array_equal(again.transform(np.eye(4)), model.transform(np.eye(4)))
    model.fitted_.state.alpha[0] = np.nan
    with pytest.raises(ValueError, match=r"the model cannot be saved: state\.alpha holds NaN[^.]*$"):
        model.save(io.BytesIO())
