"""From folders of campaigns to a small JSON file: per round what tables and curves need; no weights, no pixels."""

import json
import os
import platform
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from versionspace.store import Round, campaigns, read

HERE = Path(__file__).parent
COLUMNS = (
    "labels", "accuracy", "vote_accuracy", "pwd", "gvd", "wrong_agreement", "gibbs_distance", "pool_accuracy",
    "pool_pwd", "pool_wrong_agreement", "fit", "consistent", "epochs", "fit_seconds", "all_seconds",
)  # fmt: skip
"""Of a round, on the test set where nothing else is said; shares and seconds."""


def collect(name: str, folders: Sequence[Path], command: str, commit: str) -> Path:
    """Writes ``studies/NAME.json``: every campaign that ended."""
    records = [read(f) for folder in folders for f in campaigns(folder) if f.ledger.exists()]
    ended = sorted((r for r in records if r.ended), key=lambda r: (r.method, r.seed))
    if not ended:
        raise SystemExit(f"none of {len(records)} campaigns has ended yet")
    config = ended[0].config.model_dump(mode="json", exclude={"machine", "grid", "seed"}, exclude_none=True)
    config["query"].pop("method")
    found = {
        "name": name,
        "date": time.strftime("%Y-%m-%d"),
        "commit": commit,
        "command": command,
        "machine": f"{os.cpu_count()} cores, {_processor()}, {platform.system()}, no GPU",
        "versions": ended[0].state.environment["versions"],
        "config": config,
        "columns": list(COLUMNS),
        "runs": [{"method": r.method, "seed": r.seed, "rounds": [_row(x) for x in r.measured()]} for r in ended],
    }
    path = HERE / f"{name}.json"
    path.write_text(_compact(found), encoding="utf-8")
    return path


def _row(found: Round) -> list[float | int | None]:
    metrics = found.metrics or {}
    test, pool = metrics["sets"].get("test", {}), metrics["sets"].get("pool", {})
    values: dict[str, Any] = {name: test.get(name) for name in COLUMNS if name in test}
    values |= {f"pool_{name}": pool.get(name) for name in ("accuracy", "pwd", "wrong_agreement")}
    values |= {name: metrics[name] for name in ("labels", "fit", "consistent", "epochs")}
    values |= {"fit_seconds": found.seconds.get("fit"), "all_seconds": sum(found.seconds.values())}
    return [_short(values.get(name)) for name in COLUMNS]


def _short(value: float | int | None) -> float | int | None:
    return round(value, 6) if isinstance(value, float) else value


def _compact(found: dict[str, Any]) -> str:
    """A line a round: readable, and small differences in version control."""
    head = json.dumps({k: v for k, v in found.items() if k != "runs"}, indent=1, ensure_ascii=False)
    runs = []
    for run in found["runs"]:
        rounds = ",\n".join("   " + json.dumps(row) for row in run["rounds"])
        runs.append(f'  {{"method": {json.dumps(run["method"])}, "seed": {run["seed"]}, "rounds": [\n{rounds}]}}')
    return head[:-2] + ',\n "runs": [\n' + ",\n".join(runs) + "\n ]\n}\n"


def _processor() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()


def commit_of(folder: Path) -> str:
    """The commit of a checkout."""
    done = subprocess.run(
        ["git", "rev-parse", "--short=10", "HEAD"], cwd=folder, capture_output=True, text=True, check=True
    )
    return done.stdout.strip()
