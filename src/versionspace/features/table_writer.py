"""Write a features file from pieces, of which one is in memory at a time."""

import io
import zipfile
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from versionspace.errors import InputError
from versionspace.extras import require
from versionspace.files import replacing
from versionspace.text import printable


@dataclass(frozen=True)
class Piece:
    """Some rows of a features file."""

    ids: tuple[str, ...]
    features: npt.NDArray[np.float32]
    """(n, F)."""


Pieces = Callable[[], Iterable[Piece]]
"""Returns the pieces from the first; called more than once."""


def check_output(path: Path) -> None:
    """Raise `InputError` if a features file cannot be written at a path."""
    if path.suffix.lower() not in _WRITERS:
        raise InputError(
            printable(path), expected=f"a name that ends in {' or '.join(_WRITERS)}", got=path.suffix or "no extension",
            fix="Parquet is for features of any size.",
        )  # fmt: skip
    if path.suffix.lower() == ".parquet":
        require("pyarrow.parquet")
    if path.exists():
        raise InputError(printable(path), expected="a new file", got="one that exists", fix="Choose another name.")


def write_table(path: Path, pieces: Pieces, rows: int, width: int) -> None:
    """Write a file with ``features``, float32 (rows, width), and ``ids``, text (rows,); it appears when complete."""
    with replacing(path) as new:
        _WRITERS[path.suffix.lower()](new, pieces, rows, width)


def _write_npz(path: Path, pieces: Pieces, rows: int, width: int) -> None:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as archive:
        with archive.open("features.npy", "w", force_zip64=True) as file:
            header = {"descr": "<f4", "fortran_order": False, "shape": (rows, width)}
            start = io.BytesIO()
            np.lib.format.write_array_header_1_0(start, header)
            file.write(start.getvalue())
            for piece in pieces():
                file.write(np.ascontiguousarray(piece.features, "<f4").tobytes())
        with archive.open("ids.npy", "w", force_zip64=True) as file:
            np.lib.format.write_array(file, np.array([i for piece in pieces() for i in piece.ids], np.str_))


def _write_parquet(path: Path, pieces: Pieces, rows: int, width: int) -> None:
    arrow, parquet = require("pyarrow"), require("pyarrow.parquet")
    schema = arrow.schema([("ids", arrow.string()), ("features", arrow.list_(arrow.float32(), width))])
    with parquet.ParquetWriter(path, schema, compression="zstd") as writer:
        for piece in pieces():
            flat = arrow.array(piece.features.reshape(-1))
            columns = [arrow.array(piece.ids), arrow.FixedSizeListArray.from_arrays(flat, width)]
            writer.write_table(arrow.table(columns, schema=schema))


_WRITERS = {".parquet": _write_parquet, ".npz": _write_npz}
