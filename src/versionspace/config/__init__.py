"""The settings of campaigns: TOML files and presets, validated when they are read.

>>> read_config("demo").data.name
'digits'
"""

from versionspace.config.differences import PATHS, VOTE, differences, first_ensemble_settings, flat_settings
from versionspace.config.model import (
    BudgetConfig,
    ColdStartConfig,
    Config,
    DataConfig,
    EnsembleConfig,
    GridConfig,
    MachineConfig,
    MeasureConfig,
    OracleConfig,
    QueryConfig,
    StopConfig,
)
from versionspace.config.policy import Policy, answered_by_person
from versionspace.config.toml import (
    PRESETS,
    as_input_errors,
    parse_config,
    preset_text,
    read_config,
    to_toml,
    validate_config,
    with_changes,
)

__all__ = [
    "PATHS",
    "PRESETS",
    "VOTE",
    "BudgetConfig",
    "ColdStartConfig",
    "Config",
    "DataConfig",
    "EnsembleConfig",
    "GridConfig",
    "MachineConfig",
    "MeasureConfig",
    "OracleConfig",
    "Policy",
    "QueryConfig",
    "StopConfig",
    "answered_by_person",
    "as_input_errors",
    "differences",
    "first_ensemble_settings",
    "flat_settings",
    "parse_config",
    "preset_text",
    "read_config",
    "to_toml",
    "validate_config",
    "with_changes",
]
