"""The files that a ledger names. Weights of rounds between the first and the last are named too, but not kept."""

from pathlib import Path

from versionspace.config import Config
from versionspace.store.folder import Folder
from versionspace.store.replay import State


def named(folder: Folder, config: Config, state: State) -> dict[Path, str]:
    """The files that must be there after these events, and their SHA-256."""
    out = {} if state.split is None else {folder.split: str(state.split["sha256"])}
    ends = {min(state.measured, default=0), max(state.measured, default=0)}
    for round_, event in state.measured.items():
        out[folder.votes(round_)] = event.body["votes_sha256"]
        if config.keep == "all" or round_ in ends:
            weights = event.body.get("weights_sha256", {})
            out |= {folder.weights(round_) / name: sha256 for name, sha256 in weights.items()}
    return out
