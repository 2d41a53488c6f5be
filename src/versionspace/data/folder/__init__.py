"""Folders of images: ``folder.read(path)``."""

from versionspace.data.folder.reading import read

__all__ = ["read"]
