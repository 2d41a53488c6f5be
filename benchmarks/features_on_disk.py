"""A features file of 1,000,000 × 768 float16 numbers: a campaign and a prediction, each in its own process.

The file is 1.5 GB; as float32 numbers, the pool alone would take 3 GB. Peak memory includes the pages of the file that
the system has mapped. Other sizes: ``python -m benchmarks.features_on_disk ROWS``.
"""

import os
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import numpy as np

from benchmarks.measure import report
from versionspace.campaign import export_model
from versionspace.store import campaigns, read_campaign

ROWS, WIDTH, CLASSES = 1_000_000, 768, 10
MOST = 4e9
METHODS = ("gvd", "pwd-cover")
_BLOCK = 10_000
_CONFIG = """
[data]
name = "{file}"
initial = 10
[budget]
total = 20
"""


@contextmanager
def array_in(archive: zipfile.ZipFile, name: str, shape: tuple[int, ...], dtype: str) -> Iterator[IO[bytes]]:
    """Open an uncompressed array of an .npz file, whose rows are then written one after another."""
    with archive.open(f"{name}.npy", "w", force_zip64=True) as file:
        header = {"descr": np.dtype(dtype).str, "fortran_order": False, "shape": shape}
        np.lib.format.write_array_header_1_0(file, header)
        yield file


def write_features(path: Path, rows: int) -> None:
    """Write ten overlapping clusters and their labels."""
    draws = np.random.default_rng(0)
    centres = draws.normal(size=(CLASSES, WIDTH)).astype(np.float32)
    labels = draws.integers(0, CLASSES, rows)
    with zipfile.ZipFile(path, "w") as archive:
        with array_in(archive, "features", (rows, WIDTH), "<f2") as file:
            for start in range(0, rows, _BLOCK):
                some = labels[start : start + _BLOCK]
                noise = draws.standard_normal((len(some), WIDTH), np.float32)
                file.write((centres[some] + 2 * noise).astype(np.float16).tobytes())
        with array_in(archive, "labels", (rows,), "<i8") as file:
            file.write(labels.astype("<i8").tobytes())


def command(case: str, *arguments: object) -> None:
    """Run the command line in a process of its own and report its time and peak memory."""
    began = time.perf_counter()
    process = subprocess.Popen(
        [sys.executable, "-m", "versionspace.cli", *map(str, arguments)], stdout=subprocess.DEVNULL
    )  # fmt: skip
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0, case
    peak = usage.ru_maxrss * 1024
    report(
        case, seconds=time.perf_counter() - began, processor_seconds=usage.ru_utime + usage.ru_stime,
        peak_gigabytes=peak / 1e9, target="peak memory < 4 GB", met=peak < MOST,
    )  # fmt: skip


def run(rows: int = ROWS) -> None:
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        write_features(folder / "emb.npz", rows)
        (folder / "config.toml").write_text(_CONFIG.format(file=folder / "emb.npz"))
        size = f"{rows:,} × {WIDTH} float16"
        for method in METHODS:
            out = folder / method
            command(
                f"run: {method}, {size}, 20 heads, 2 rounds",
                "run", folder / "config.toml", "--methods", method, "--out", out,
            )  # fmt: skip
        found = read_campaign(campaigns(folder / METHODS[0])[0])
        export_model(found, "safetensors", folder / "model")
        command(f"predict: {size}", "predict", folder / "model", folder / "emb.npz", "--out", folder / "classes.csv")


if __name__ == "__main__":
    run(*map(int, sys.argv[1:]))
