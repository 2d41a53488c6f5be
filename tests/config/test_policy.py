"""Policies: one row for each kind of oracle."""

from dataclasses import asdict, fields

import pytest

from campaign.tiny import config
from versionspace.config import Policy, answered_by_person

TABLE = {
    "reproducible": {"labels": True, "person": False},
    "allow_missing": {"labels": False, "person": True},
    "trust_folder_labels": {"labels": True, "person": False},
    "keep_every_round": {"labels": False, "person": True},
    "train_on_audit": {"labels": False, "person": True},
}


@pytest.mark.parametrize("kind", ["labels", "person"])
def test_the_oracle_decides_each_policy(kind):
    settings = config(f"oracle.kind={kind}")
    assert asdict(Policy.of(settings)) == {name: row[kind] for name, row in TABLE.items()}
    assert answered_by_person(settings) == (kind == "person")


def test_the_table_is_complete():
    assert [field.name for field in fields(Policy)] == list(TABLE)


def test_nothing_else_asks_who_answers(repository):
    """A new branch on the kind of oracle is a policy without a name."""
    asking = [
        path.relative_to(repository).as_posix()
        for path in (repository / "src").rglob("*.py")
        if "oracle.kind ==" in path.read_text() or "oracle.kind !=" in path.read_text()
    ]
    assert asking == ["src/versionspace/config/policy.py"]
