"""Datasets whose ids never change: named datasets, image folders, features files, splits and label tables.

>>> from versionspace import data
>>> digits = data.load("digits")
>>> cut = data.split(digits, seed=0)
>>> digits.train.take(cut.initial).images.shape
(10, 8, 8, 1)
"""

from versionspace.data.cache import CACHE_VARIABLE, cache_folder, explaining_write_errors, file_backed
from versionspace.data.catalogue import DATASETS
from versionspace.data.dataset import (
    Conflict,
    Dataset,
    Duplicate,
    FolderReport,
    LabelSource,
    Skipped,
    Subset,
)
from versionspace.data.errors import ChecksumError, DataError, FormatError, SourceError
from versionspace.data.features_file import FeatureTable, is_features_file, read_features
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
    image_formats,
    orientation,
)
from versionspace.data.folder.folder_images import FolderImages
from versionspace.data.folder.scan import LEADS_OUT, image_files, is_folder
from versionspace.data.label_table import (
    COLUMNS,
    LabelRow,
    format_label_table,
    read_label_table,
    safe_cell,
)
from versionspace.data.loader import DatasetInfo, fetch, info, load
from versionspace.data.paired_features import pair_with_features, without_features_message
from versionspace.data.progress import PROGRESS_LOG, Advance, progress_bar, progress_text
from versionspace.data.splits import SPLIT_SIZES, Split, SplitSizes, draw, split
from versionspace.views import ExtractedFeatures, ImageView

__all__ = [
    "CACHE_VARIABLE",
    "COLUMNS",
    "DATASETS",
    "LEADS_OUT",
    "MAX_BYTES",
    "MAX_PIXELS",
    "PROGRESS_LOG",
    "SPLIT_SIZES",
    "Advance",
    "ChecksumError",
    "Conflict",
    "DataError",
    "Dataset",
    "DatasetInfo",
    "Duplicate",
    "ExtractedFeatures",
    "FeatureTable",
    "Fit",
    "FolderImages",
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
    "explaining_write_errors",
    "fetch",
    "file_backed",
    "format_label_table",
    "frame",
    "image_files",
    "image_formats",
    "info",
    "is_features_file",
    "is_folder",
    "load",
    "orientation",
    "pair_with_features",
    "progress_bar",
    "progress_text",
    "read_features",
    "read_folder",
    "read_label_table",
    "safe_cell",
    "split",
    "without_features_message",
]
