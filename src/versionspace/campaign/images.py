"""The images of a campaign and the role of each: asked, held out as reference, audited, tested.

Roles are drawn once and stored. Images may later go missing from a folder or change their content, which gives them
another id. Where the campaign's policy allows it they are left out until they are back: they are not asked for, trained
on or measured on, and their labels are kept. Otherwise they are rejected by name.
"""

import hashlib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from versionspace import rng
from versionspace.campaign.id_sets import FileNames, among, without
from versionspace.config import Config, Policy
from versionspace.data import Dataset, FolderImages, Subset, cache_folder, draw, file_backed, split
from versionspace.errors import InputError
from versionspace.store import FILE_NAMES, SPLIT_SETS, StoredNames, as_ids, pack_names
from versionspace.text import printable
from versionspace.types import Array, ArrayLike, ImageId, Ints

MAX_REFERENCE = 5_000
"""The largest number of images of the pool that are held out as reference where there is no validation set."""

MIN_SHARE = 0.1
"""A folder with a smaller share of a campaign's images is taken for another folder."""

_LISTED = 5
"""Images that a message names."""


@dataclass(frozen=True)
class Roles:
    """Ids by role, each ascending. Those of test are of the dataset's own test images where it has some."""

    pool: Array
    """All of it: images that may be asked for, and those of reference and audit."""
    validation: Array
    test: Array
    initial: Array
    """Part of the pool: labelled first."""
    reference: Array
    """Part of the pool: distances are measured on it, and it is never asked for. Empty if there is a validation set."""
    audit: Array
    """Part of the pool: labelled to measure accuracy, never trained on."""

    @property
    def total(self) -> int:
        """The number of images."""
        return sum(len(getattr(self, name)) for name in SPLIT_SETS)

    def askable(self) -> Array:
        """Return the ids that a query method may choose."""
        return without(self.pool, np.concatenate([self.reference, self.audit]))

    def arrays(self) -> dict[str, Array]:
        """Return the ids by role, as they are stored."""
        return {name: getattr(self, name) for name in self.__dataclass_fields__}


