"""A process that imports everything heavy once and forks one run after another, so that kills hit runs, not imports.

Reads lines ``TOML OUT MOMENT``. Prints the process id of each run, which leads its own session, then the number of its
writes unless it was killed, then its exit code. A moment above 0 is the number of the write at which the run kills
itself: a rename, a sync or a transaction.
"""

import os
import signal
import sys
from pathlib import Path

import versionspace.campaign.worker  # noqa: F401 — imports torch before the fork
from versionspace.campaign.grid import run
from versionspace.data import load
from versionspace.store import Ledger

writes = []


def counted(real, moment):
    def wrapped(*args, **kwargs):
        writes.append(real.__name__)
        if len(writes) == moment:
            os.kill(os.getpid(), signal.SIGKILL)
        return real(*args, **kwargs)

    return wrapped


def forked(toml, out, moment):
    os.setsid()
    for owner, name in ((Path, "replace"), (Path, "rename"), (os, "fsync"), (Ledger, "append")):
        setattr(owner, name, counted(getattr(owner, name), moment))
    made = run(toml, methods=["gvd", "random"], seeds=[0], out=out, progress=False)
    print(len(writes), flush=True)
    os._exit(1 if made.failed else 0)


def main():
    load("digits")
    for line in sys.stdin:
        toml, out, moment = line.split()
        pid = os.fork()
        if pid == 0:
            forked(toml, out, int(moment))
        print(pid, flush=True)
        _, status = os.waitpid(pid, 0)
        print(f"ended {os.waitstatus_to_exitcode(status)}", flush=True)


if __name__ == "__main__":
    main()
