"""What a campaign is to do: TOML in, checked, unknown keys refused; and the presets.

>>> read("demo").data.name
'digits'
"""

from versionspace.config.differences import VOTE, differences, same_start, settings
from versionspace.config.model import (
    Budget,
    ColdStart,
    Config,
    Data,
    EnsembleConfig,
    Grid,
    Machine,
    Measure,
    Oracle,
    Query,
    Stop,
)
from versionspace.config.policy import Policy, answered_by_person
from versionspace.config.toml import PRESETS, changed, preset_text, read, read_text, sentences, written

__all__ = [
    "PRESETS",
    "VOTE",
    "Budget",
    "ColdStart",
    "Config",
    "Data",
    "EnsembleConfig",
    "Grid",
    "Machine",
    "Measure",
    "Oracle",
    "Policy",
    "Query",
    "Stop",
    "answered_by_person",
    "changed",
    "differences",
    "preset_text",
    "read",
    "read_text",
    "same_start",
    "sentences",
    "settings",
    "written",
]