def draw_roles(config: Config, dataset: Dataset) -> Roles:
    """Draw the roles of a campaign's images: a function of dataset, seed and sizes alone.

    The audit is drawn first, uniformly from the whole pool; reference and first labels come from the rest.
    """
    data = config.data
    trusted = Policy.of(config).trust_folder_labels
    if not trusted:
        parts = {name: getattr(dataset, name) for name in subsets_with_other_folders(dataset, dataset.classes)}
        dataset = replace(dataset, **{name: replace(part, labels=None) for name, part in parts.items() if part})
    drawn = split(
        dataset,
        pool=data.pool,
        validation=data.validation,
        test=data.test,
        initial=data.initial if trusted else 0,
        seed=config.seed,
        balanced=data.balanced and trusted,
    )
    seed = rng.key(config.seed, "cut")
    audit = draw(dataset, drawn.pool, config.budget.audit, "audit", seed=seed, balanced=False)
    rest = without(drawn.pool, audit)
    held_out = 0 if len(drawn.validation) else min(MAX_REFERENCE, len(rest) // 5)
    reference = draw(dataset, rest, held_out, "reference", seed=seed, balanced=False)
    initial = drawn.initial
    if len(initial) and len(audit) + len(reference):
        left = without(rest, reference)
        initial = draw(dataset, left, len(initial), "initial", seed=config.seed, balanced=data.balanced)
    pool = file_backed(drawn.pool, cache_folder())
    return Roles(pool, drawn.validation, drawn.test, initial, reference, audit)


def subsets_with_other_folders(dataset: Dataset, classes: tuple[str, ...]) -> set[str]:
    """Return the subsets of a dataset whose sub-folders are not all named after classes, and so are no labels."""
    sources = dataset.report.sources if dataset.report else ()
    return {source.subset for source in sources if not source.from_table and set(source.classes) - set(classes)}


class CampaignImages:
    """Pixels and true classes by id. Pixels are read on access: the pool may be larger than memory.

    Args:
        dataset: where they come from.
        roles: of the images that are present.
        all_roles: of all images that were present when the campaign began; by default the same.
        stored_files: the file of each image at that time, for a folder of images.
        missing: images that are missing or have changed; by default those of ``all_roles`` that are not in ``roles``.
    """

    def __init__(
        self,
        dataset: Dataset,
        roles: Roles,
        all_roles: Roles | None = None,
        stored_files: Mapping[ImageId, str] | None = None,
        missing: frozenset[ImageId] | None = None,
    ) -> None:
        self.dataset, self.roles = dataset, roles
        self.all_roles = roles if all_roles is None else all_roles
        self._own_subsets = {"validation": dataset.validation, "test": dataset.test}
        self._views: dict[str, ArrayLike] = {}
        self.stored_files: Mapping[ImageId, str] = {} if stored_files is None else stored_files
        if missing is None:
            pairs = [(getattr(self.all_roles, name), getattr(roles, name)) for name in SPLIT_SETS]
            missing = frozenset(i for before, now in pairs if before is not now for i in as_ids(without(before, now)))
        self.missing: frozenset[ImageId] = missing
        """Images that are missing or have changed."""

    @cached_property
    def files(self) -> Mapping[ImageId, str]:
        """The file of each image of a folder; of a missing one, the file when the campaign began."""
        parts = [part for part in (self.dataset.train, self.dataset.validation, self.dataset.test) if part is not None]
        stored = current_files(self.dataset, self.stored_files) if self.missing else {}
        gone = {image: stored[image] for image in self.missing if image in stored}
        return FileNames([(part.ids, part.files) for part in parts if part.files], gone)

    @property
    def decoded_on_access(self) -> bool:
        """Whether pixels are not kept: reading them decodes files."""
        return isinstance(self.dataset.train.images, FolderImages)

    @property
    def reference_set(self) -> str:
        """The set of images that distances are measured on: "validation" or "reference"."""
        return "validation" if len(self.all_roles.validation) else "reference"

    def arrays(self) -> dict[str, Array]:
        """Return what is stored when a campaign begins: ids by role, true classes of test, names of files."""
        arrays, truth = self.roles.arrays(), self.truth("test")
        if truth is not None:
            arrays["test_truth"] = truth
        if self.dataset.train.files is not None:
            arrays[FILE_NAMES] = pack_names([file for name in SPLIT_SETS for file in self._files(name)])
        return arrays

    def pixels(self, ids: Array) -> ArrayLike:
        """Return the pixels of images of the pool."""
        return self.dataset.train.view(ids)

    def of(self, name: str) -> ArrayLike:
        """Return the pixels of a whole set: "pool", "validation", "test", "reference" or "audit"."""
        if name not in self._views:
            self._views[name] = self._subset(name).view(getattr(self.roles, name))
        return self._views[name]

    def truth(self, name: str) -> Ints | None:
        """Return the true classes of a whole set; None if it is empty or any class is unknown."""
        part, ids = self._subset(name), getattr(self.roles, name)
        if part.labels is None or len(ids) == 0:
            return None
        labels = part.labels[part.rows(ids)]
        return None if (labels < 0).any() else labels

    def digest(self) -> str:
        """Return a hash of all ids and their known labels, which does not depend on the order of files."""
        content = hashlib.sha256()
        for name in SPLIT_SETS:
            part, ids = self._subset(name), getattr(self.roles, name)
            labels = np.full(len(ids), -1) if part.labels is None else part.labels[part.rows(ids)]
            content.update(np.ascontiguousarray(ids).tobytes() + np.asarray(labels, np.int64).tobytes())
        return content.hexdigest()

    def expand_to_pool(self, values: Array) -> Array:
        """Return one value for each image of the pool as it began, from those of the present images; 0 for others."""
        expanded = np.zeros(len(self.all_roles.pool), values.dtype)
        expanded[among(self.all_roles.pool, self.roles.pool)] = values
        return expanded

    def _files(self, name: str) -> list[str]:
        part = self._subset(name)
        return [(part.files or ())[row] for row in part.rows(getattr(self.roles, name))]

    def _subset(self, name: str) -> Subset:
        part = self._own_subsets.get(name)
        return self.dataset.train if part is None else part


def restore_images(
    dataset: Dataset, arrays: Mapping[str, Array], *, allow_missing: bool = False
) -> CampaignImages:  # fmt: skip
    """Return the images of a campaign from what was stored when it began.

    Raises InputError if images are missing. With ``allow_missing`` they are left out, and it raises only if hardly any
    image of the pool is left, or none to measure distances on.
    """
    arrays = {**arrays, "pool": file_backed(arrays["pool"], cache_folder())}
    all_roles = Roles(**{name: arrays[name] for name in Roles.__dataclass_fields__})
    files = StoredNames(arrays)
    images = CampaignImages(dataset, _present(dataset, all_roles), all_roles, files)
    if images.missing and not allow_missing:
        raise InputError(
            "images", expected=f"all {all_roles.total} images of the campaign",
            got=f"{len(images.missing)} missing: {name_images(images.missing, files)}",
            fix="Put the files back; they are recognised by their content, whatever their names.",
        )  # fmt: skip
    if images.missing:
        _reject_other_folder(as_ids(all_roles.pool), images.missing, dataset)
        reject_missing_reference(as_ids(getattr(all_roles, images.reference_set)), images.missing, files)
    return images


def _present(dataset: Dataset, roles: Roles) -> Roles:
    """Return the roles of the images that the dataset has."""
    own = {"validation": dataset.validation, "test": dataset.test}
    parts = {name: part for name, part in own.items() if part is not None}
    kept = {}
    for name, ids in roles.arrays().items():
        present = parts.get(name, dataset.train).has(ids)
        kept[name] = ids if present.all() else ids[present]
    return Roles(**kept)


def _reject_other_folder(pool: Sequence[ImageId], missing: Collection[ImageId], dataset: Dataset) -> None:
    present = sum(i not in missing for i in pool)
    if present < MIN_SHARE * len(pool):
        raise InputError(
            "images", expected=f"the {len(pool)} images of this campaign",
            got=f"{present or 'none'} of them in the {printable(dataset.source)}",
            fix="Pass the folder that holds them now, or put them back. The labels are safe: `versionspace export`.",
        )  # fmt: skip


def reject_missing_reference(
    reference: Sequence[ImageId], missing: Collection[ImageId], files: Mapping[ImageId, str]
) -> None:  # fmt: skip
    """Raise InputError if all images that distances are measured on are missing."""
    if reference and all(i in missing for i in reference):
        raise InputError(
            "images", expected=f"at least one of the {len(reference)} images that distances are measured on",
            got=f"none: {name_images(reference, files)}",
            fix="Put some of them back, with the same content. The labels are safe: `versionspace export`.",
        )  # fmt: skip


def current_files(dataset: Dataset, stored: Mapping[ImageId, str]) -> dict[ImageId, str]:
    """Return the file of each image of a folder; of a missing one, the ``stored`` file of when the campaign began.

    A stored name that another image of the campaign has now becomes empty, so that no label goes to the wrong file.
    """
    parts = [part for part in (dataset.train, dataset.validation, dataset.test) if part is not None]
    now = {i: file for part in parts for i, file in zip(as_ids(part.ids), part.files or (), strict=False)}
    taken = {file for i, file in now.items() if i in stored}
    return {i: "" if file in taken else file for i, file in stored.items()} | now


def name_images(images: Collection[ImageId], files: Mapping[ImageId, str]) -> str:
    """Return the first few images by file name, or by the start of the id if the name is unknown.

    >>> name_images(["ab" * 32, "cd" * 32], {"cd" * 32: "2.png"})
    '2.png, abababababab…'
    """
    names = sorted(printable(files.get(i) or f"{i}"[:12] + ("…" if len(f"{i}") > 12 else "")) for i in images)
    more = f" and {len(names) - _LISTED} more" if len(names) > _LISTED else ""
    return ", ".join(names[:_LISTED]) + more


def missing_message(missing: Collection[ImageId], files: Mapping[ImageId, str], total: int) -> str:
    """Return the warning that a person sees.

    >>> print(missing_message(["ab"], {"ab": "cat.jpg"}, 60))
    1 of 60 images is missing or has changed since labelling began: cat.jpg. It is left out until the original file is
    back; labels are kept.
    """
    one = len(missing) == 1
    return (
        f"{len(missing)} of {total} images {'is' if one else 'are'} missing or {'has' if one else 'have'} changed "
        f"since labelling began: {name_images(missing, files)}. {'It is' if one else 'They are'} left out until the "
        f"original {'file is' if one else 'files are'} back; labels are kept."
    )
