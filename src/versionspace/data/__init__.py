"""Datasets of images whose ids never change: named datasets, image folders, splits and label tables.

>>> from versionspace import data
>>> digits = data.load("digits")
>>> cut = data.split(digits, seed=0)
>>> digits.train.take(cut.initial).images.shape
(10, 8, 8, 1)
"""

from versionspace.data.cache import CACHE_VARIABLE, cache_folder
from versionspace.data.catalogue import DATASETS
from versionspace.data.dataset import (
    Conflict,
    Dataset,
    Duplicate,
    FolderReport,
    ImageView,
    LabelSource,
    Skipped,
    Subset,
)
from versionspace.data.errors import ChecksumError, DataError, FormatError, SourceError
from versionspace.data.folder import read_folder
from versionspace.data.folder.decode import (
    MAX_BYTES,
    MAX_PIXELS,
    Fit,
    Frame,
    UnreadableError,
    decode,
    decoding,
    frame,
    orientation,
)
from versionspace.data.folder.scan import image_files, is_folder
from versionspace.data.label_table import (
    COLUMNS,
    LabelRow,
    format_label_table,
    read_label_table,
    safe_cell,
)
from versionspace.data.loader import DatasetInfo, fetch, info, load
from versionspace.data.progress import Advance, progress_bar
from versionspace.data.splits import SPLIT_SIZES, Split, SplitSizes, draw, split

__all__ = [
    "CACHE_VARIABLE",
    "COLUMNS",
    "DATASETS",
    "MAX_BYTES",
    "MAX_PIXELS",
    "SPLIT_SIZES",
    "Advance",
    "ChecksumError",
    "Conflict",
    "DataError",
    "Dataset",
    "DatasetInfo",
    "Duplicate",
    "Fit",
    "FolderReport",
    "FormatError",
    "Frame",
    "ImageView",
    "LabelRow",
    "LabelSource",
    "Skipped",
    "SourceError",
    "Split",
    "SplitSizes",
    "Subset",
    "UnreadableError",
    "cache_folder",
    "decode",
    "decoding",
    "draw",
    "fetch",
    "format_label_table",
    "frame",
    "image_files",
    "info",
    "is_folder",
    "load",
    "orientation",
    "progress_bar",
    "read_folder",
    "read_label_table",
    "safe_cell",
    "split",
]
