"""What each method asks for in its first query, as ``studies/NAME.json``.

All methods with the same seed share the first members, so their first queries can be compared image by image. Later
queries come from different members, whose weights are not kept.
"""

import json
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from studies.measurements import machine
from studies.values import HERE
from versionspace.campaign import load_learner, open_dataset, restore_images
from versionspace.store import Record, campaigns, read_campaign
from versionspace.types import Array

FIRST = 1
"""The round of the first ensemble."""


def collect(name: str, folders: Sequence[Path], command: str, commit: str) -> Path:
    """Write ``studies/NAME.json``: a row for each campaign with a query, and one for the whole pool of each seed."""
    records = [read_campaign(f) for folder in folders for f in campaigns(folder) if f.ledger.exists()]
    found = {
        "name": name, "date": time.strftime("%Y-%m-%d"), "commit": commit, "command": command, **machine(),
        "asked": [row for seed in sorted({r.seed for r in records})
                  for row in of_seed([r for r in records if r.seed == seed])],
    }  # fmt: skip
    head = json.dumps({k: v for k, v in found.items() if k != "asked"}, indent=1, ensure_ascii=False)
    rows = ",\n".join("  " + json.dumps(row) for row in found["asked"])
    path = HERE / f"{name}.json"
    path.write_text(f'{head[:-2]},\n "asked": [\n{rows}\n ]\n}}\n', encoding="utf-8")
    return path


def of_seed(records: Sequence[Record]) -> list[dict[str, Any]]:
    """Return the rows of campaigns with one seed, and so with one pool and one first ensemble."""
    first = records[0]
    images = restore_images(open_dataset(first.config), first.split())
    pool, truth = images.roles.pool, images.truth("pool")
    assert truth is not None
    votes = load_learner(first.config, first.folder.weights(FIRST)).votes(images.of("pool"))
    asked = {r.method: asked for r in records for x in r.rounds if x.number == FIRST and (asked := x.asked)}
    places = {
        "pool": np.arange(len(pool)),
        **{method: np.flatnonzero(np.isin(pool, ids)) for method, ids in asked.items()},
    }
    return [{"method": m, "seed": first.seed, **measures(votes[:, at], truth[at])} for m, at in places.items()]


def measures(votes_MK: Array, truth_K: Array) -> dict[str, float]:
    """Describe K images: agreement of the members, the share that the labels rule out, and the number of classes.

    >>> measures(np.array([[0, 1], [0, 2], [1, 2]]), np.array([1, 2]))
    {'together': 0.666667, 'right': 0.5, 'ruled_out': 0.5, 'answers': 2.0, 'classes': 2}
    """
    counts = np.stack([(votes_MK == c).sum(0) for c in range(int(max(votes_MK.max(), truth_K.max())) + 1)])
    return {
        "together": round(float(counts.max(0).mean() / len(votes_MK)), 6),
        "right": round(float((counts.argmax(0) == truth_K).mean()), 6),
        "ruled_out": round(float((votes_MK != truth_K).mean()), 6),
        "answers": round(float((counts > 0).sum(0).mean()), 6),
        "classes": len(np.unique(truth_K)),
    }
