"""Datasets of images whose ids never change: named datasets, image folders and splits.

>>> from versionspace import data
>>> digits = data.load("digits")
>>> cut = data.split(digits, seed=0)
>>> digits.train.take(cut.initial).images.shape
(10, 8, 8, 1)
"""

from versionspace.data.catalogue import DATASETS
from versionspace.data.dataset import Conflict, Dataset, Duplicate, FolderReport, Skipped, Subset
from versionspace.data.errors import ChecksumError, DataError, FormatError, SourceError
from versionspace.data.folder import read_folder
from versionspace.data.loader import DatasetInfo, fetch, info, load
from versionspace.data.splits import SPLIT_SIZES, Split, SplitSizes, draw, split

__all__ = [
    "DATASETS",
    "SPLIT_SIZES",
    "ChecksumError",
    "Conflict",
    "DataError",
    "Dataset",
    "DatasetInfo",
    "Duplicate",
    "FolderReport",
    "FormatError",
    "Skipped",
    "SourceError",
    "Split",
    "SplitSizes",
    "Subset",
    "draw",
    "fetch",
    "info",
    "load",
    "read_folder",
    "split",
]
