"""Images with labels and ids that never change: datasets by name, folders of images, and how they are cut.

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
from versionspace.data.loader import Info, fetch, info, load
from versionspace.data.splits import SIZES, Sizes, Split, draw, split

__all__ = [
    "DATASETS",
    "SIZES",
    "ChecksumError",
    "Conflict",
    "DataError",
    "Dataset",
    "Duplicate",
    "FolderReport",
    "FormatError",
    "Info",
    "Sizes",
    "Skipped",
    "SourceError",
    "Split",
    "Subset",
    "draw",
    "fetch",
    "info",
    "load",
    "read_folder",
    "split",
]
