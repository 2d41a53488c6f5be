"""The shape of a catalogue entry: files, editions, sources.

An *edition* is a set of files from which a dataset can be read. A *source* delivers the files of one edition.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from versionspace.data.formats.whole import Reader


@dataclass(frozen=True)
class File:
    """A file and its known checksums, by the suffix of the form it comes in; the published form first."""

    name: str
    sums: Mapping[str, tuple[str, ...]]

    @property
    def published(self) -> str:
        """The name under which the authors publish it."""
        return self.name + next(iter(self.sums))


@dataclass(frozen=True)
class Edition:
    """Files that together are the dataset, loose or in one archive."""

    files: tuple[File, ...]
    read: Reader
    archive: File | None = None
    folder: str = ""
    """The sub-folder in which the files lie once the archive is unpacked."""


@dataclass(frozen=True)
class Address:
    """A public address under which the published files lie."""

    base: str
    edition: str


@dataclass(frozen=True)
class Npm:
    """A package of npm, by name and version, and the folder in it."""

    package: str
    version: str
    folder: str
    edition: str


@dataclass(frozen=True)
class Apt:
    """A package of Debian and its descendants, and the folder in it."""

    package: str
    folder: str
    edition: str


Source = Address | Npm | Apt


@dataclass(frozen=True)
class Spec:
    """A dataset that has a name."""

    name: str
    title: str
    classes: tuple[str, ...]
    shape: tuple[int, int, int]
    """Height, width, channels."""
    train: int
    test: int
    terms: str
    """Licence, or what is known of it."""
    home: str
    editions: Mapping[str, Edition]
    sources: tuple[Source, ...]
