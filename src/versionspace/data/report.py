"""What was found in a folder besides good images: nothing is dropped in silence."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Skipped:
    """A file that could not be used, and why."""

    file: str
    why: str


@dataclass(frozen=True)
class Duplicate:
    """One content under several names. The first name is used."""

    id: str
    files: tuple[str, ...]


@dataclass(frozen=True)
class Conflict:
    """One content under several classes. It counts as not labelled."""

    id: str
    files: tuple[str, ...]
    classes: tuple[str, ...]


@dataclass(frozen=True)
class Source:
    """Where the labels of a part come from, and all classes that it names."""

    part: str
    """"train", "validation" or "test"."""
    table: bool
    """A labels.csv; else the names of folders."""
    classes: tuple[str, ...]


@dataclass(frozen=True)
class Report:
    """What reading a folder came upon."""

    skipped: tuple[Skipped, ...] = ()
    duplicates: tuple[Duplicate, ...] = ()
    conflicts: tuple[Conflict, ...] = ()
    unknown: tuple[str, ...] = ()
    """Files that labels.csv names and that are not in the folder, or not with the content that it tells."""
    sources: tuple[Source, ...] = ()
    decoded: int = 0
    """Images decoded in this run; the others came from the cache."""

    def lines(self) -> list[str]:
        """The report in words, a line for each finding."""
        return [
            *(f"skipped {entry.file}: {entry.why}" for entry in self.skipped),
            *(f"duplicates: {', '.join(entry.files)} (the first is used)" for entry in self.duplicates),
            *(
                f"conflict: {', '.join(entry.files)} are the same image, labelled {' and '.join(entry.classes)} "
                "(counts as not labelled)"
                for entry in self.conflicts
            ),
            *(f"labels.csv names {file}, which is not in the folder as it was" for file in self.unknown),
        ]
