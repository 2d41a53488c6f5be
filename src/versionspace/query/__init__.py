"""Query methods on plain arrays: which images to ask for next."""

from versionspace.query.api import query, utilities
from versionspace.query.methods import METHODS
from versionspace.query.stream import Stream

__all__ = ["METHODS", "Stream", "query", "utilities"]
