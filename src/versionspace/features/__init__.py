"""Features of images from frozen pretrained networks, computed once and cached.

Importing this package does not import torch.
"""

import importlib
from typing import TYPE_CHECKING, Any

from versionspace.features.cache import CacheLocation
from versionspace.features.extractor import (
    DEFAULT_EXTRACTOR,
    EXTRACTORS,
    SCHEMES,
    FeatureExtractor,
    absolute_name,
    available,
    find_maker,
    make_extractor,
)
from versionspace.features.store import FeatureStore

if TYPE_CHECKING:
    from versionspace.features.extract import CachedExtractor, storage_name
    from versionspace.features.folder import FolderFeatures, extract_folder
    from versionspace.features.shards import Shard, ShardFeatures, extract_shard, read_image

__all__ = [
    "DEFAULT_EXTRACTOR",
    "EXTRACTORS",
    "SCHEMES",
    "CacheLocation",
    "CachedExtractor",
    "FeatureExtractor",
    "FeatureStore",
    "FolderFeatures",
    "Shard",
    "ShardFeatures",
    "absolute_name",
    "available",
    "extract_folder",
    "extract_shard",
    "find_maker",
    "make_extractor",
    "read_image",
    "storage_name",
]


_LAZY = {
    "CachedExtractor": "extract", "storage_name": "extract", "FolderFeatures": "folder", "extract_folder": "folder",
    "Shard": "shards", "ShardFeatures": "shards", "extract_shard": "shards", "read_image": "shards",
}  # fmt: skip


def __getattr__(name: str) -> Any:
    """Import what requires torch on first use."""
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"versionspace.features.{_LAZY[name]}"), name)
