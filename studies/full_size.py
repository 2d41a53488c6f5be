"""The paper's experiments at full size with few epochs: measured time and memory next to the estimates of `plan`.

    python -m studies.full_size [PRESET…]        # writes studies/full-size.json

Each preset keeps its pool, its test set and its 20 members. The budget is reduced to one query and the number of epochs
to ten. `plan` gets the same settings, so that it need not guess when members stop.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from studies.measurements import HERE, commit_of, machine
from versionspace.campaign import plan
from versionspace.config import read_config
from versionspace.store import read_campaign

PRESETS = ("paper/mnist", "paper/fashion-mnist", "paper/svhn")
METHOD = "gvd"
EPOCHS = 10
ROUNDS = 2


def changes(preset: str) -> list[str]:
    """Return the changes to a preset: a first fit, one query and a second fit."""
    found = read_config(preset)
    assert found.data.initial is not None
    return [f"budget.total={found.data.initial + (ROUNDS - 1) * found.query.size}", f"training.epochs={EPOCHS}"]


def predicted(preset: str) -> dict[str, float]:
    """Run `plan` in a process of its own: its estimate of memory starts from what its process has used."""
    command = [sys.executable, "-m", "studies.full_size", "plan", preset]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    found = json.loads(done.stdout.splitlines()[-1])
    return {name: found[name] for name in ("seconds", "memory", "disk")}


def measured(preset: str) -> dict[str, Any]:
    """Run a preset; return its seconds, peak memory, disk space and the seconds of each stage."""
    with tempfile.TemporaryDirectory() as place:
        out = Path(place) / "run"
        sets = [word for change in changes(preset) for word in ("--set", change)]
        command = ["versionspace.cli", "run", preset, "--methods", METHOD, "--seeds", "0", "--jobs", "1"]
        began = time.perf_counter()
        process = subprocess.Popen(
            [sys.executable, "-m", *command, *sets, "--out", str(out)], stdout=subprocess.DEVNULL
        )
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - began
        if status:
            raise SystemExit(f"{preset} failed with status {status}")
        stages = [dict(r.seconds) for r in read_campaign(out / METHOD / "0").measured_rounds()]
        disk = sum(path.stat().st_size for path in out.rglob("*") if path.is_file())
        return {"seconds": seconds, "memory": usage.ru_maxrss * 1024, "disk": disk, "stages": stages}


def main(presets: Sequence[str]) -> None:
    """Measure the presets one after another; rows of other presets stay as they are."""
    path = HERE / "full-size.json"
    before = json.loads(path.read_text(encoding="utf-8"))["rows"] if path.exists() else []
    rows = {row["preset"]: row for row in before}
    for preset in presets:
        config = read_config(preset, changes(preset))
        rows[preset] = {
            "preset": preset, "pool": config.data.pool, "members": config.ensemble.members, "epochs": EPOCHS,
            "labels": config.budget.total, "plan": predicted(preset), "run": measured(preset),
        }  # fmt: skip
        found = {
            "name": "full-size", "date": time.strftime("%Y-%m-%d"), "commit": commit_of(HERE), **machine(),
            "command": "python -m studies.full_size", "rows": [rows[p] for p in PRESETS if p in rows],
        }  # fmt: skip
        path.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["plan", preset]:
            print(json.dumps(asdict(plan(read_config(preset, changes(preset)), [METHOD], [0]))))
        case presets:
            main(presets or PRESETS)
