"""Timing, memory, and the JSON line that each case prints."""

import gc
import json
import multiprocessing
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import TypeVar

Result = TypeVar("Result")
Work = Callable[[], object]


def seconds(work: Work, repeats: int = 5) -> float:
    """Return the best time of several runs: on a shared machine the slower ones measure other work."""
    work()
    best = float("inf")
    for _ in range(repeats):
        gc.collect()
        start = time.perf_counter()
        work()
        best = min(best, time.perf_counter() - start)
    return best


def side_by_side(ours: Work, theirs: Work, repeats: int = 5) -> tuple[float, float]:
    """Return the best time of each; their runs alternate, so that both see the same load."""
    ours(), theirs()
    best = [float("inf"), float("inf")]
    for _ in range(repeats):
        for i, work in enumerate((ours, theirs)):
            gc.collect()
            start = time.perf_counter()
            work()
            best[i] = min(best[i], time.perf_counter() - start)
    return best[0], best[1]


def in_fresh_process(work: Callable[..., Result], *arguments: object) -> Result:
    """Run a module-level function in a new process, where memory freed earlier cannot hide its peak."""
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        return pool.submit(work, *arguments).result()


def _status(field: str) -> int:
    line = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith(field))
    return int(line.split()[1]) * 1024


def peak_extra_bytes(work: Work) -> int:
    """Return the peak increase of resident memory in bytes (Linux only). Call it in a new process."""
    gc.collect()
    Path("/proc/self/clear_refs").write_text("5")  # resets the high-water mark
    before = _status("VmRSS")
    work()
    return _status("VmHWM") - before


def report(case: str, *, target: str, met: bool, **figures: object) -> None:
    """Print the JSON line of one case, with floats rounded to four digits."""
    rounded = {key: float(f"{value:.4g}") if isinstance(value, float) else value for key, value in figures.items()}
    print(json.dumps({"case": case, **rounded, "target": target, "met": bool(met)}, ensure_ascii=False), flush=True)
