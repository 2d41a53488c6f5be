"""What follows from who answers: a dataset's own labels, or a person.

A campaign with known labels is an experiment: the same config must end with bitwise the same result, whenever and
however often it is resumed. A campaign that a person labels is work in progress: it has to continue on another machine,
with files missing and labels corrected.
"""

from dataclasses import dataclass

from versionspace.config.model import Config


@dataclass(frozen=True)
class Policy:
    """The rules of a campaign that depend on who answers."""

    reproducible: bool
    """Results are bitwise reproducible: on resume, changed settings, labels, versions or CPU are rejected."""
    allow_missing: bool
    """Images that are missing from the folder, or have changed, are left out until they are back; else rejected."""
    trust_folder_labels: bool
    """Names of class folders are the truth about their images: first labels are drawn from it, and the accuracy on the
    pool is measured against it."""
    keep_every_round: bool
    """Save the members of every round when it ends, since labelling may stop after any of them. Which saved members
    stay on disk is the config's ``keep``."""
    train_on_audit: bool
    """Once the campaign has ended, train a final model on all labels, also on those of the audit."""

    @classmethod
    def of(cls, config: Config) -> "Policy":
        """Return the policy of a config.

        >>> from versionspace.config import read_config
        >>> Policy.of(read_config("demo"))
        Policy(reproducible=True, allow_missing=False, trust_folder_labels=True, keep_every_round=False,
               train_on_audit=False)
        """
        person = answered_by_person(config)
        return cls(
            reproducible=not person, allow_missing=person, trust_folder_labels=not person, keep_every_round=person,
            train_on_audit=person,
        )  # fmt: skip


def answered_by_person(config: Config) -> bool:
    """Return whether a person gives the answers, so that only the labelling page can continue the campaign."""
    return config.oracle.kind == "person"
