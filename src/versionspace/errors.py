"""The errors that versionspace raises deliberately.

VersionspaceError
├── TrainingError                  a member's loss is not finite, or memory ran out
└── ExplainedError                 states what was expected, what arrived and how to fix it
    ├── InputError                     an argument is invalid (also a ValueError)
    ├── MissingPackageError            an optional package is not installed (also an ImportError)
    ├── DataError                      a dataset or a folder of images is unusable (versionspace.data.errors)
    │   ├── ChecksumError                  a file differs from the published one
    │   ├── FormatError                    a file is truncated or not in the expected format
    │   └── SourceError                    no source provides the dataset
    ├── StoreError                     a campaign folder cannot be read or written (versionspace.store.errors)
    │   └── LockedError                    another process uses it
    └── ReportError                    a report cannot be written (versionspace.report.errors)

`TieWarning` is the one warning: all images of a query have the same utility, and the seed chose.
"""


class VersionspaceError(Exception):
    """The base class of all errors that versionspace raises deliberately."""


class ExplainedError(VersionspaceError):
    """An error that names its subject, and states what was expected, what arrived and how to fix it."""

    def __init__(self, name: str, *, expected: str, got: str, fix: str) -> None:
        super().__init__(f"{name}: expected {expected}, got {got}. {fix}")
        self.name = name
        self.expected = expected
        self.got = got
        self.fix = fix

    def __reduce__(self) -> tuple[object, ...]:
        """Make the error picklable: a process pool hangs if a worker raises an error that cannot be unpickled."""
        return _rebuild, (type(self), self.name, self.expected, self.got, self.fix), self.__dict__


def _rebuild(kind: type[ExplainedError], name: str, expected: str, got: str, fix: str) -> ExplainedError:
    error = kind.__new__(kind)
    ExplainedError.__init__(error, name, expected=expected, got=got, fix=fix)
    return error


class InputError(ExplainedError, ValueError):
    """An argument is invalid.

    >>> raise InputError("k", expected="1 to 100", got="101", fix="Ask for fewer images.")
    Traceback (most recent call last):
    versionspace.errors.InputError: k: expected 1 to 100, got 101. Ask for fewer images.
    """


class TieWarning(UserWarning):
    """All chosen images were drawn by lot, among more images of equal utility than were asked for.

    >>> import warnings
    >>> warnings.simplefilter("ignore", TieWarning)  # or pass return_record=True, which says the same without a warning
    """


class MissingPackageError(ExplainedError, ImportError):
    """An optional package is not installed; the message names the extra that installs it."""

    name: str
    """The package."""


class TrainingError(VersionspaceError):
    """A member cannot be trained; the message names the member and the epoch, and suggests what to try.

    >>> raise TrainingError("member 3, epoch 7: expected a finite training loss, got nan. Try a lower rate.")
    Traceback (most recent call last):
    versionspace.errors.TrainingError: member 3, epoch 7: expected a finite training loss, got nan. Try a lower rate.
    """
