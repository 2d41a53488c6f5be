"""A campaign on disk: a folder with a config, a ledger of events, and the members' votes and weights.

campaign.toml           the settings
ledger.sqlite           what happened: labels, rounds, metrics; only appended to
split.npz               ids of pool, validation, test, first labels, reference and audit; names of files
votes/round-0001.npz    the members' votes on the test set, and the vote on the reference
weights/round-0001/     the members of the first and the last round
"""

from versionspace.store.atomic import (
    read_arrays,
    reject_folder,
    write_arrays,
    write_file,
    write_folder,
)
from versionspace.store.backup import backup
from versionspace.store.class_list import ClassEdit, ClassList, ClassNote, plain_name, reordered
from versionspace.store.errors import LockedError, StoreError, as_store_errors, disk_full
from versionspace.store.events import Answered, Event, Proposed, as_ids, canonical_json
from versionspace.store.layout import (
    CONFIG,
    FILE_NAMES,
    GRID,
    SHARED,
    SPLIT_SETS,
    CampaignFolder,
    StoredNames,
    campaigns,
    is_campaign,
    pack_names,
    read_stored_config,
    unpack_names,
)
from versionspace.store.ledger import Ledger
from versionspace.store.lock import Lock
from versionspace.store.metrics import FIT_THRESHOLD, HEADLINE_SETS, AuditMetrics, FinalModel, RoundMetrics, SetMetrics
from versionspace.store.parcel import Parcel, Stamps, pack, unpack
from versionspace.store.record import Record, Round, read_campaign
from versionspace.store.state import ALL_PURPOSES, TRAINING_PURPOSES, UNDONE, Ask, Label, State, replay
from versionspace.store.verify import verify

__all__ = [
    "ALL_PURPOSES",
    "CONFIG",
    "FILE_NAMES",
    "FIT_THRESHOLD",
    "GRID",
    "HEADLINE_SETS",
    "SHARED",
    "SPLIT_SETS",
    "TRAINING_PURPOSES",
    "UNDONE",
    "Answered",
    "Ask",
    "AuditMetrics",
    "CampaignFolder",
    "ClassEdit",
    "ClassList",
    "ClassNote",
    "Event",
    "FinalModel",
    "Label",
    "Ledger",
    "Lock",
    "LockedError",
    "Parcel",
    "Proposed",
    "Record",
    "Round",
    "RoundMetrics",
    "SetMetrics",
    "Stamps",
    "State",
    "StoreError",
    "StoredNames",
    "as_ids",
    "as_store_errors",
    "backup",
    "campaigns",
    "canonical_json",
    "disk_full",
    "is_campaign",
    "pack",
    "pack_names",
    "plain_name",
    "read_arrays",
    "read_campaign",
    "read_stored_config",
    "reject_folder",
    "reordered",
    "replay",
    "unpack",
    "unpack_names",
    "verify",
    "write_arrays",
    "write_file",
    "write_folder",
]
