"""Open the arrays of a features file. Large ones are memory-mapped; nothing is ever unpickled.

Arrays that a file holds compressed or in pieces (a compressed .npz, Parquet) are unpacked block by block: into memory,
or above `IN_MEMORY` bytes into ``CACHE/tables/SHA256.npy``, which is then memory-mapped. That file may be deleted at
any time.
"""

import json
import os
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, TypeAlias

import numpy as np

from versionspace.data.cache import cache_folder, explaining_write_errors
from versionspace.errors import InputError
from versionspace.extras import require
from versionspace.files import replacing
from versionspace.text import printable
from versionspace.types import Array, ArrayLike

Arrays: TypeAlias = Mapping[str, Any]
"""Arrays by name, as a file has them."""
CachePath: TypeAlias = "str | os.PathLike[str] | None"

IN_MEMORY = 256 << 20
"""Bytes of unpacked features up to which they are kept in memory."""
ID_ARRAY = "ids"
_NAMES = ("features", "labels", ID_ARRAY, "classes")
_ROWS = 8192
"""Rows unpacked at a time."""
_TENSOR_DTYPES = {
    "F64": "<f8", "F32": "<f4", "F16": "<f2", "I64": "<i8", "I32": "<i4", "I16": "<i2", "I8": "<i1",
    "U64": "<u8", "U32": "<u4", "U16": "<u2", "U8": "<u1", "BOOL": "?",
}  # fmt: skip
_MAX_HEADER = 100 << 20
"""Largest header of a safetensors file, as in its specification."""


class _Layout(NamedTuple):
    shape: tuple[int, ...]
    fortran: bool
    dtype: np.dtype[Any]


def open_npy(path: Path, digest: str, cache: CachePath) -> Arrays:
    """Return the array of an .npy file, memory-mapped, as ``features``."""
    with _explaining(path), path.open("rb") as file:
        return {"features": _map(path, file, path.name)}


def open_npz(path: Path, digest: str, cache: CachePath) -> Arrays:
    """Return the arrays of an .npz file; features are memory-mapped if they are not compressed."""
    with _explaining(path), zipfile.ZipFile(path) as archive, path.open("rb") as file:
        members = {one.filename.removesuffix(".npy"): one for one in archive.infolist()}
        arrays: dict[str, Any] = {}
        for name in _NAMES:
            if (member := members.get(name)) is None:
                continue
            if member.compress_type == zipfile.ZIP_STORED:
                file.seek(member.header_offset + 26)
                lengths: tuple[int, int] = struct.unpack("<HH", file.read(4))
                file.seek(member.header_offset + 30 + sum(lengths))
                arrays[name] = _map(path, file, name)
                continue
            with archive.open(member) as packed:
                arrays[name] = _unpack(packed, name, digest, cache)  # type: ignore[arg-type]
        return arrays or dict.fromkeys(members)


def open_safetensors(path: Path, digest: str, cache: CachePath) -> Arrays:
    """Return the arrays of a .safetensors file, memory-mapped.

    Text is not a tensor: ``classes`` and text ``ids`` or ``labels`` are JSON lists in the file's metadata.
    """
    with _explaining(path), path.open("rb") as file:
        size = struct.unpack("<Q", file.read(8))[0]
        if size > _MAX_HEADER:
            raise ValueError("its header is too long")
        header: dict[str, Any] = json.loads(file.read(size))
        metadata = header.pop("__metadata__", {})
        arrays: dict[str, Any] = {name: json.loads(metadata[name]) for name in _NAMES[1:] if name in metadata}
        for name in _NAMES:
            if name not in header:
                continue
            about = header[name]
            if about["dtype"] not in _TENSOR_DTYPES:
                raise InputError(
                    f"{printable(path.name)}, {name}", expected="float16, float32, float64 or integers",
                    got=str(about["dtype"]), fix="Convert it before saving: features.half() or features.float().",
                )  # fmt: skip
            layout = _Layout(tuple(about["shape"]), False, np.dtype(_TENSOR_DTYPES[about["dtype"]]))
            arrays[name] = _map_at(path, layout, 8 + size + int(about["data_offsets"][0]), name)
        return arrays or header


