"""Folders of images: ``folder.read(path)``."""

from versionspace.data.folder.reader import read

__all__ = ["read"]
