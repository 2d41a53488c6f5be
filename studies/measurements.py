"""Measurements of finished campaigns as a small JSON file: what tables and curves need of each round."""

import json
import os
import platform
import subprocess
import time
from collections.abc import Mapping, Sequence
from importlib import metadata
from pathlib import Path
from typing import Any

from versionspace.campaign import ARITHMETIC
from versionspace.runtime import arithmetic, pick_device, processor
from versionspace.store import Record, Round, campaigns, read_campaign

HERE = Path(__file__).parent
COLUMNS = (
    "labels", "accuracy", "vote_accuracy", "pwd", "gvd", "wrong_agreement", "gibbs_distance", "pool_accuracy",
    "pool_pwd", "pool_wrong_agreement", "fit", "consistent", "epochs", "fit_seconds", "all_seconds",
)  # fmt: skip
"""Of a round, as shares and seconds; on the test set unless the name says otherwise."""

WHERE = ("commit", "machine")
"""Keys of a campaign that was run at another commit or on another machine than the rest of its study."""


def collect(
    name: str, folders: Sequence[Path] | Mapping[str, Path], command: str, commit: str, *, add: bool = False
) -> Path:
    """Write every finished campaign of the folders to ``studies/NAME.json`` and return its path.

    A mapping of folders holds variants of one study: only methods and seeds that finished in all of them are kept.
    With ``add`` the campaigns are added to the file, which may come from another commit or machine; campaigns that it
    already holds stay unchanged.
    """
    variants = folders if isinstance(folders, Mapping) else {"": folders}
    ended = [
        (variant, record)
        for variant, given in variants.items()
        for record in _ended([given] if isinstance(given, Path) else given)
    ]
    everywhere = set.intersection(*({(r.method, r.seed) for v, r in ended if v == variant} for variant in variants))
    if isinstance(folders, Mapping):
        ended = [(variant, r) for variant, r in ended if (r.method, r.seed) in everywhere]
    if not ended:
        raise SystemExit(f"no campaign has finished in {', '.join(str(f) for f in variants.values())}")
    for _, record in ended:
        _reject_other_machine(record)
    first = ended[0][1].config
    config = first.model_dump(mode="json", exclude={"machine", "grid", "seed"}, exclude_none=True)
    config["query"].pop("method")
    found = {
        "name": name,
        "date": time.strftime("%Y-%m-%d"),
        "commit": commit,
        "command": command,
        **machine(),
        "versions": ended[0][1].state.environment["versions"],
        "config": config,
        "columns": list(COLUMNS),
        "runs": [
            {"variant": variant, "method": r.method, "seed": r.seed, "rounds": [_row(x) for x in r.measured_rounds()]}
            for variant, r in ended
        ],
    }
    path = HERE / f"{name}.json"
    path.write_text(_compact(_added(json.loads(path.read_text("utf-8")), found) if add else found), encoding="utf-8")
    return path


def _added(held: dict[str, Any], new: dict[str, Any]) -> dict[str, Any]:
    """Add the missing campaigns to a study; mark them if they were run at another commit or on another machine."""
    if held["config"] != new["config"]:
        raise SystemExit(f"{new['name']}.json has a different config: {held['config']}, not {new['config']}")
    here = {key: new[key] for key in WHERE if new[key] != held[key]}
    there = {_key(run) for run in held["runs"]}
    runs = held["runs"] + [run | here for run in new["runs"] if _key(run) not in there]
    return held | {"date": new["date"], "command": new["command"], "runs": sorted(runs, key=_key)}


def _key(run: Mapping[str, Any]) -> tuple[str, str, int]:
    return run.get("variant", ""), run["method"], run["seed"]


def _reject_other_machine(record: Record) -> None:
    """Reject a campaign of another machine: the file describes the machine that collects."""
    then, now = record.state.environment.get(ARITHMETIC), arithmetic(pick_device("cpu"))
    if then is not None and then != now:
        raise SystemExit(f"{record.folder.path} was run on {then}, not here ({now}): collect it there")


def _ended(folders: Sequence[Path]) -> list[Record]:
    records = [read_campaign(f) for folder in folders for f in campaigns(folder) if f.ledger.exists()]
    return sorted((r for r in records if r.ended), key=lambda r: (r.method, r.seed))


def _row(found: Round) -> list[float | int | None]:
    metrics = found.metrics
    assert metrics is not None
    test, pool = (metrics.sets[name].to_body() if name in metrics.sets else {} for name in ("test", "pool"))
    values: dict[str, Any] = {name: test.get(name) for name in COLUMNS if name in test}
    values |= {f"pool_{name}": pool.get(name) for name in ("accuracy", "pwd", "wrong_agreement")}
    values |= {name: getattr(metrics, name) for name in ("labels", "fit", "consistent", "epochs")}
    values |= {"fit_seconds": found.seconds.get("fit"), "all_seconds": sum(found.seconds.values())}
    return [_short(values.get(name)) for name in COLUMNS]


def _short(value: float | int | None) -> float | int | None:
    return round(value, 6) if isinstance(value, float) else value


def _compact(found: dict[str, Any]) -> str:
    """Return JSON with one line per round: readable, and with small diffs in version control."""
    head = json.dumps({k: v for k, v in found.items() if k != "runs"}, indent=1, ensure_ascii=False)
    runs = []
    for run in found["runs"]:
        rounds = ",\n".join("   " + json.dumps(row) for row in run["rounds"])
        which = json.dumps({key: run[key] for key in ("variant", "method", "seed", *WHERE) if run.get(key, "") != ""})
        runs.append(f'  {which[:-1]}, "rounds": [\n{rounds}]}}')
    return head[:-2] + ',\n "runs": [\n' + ",\n".join(runs) + "\n ]\n}\n"


def machine() -> dict[str, Any]:
    """Describe this machine and the installed versions."""
    versions = {name: metadata.version(name) for name in ("numpy", "torch", "versionspace")}
    return {"machine": f"{os.cpu_count()} cores, {processor()}, {platform.system()}, no GPU", "versions": versions}


def commit_of(folder: Path, name: str = "HEAD") -> str:
    """Return the hash of a commit of a checkout, abbreviated to ten digits."""
    done = subprocess.run(
        ["git", "rev-parse", "--short=10", name], cwd=folder, capture_output=True, text=True, check=True
    )
    return done.stdout.strip()
