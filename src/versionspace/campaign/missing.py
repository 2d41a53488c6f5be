"""Images that are gone from a folder, or have changed, since a campaign on it began: which, and what is said of them.

A person's campaign goes on without them: they are not asked, trained on or measured on until they are back as they
were, and their labels are kept. A campaign with known labels is to end the same whenever it is run, and refuses.
"""

from collections.abc import Collection, Mapping, Sequence

from versionspace.data import Dataset
from versionspace.data.naming import shown
from versionspace.errors import InputError
from versionspace.store.record import as_ids
from versionspace.store.replay import ImageId

FEWEST = 0.1
"""A folder with a smaller share of a campaign's images is another folder."""
_NAMED = 5


def named_now(dataset: Dataset, stored: Mapping[ImageId, str]) -> dict[ImageId, str]:
    """Where each image of a folder lies now, or lay before it was gone.

    Empty where another image of the campaign has that name now: no label goes to the wrong file.
    """
    parts = [part for part in (dataset.train, dataset.validation, dataset.test) if part is not None]
    now = {i: file for part in parts for i, file in zip(as_ids(part.ids), part.files or (), strict=False)}
    taken = {file for i, file in now.items() if i in stored}
    return {i: "" if file in taken else file for i, file in stored.items()} | now


def listed(images: Collection[ImageId], names: Mapping[ImageId, str]) -> str:
    """The first few by name; where that is not known, by the start of their id.

    >>> listed(["ab" * 32, "cd" * 32], {"cd" * 32: "2.png"})
    '2.png, abababababab…'
    """
    found = sorted(shown(names.get(i) or f"{i}"[:12] + ("…" if len(f"{i}") > 12 else "")) for i in images)
    more = f" and {len(found) - _NAMED} more" if len(found) > _NAMED else ""
    return ", ".join(found[:_NAMED]) + more


def sentence(gone: Collection[ImageId], names: Mapping[ImageId, str], of: int) -> str:
    """What a person is told.

    >>> print(sentence(["ab"], {"ab": "cat.jpg"}, 60))
    1 of 60 images is missing, or has changed since labelling began: cat.jpg. It is left out until it is back as it was;
    labels are kept.
    """
    are, have, they = ("is", "has", "It is") if len(gone) == 1 else ("are", "have", "They are")
    until = "it is back as it was" if len(gone) == 1 else "they are back as they were"
    return (
        f"{len(gone)} of {of} images {are} missing, or {have} changed since labelling began: {listed(gone, names)}. "
        f"{they} left out until {until}; labels are kept."
    )


def refused(gone: Collection[ImageId], names: Mapping[ImageId, str], of: int) -> InputError:
    """For a campaign that must have all of its images."""
    return InputError(
        "images", expected=f"all {of} images of the campaign", got=f"{len(gone)} missing: {listed(gone, names)}",
        fix="Put the files back where they were; their content tells which they are.",
    )  # fmt: skip


def refuse_other(ids: Sequence[ImageId], gone: Collection[ImageId], dataset: Dataset) -> None:
    """A folder that holds hardly an image of the pool is another one."""
    there = sum(i not in gone for i in ids)
    if there < FEWEST * len(ids):
        raise InputError(
            "images", expected=f"the {len(ids)} images of this campaign",
            got=f"{there or 'none'} of them in the {shown(dataset.source)}",
            fix="Pass the folder that holds them now, or put them back. The labels are safe: `versionspace export`.",
        )  # fmt: skip


def refuse_unmeasured(ids: Sequence[ImageId], gone: Collection[ImageId], names: Mapping[ImageId, str]) -> None:
    """Without any of the images that distances are measured on there is no diameter."""
    if ids and all(i in gone for i in ids):
        raise InputError(
            "images", expected=f"one at least of the {len(ids)} images that distances are measured on",
            got=f"none: {listed(ids, names)}",
            fix="Put some of them back as they were. The labels are safe: `versionspace export`.",
        )  # fmt: skip
