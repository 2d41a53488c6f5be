"""Every error that versionspace raises on purpose.

    VersionspaceError
    ├── TrainingError                      a member's loss is not finite, or memory ran out
    └── ExplainedError                     says what was expected, what arrived and what to do
        ├── InputError (also a ValueError)     what was given cannot be used
        ├── MissingPackageError (also an ImportError)   an optional package is not installed
        ├── DataError                          a dataset or a folder of images (versionspace.data.errors)
        │   ├── ChecksumError                      a file is not the published one
        │   ├── FormatError                        a file is not in its format, or cut short
        │   └── SourceError                        no source could give the dataset
        ├── StoreError                         a campaign's folder cannot be read or written (versionspace.store.errors)
        │   └── LockedError                        another process has it
        └── ReportError                        a report cannot be made there (versionspace.report.errors)

A message says what was expected, what arrived and what to do next.
"""


class VersionspaceError(Exception):
    """The root of all errors that versionspace raises on purpose."""


class ExplainedError(VersionspaceError):
    """An error that names what is wrong, and says what was expected, what arrived and what to do."""

    def __init__(self, name: str, *, expected: str, got: str, fix: str) -> None:
        super().__init__(f"{name}: expected {expected}, got {got}. {fix}")
        self.name = name
        self.expected = expected
        self.got = got
        self.fix = fix

    def __reduce__(self) -> tuple[object, ...]:
        """Errors cross to other processes, where pools of workers hang on one that cannot be made again."""
        return _again, (type(self), self.name, self.expected, self.got, self.fix), self.__dict__


def _again(kind: type[ExplainedError], name: str, expected: str, got: str, fix: str) -> ExplainedError:
    error = kind.__new__(kind)
    ExplainedError.__init__(error, name, expected=expected, got=got, fix=fix)
    return error


class InputError(ExplainedError, ValueError):
    """An argument that cannot be used.

    >>> raise InputError("k", expected="1 to 100", got="101", fix="Ask for fewer images.")
    Traceback (most recent call last):
    versionspace.errors.InputError: k: expected 1 to 100, got 101. Ask for fewer images.
    """


class MissingPackageError(ExplainedError, ImportError):
    """An optional package is not installed; the message names the extra that installs it."""

    name: str
    """The package."""


class TrainingError(VersionspaceError):
    """A member could not be trained: says which, at which epoch, and what to try.

    >>> raise TrainingError("member 3, epoch 7: expected a finite training loss, got nan. Try a lower rate.")
    Traceback (most recent call last):
    versionspace.errors.TrainingError: member 3, epoch 7: expected a finite training loss, got nan. Try a lower rate.
    """
