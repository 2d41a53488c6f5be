"""Features of images from frozen pretrained networks, computed once and cached.

Importing this package does not import torch.
"""

import importlib
from typing import TYPE_CHECKING, Any

from versionspace.features.cache import CacheLocation
from versionspace.features.extractor import (
    DEFAULT_EXTRACTOR,
    EXTRACTORS,
    FeatureExtractor,
    available,
    make_extractor,
)

if TYPE_CHECKING:
    from versionspace.features.extract import CachedExtractor

__all__ = [
    "DEFAULT_EXTRACTOR",
    "EXTRACTORS",
    "CacheLocation",
    "CachedExtractor",
    "FeatureExtractor",
    "available",
    "make_extractor",
]


_LAZY = {"CachedExtractor": "extract"}


def __getattr__(name: str) -> Any:
    """Import what requires torch on first use."""
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"versionspace.features.{_LAZY[name]}"), name)
