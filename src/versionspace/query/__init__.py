"""Query methods on plain arrays: which images to label next."""

from versionspace.query.api import query, utilities
from versionspace.query.coverage import coverage_kernel
from versionspace.query.inputs import Problem
from versionspace.query.methods import METHODS, TABLE, Method, find, names, register
from versionspace.query.ranking import Chosen, Selection
from versionspace.query.stream import BestImages, Stream, merge_best

__all__ = [
    "METHODS",
    "TABLE",
    "BestImages",
    "Chosen",
    "Method",
    "Problem",
    "Selection",
    "Stream",
    "coverage_kernel",
    "find",
    "merge_best",
    "names",
    "query",
    "register",
    "utilities",
]

# `versionspace.query` is also a function, which hides this package as an attribute of `versionspace`. The function has
# the names of the package, so that `import versionspace.query.methods as methods` finds the module all the same.
query.__dict__.update({name: value for name, value in globals().items() if not name.startswith("_")})
