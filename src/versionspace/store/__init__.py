"""A campaign on disk: a folder with a config, a ledger of events, and the members' votes and weights.

campaign.toml           what is to be done
ledger.sqlite           what happened: labels, rounds, metrics; only ever appended to
split.npz               ids of pool, validation, test, first labels, reference and audit; names of files
votes/round-0001.npz    the members' votes on the test set, the vote's on the reference
weights/round-0001/     the members, of the first and last round
"""

from versionspace.store.backup import backup
from versionspace.store.errors import LockedError, StoreError
from versionspace.store.layout import Folder, Lock, campaigns, is_campaign
from versionspace.store.ledger import Event, Ledger
from versionspace.store.record import Record, Round, read
from versionspace.store.state import Ask, State, replay
from versionspace.store.verify import verify

__all__ = [
    "Ask",
    "Event",
    "Folder",
    "Ledger",
    "Lock",
    "LockedError",
    "Record",
    "Round",
    "State",
    "StoreError",
    "backup",
    "campaigns",
    "is_campaign",
    "read",
    "replay",
    "verify",
]
