"""Folders of images as datasets: `read_folder`."""

from versionspace.data.folder.reader import read_folder

__all__ = ["read_folder"]