def open_parquet(path: Path, digest: str, cache: CachePath) -> Arrays:
    """Return the columns of a Parquet file; features are unpacked row group by row group."""
    parquet = require("pyarrow.parquet")
    with _explaining(path), parquet.ParquetFile(path, memory_map=True, pre_buffer=False) as file:
        columns = list(file.schema_arrow.names)
        arrays: dict[str, Any] = {name: _column(file, name) for name in ("labels", ID_ARRAY) if name in columns}
        metadata = file.schema_arrow.metadata or {}
        if b"classes" in metadata:
            arrays["classes"] = json.loads(metadata[b"classes"])
        if "features" not in columns:
            return dict.fromkeys(columns)
        blocks = _list_blocks(file, path)
        first = next(blocks, np.empty((0, 0), np.float32))
        shape = (file.metadata.num_rows, first.shape[1])
        arrays["features"] = _collect(_chain(first, blocks), shape, first.dtype, digest, cache)
        return arrays


FORMATS: dict[str, Callable[[Path, str, CachePath], Arrays]] = {
    ".npy": open_npy, ".npz": open_npz, ".safetensors": open_safetensors, ".parquet": open_parquet,
}  # fmt: skip
"""How a features file is opened, by its extension; takes the path, the SHA-256 of the file and the cache folder."""


def arrays_of_frame(frame: ArrayLike) -> Arrays:
    """Return the columns of a DataFrame: ``features``, a column of lists, or all columns but labels and ids."""
    columns = [str(name) for name in frame.columns]
    others = {name: np.asarray(frame[name]) for name in ("labels", ID_ARRAY) if name in columns}
    if "features" in columns:
        try:
            return {"features": np.stack([np.asarray(row) for row in frame["features"]])} | others
        except (TypeError, ValueError) as error:
            raise InputError(
                "features", expected="a column of lists of one length", got=str(error), fix="Check its rows."
            ) from error
    return {"features": np.asarray(frame[[name for name in frame.columns if str(name) not in others]])} | others


def _chain(first: Array, rest: Iterator[Array]) -> Iterator[Array]:
    yield first
    yield from rest


def _column(file: Any, name: str) -> Array:
    """Return a column of integers or text; a missing label is -1 or empty."""
    values: list[Any] = file.read([name]).column(0).to_pylist()
    if name == "labels" and any(one is None for one in values):
        numbers = all(one is None or isinstance(one, int) for one in values)
        values = [(-1 if numbers else "") if one is None else one for one in values]
    return np.array(values)


def _list_blocks(file: Any, path: Path) -> Iterator[Array]:
    """Yield the rows of the column ``features`` as arrays (n, F)."""
    width, row = None, 0
    for batch in file.iter_batches(_ROWS, columns=["features"]):
        column = batch.column(0)
        if not hasattr(column, "value_lengths"):
            raise InputError(
                printable(path.name), expected="a column of lists named features", got=str(column.type),
                fix="Store the features of each item as one list of numbers.",
            )  # fmt: skip
        lengths = np.array([-1 if one is None else one for one in column.value_lengths().to_pylist()])
        width = int(lengths[0]) if width is None else width
        if (lengths != width).any() or column.flatten().null_count:
            wrong = int(np.argmax(lengths != width)) if (lengths != width).any() else 0
            missing = lengths[wrong] in (-1, width)
            raise InputError(
                f"{printable(path.name)}, row {row + wrong}", expected=f"a list of {width} numbers",
                got="a missing value" if missing else f"{lengths[wrong]} numbers",
                fix="Every row has the same number of features.",
            )  # fmt: skip
        yield column.flatten().to_numpy(zero_copy_only=False).reshape(-1, width)
        row += len(lengths)


def _map(path: Path, file: BinaryIO, name: str) -> Array:
    """Return the .npy content at the file's position, memory-mapped."""
    layout = _read_layout(file, name)
    return _map_at(path, layout, file.tell(), name)


