"""Query methods on plain arrays: which images to label next."""

from versionspace.query.api import query, utilities
from versionspace.query.inputs import Problem
from versionspace.query.methods import METHODS, TABLE, Method, find, names, register
from versionspace.query.ranking import Selection
from versionspace.query.stream import Stream

__all__ = [
    "METHODS",
    "TABLE",
    "Method",
    "Problem",
    "Selection",
    "Stream",
    "find",
    "names",
    "query",
    "register",
    "utilities",
]
