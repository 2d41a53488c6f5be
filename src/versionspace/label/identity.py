"""What browsers know a campaign by, kept in its folder: a tab that is still open goes on when the server is back."""

import hashlib
import json
import os
import secrets
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from versionspace.store.folder import write

FILE = ".label.json"


@dataclass(frozen=True)
class Identity:
    """The same at every start, wherever the folder was moved to."""

    token: str
    """Who has it may come in."""
    port: int
    """Of the last time; 0: there was none."""
    campaign: str
    """Under which browsers keep the answers that are not sent yet."""


def identity(folder: Path) -> Identity:
    """Of a campaign's folder; made and kept where there is none."""
    try:
        found = json.loads((folder / FILE).read_text(encoding="utf-8"))
        known = Identity(str(found["token"]), int(found["port"]), str(found.get("campaign") or ""))
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        known = Identity(secrets.token_urlsafe(24), 0, secrets.token_hex(8))
        return keep(folder, known)
    return known if known.campaign else keep(folder, replace(known, campaign=_before(folder)))


def keep(folder: Path, known: Identity) -> Identity:
    """Writes it, for its owner alone."""
    write(folder / FILE, json.dumps(asdict(known)).encode(), 0o600)
    return known


def _before(folder: Path) -> str:
    """By what earlier versions knew a campaign: the place that it lay at. Answers may still wait under it."""
    return hashlib.sha256(os.fsencode(folder.resolve())).hexdigest()[:16]
