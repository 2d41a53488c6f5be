"""Where and on how many threads the work is done.

A group of members is the unit of work: each runs on one thread, several groups side by side. No bit then depends on
the number of threads, and small networks do not wait for threads to meet after every layer.
"""

import ctypes
import re
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from contextlib import contextmanager
from functools import cache
from typing import TypeVar

import torch

from versionspace.errors import InputError, TrainingError
from versionspace.machine import cores, cpuinfo, processor

Item = TypeVar("Item")
Result = TypeVar("Result")


def pick_device(name: str) -> torch.device:
    """ "auto": a GPU where there is one; of several, by its number, since each thread has a current one of its own."""
    if name == "auto":
        if torch.cuda.is_available():
            return torch.device("cuda", torch.cuda.current_device())
        return torch.device("mps" if torch.backends.mps.is_available() else "cpu")
    try:
        device = torch.device(name)
        if name == "cuda":
            device = torch.device("cuda", torch.cuda.current_device())
        torch.empty(1, device=device)
    except (RuntimeError, AssertionError) as error:
        raise InputError(
            "device",
            expected="'auto', 'cpu' or a device of this machine",
            got=repr(name),
            fix=str(error).split("\n")[0].rstrip(".") + ". A campaign's is machine.device, which may be changed.",
        ) from error
    return device


def arithmetic(device: torch.device) -> str:
    """What rounds: other processors add up in another order, and what is trained on other last bits is another net."""
    if device.type == "cuda":
        return str(torch.cuda.get_device_name(device))
    numbers = "-".join(cpuinfo()[key] for key in _KINDS if key in cpuinfo())
    found = ", ".join(filter(None, [processor(), numbers, torch.backends.cpu.get_cpu_capability()]))
    return found if device.type == "cpu" else f"{device.type} of {found}"


_KINDS = ("cpu family", "model", "CPU implementer", "CPU part")
"""What tells processors apart that have one name, as those of rented machines do: of x86 and of ARM."""


def pick_threads(threads: int | None) -> int:
    """As many as given, or as the process may use."""
    if threads is None:
        return cores()
    if threads < 1:
        raise InputError("threads", expected="at least 1, or None", got=repr(threads), fix="None uses all cores.")
    return threads


@cache
def keep_memory() -> bool:
    """Tells glibc to keep what is freed instead of giving it back page by page, which costs a tenth of a step."""
    if not sys.platform.startswith("linux"):
        return False
    try:
        mallopt = ctypes.CDLL("libc.so.6").mallopt
    except (OSError, AttributeError):
        return False
    threshold, trim = -3, -1  # M_MMAP_THRESHOLD, M_TRIM_THRESHOLD
    return bool((mallopt(threshold, 1 << 30) or mallopt(threshold, 32 << 20)) and mallopt(trim, 2**31 - 1))


_ADVICE = {
    "training": "fewer threads (each trains a group of members), a smaller batch or smaller images",
    "predicting": "fewer threads (each looks at some images), smaller images or fewer images in one call",
}


@contextmanager
def enough_memory(doing: str) -> Iterator[None]:
    """Memory that runs out while "training" or "predicting" becomes a sentence."""
    try:
        yield
    except (RuntimeError, MemoryError) as error:
        said = str(error)
        if not isinstance(error, MemoryError) and not re.search("(out of|allocate|not enough) memory", said, re.I):
            raise
        raise TrainingError(
            f"memory ran out while {doing}. Try {_ADVICE[doing]}. "
            f"What was said: {said.splitlines()[0] if said else 'out of memory'}"
        ) from error


class StoppedError(Exception):
    """Work that ended early because other work failed or somebody pressed Ctrl-C; never seen by a caller."""


def side_by_side(
    work: Callable[[Item], Result], items: Iterable[Item], threads: int, stop: threading.Event | None = None
) -> list[Result]:
    """``[work(item) for item in items]``, each on one thread, several at a time.

    The first error, or Ctrl-C, ends the rest: what waits is not begun, and what runs is told by ``stop``.
    """
    todo = list(items)
    before = torch.get_num_threads()
    stop = stop or threading.Event()
    try:
        with ThreadPoolExecutor(min(threads, len(todo)), initializer=torch.set_num_threads, initargs=(1,)) as pool:
            futures = [pool.submit(work, item) for item in todo]
            try:
                wait(futures, return_when=FIRST_EXCEPTION)
                for future in futures:
                    if future.done() and not isinstance(future.exception(), StoppedError):
                        future.result()
            except BaseException:
                stop.set()
                pool.shutdown(wait=False, cancel_futures=True)
                raise
            return [future.result() for future in futures]
    finally:
        torch.set_num_threads(before)