def _map_at(path: Path, layout: _Layout, offset: int, name: str) -> Array:
    if 0 in layout.shape or not layout.shape:
        return np.empty(layout.shape, layout.dtype)
    needed = offset + int(np.prod(layout.shape)) * layout.dtype.itemsize
    if needed > path.stat().st_size:
        raise ValueError(f"{path.stat().st_size:,} bytes where {name} needs {needed:,}")
    order: Any = "F" if layout.fortran else "C"
    return np.memmap(path, layout.dtype, "r", offset, layout.shape, order)


def _read_layout(file: BinaryIO, name: str) -> _Layout:
    """Read the header of an .npy array. Raises ValueError if there is none, or if the array holds Python objects."""
    version = np.lib.format.read_magic(file)
    readers = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}
    if version not in readers:
        raise ValueError(f"version {version} of the .npy format")
    layout = _Layout(*readers[version](file))
    if layout.dtype.hasobject:
        raise InputError(
            name, expected="an array of numbers or text", got="an array of Python objects, stored as a pickle",
            fix="A pickle can run code when it is opened. Convert the array first: numpy.array(values, dtype=str), or "
            "numpy.stack(rows).",
        )  # fmt: skip
    return layout


def _unpack(packed: BinaryIO, name: str, digest: str, cache: CachePath) -> Array:
    layout = _read_layout(packed, name)
    shape = layout.shape[::-1] if layout.fortran else layout.shape
    whole = _collect(_rows(packed, shape, layout.dtype), shape, layout.dtype, f"{digest}-{name}", cache)
    return whole.T if layout.fortran else whole


def _rows(packed: BinaryIO, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Iterator[Array]:
    count, row = (shape or (1,))[0], int(np.prod(shape[1:])) * dtype.itemsize
    for start in range(0, count, _ROWS):
        rows = min(_ROWS, count - start)
        content = packed.read(rows * row)
        if len(content) < rows * row:
            raise ValueError("the array is truncated")
        yield np.frombuffer(content, dtype).reshape(rows, *shape[1:])


def _collect(
    blocks: Iterable[Array], shape: tuple[int, ...], dtype: np.dtype[Any], key: str, cache: CachePath
) -> Array:  # fmt: skip
    """Return the rows of all blocks as one array, in memory or memory-mapped from the cache."""
    if int(np.prod(shape)) * dtype.itemsize <= IN_MEMORY:
        whole = np.empty(shape, dtype)
        _fill(whole, blocks)
        return whole
    folder = cache_folder(cache)
    path = folder / "tables" / f"{key}.npy"
    if not path.exists():
        with explaining_write_errors(folder), replacing(path, durable=False) as new:
            mapped = np.lib.format.open_memmap(new, "w+", dtype, shape)
            _fill(mapped, blocks)
            mapped.flush()
            del mapped
    opened: Array = np.load(path, mmap_mode="r", allow_pickle=False)
    return opened


def _fill(whole: Array, blocks: Iterable[Array]) -> None:
    start = 0
    for block in blocks:
        whole[start : start + len(block)] = block
        start += len(block)


@contextmanager
def _explaining(path: Path) -> Iterator[None]:
    """Convert what reading a damaged file raises into an `InputError`."""
    try:
        yield
    except InputError as error:
        if error.name in _NAMES or error.name == path.name:
            where = printable(path.name) if error.name == path.name else f"{printable(path.name)}, {error.name}"
            raise InputError(where, expected=error.expected, got=error.got, fix=error.fix) from error
        raise
    except (ValueError, EOFError, OSError, KeyError, TypeError, struct.error, zlib.error, zipfile.BadZipFile) as error:
        empty = path.is_file() and not path.stat().st_size
        raise InputError(
            printable(path.name), expected=f"a complete {path.suffix} file",
            got="an empty file" if empty else f"{type(error).__name__}: {error}",
            fix="Save it again; a copy may have been interrupted.",
        ) from error  # fmt: skip
