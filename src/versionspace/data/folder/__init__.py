"""Folders of images: ``folder.read_folder(path)``."""

from versionspace.data.folder.reader import read_folder

__all__ = ["read_folder"]
