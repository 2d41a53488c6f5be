"""The newest model of a campaign on disk: the final one, or else that of the last round. Imports no torch."""

from dataclasses import dataclass
from pathlib import Path

from versionspace.errors import InputError
from versionspace.store import CampaignFolder, State


@dataclass(frozen=True)
class SavedModel:
    """Members on disk."""

    weights: Path
    round: int
    """The last round before they were trained."""
    labels: int
    """Number of labels that they were trained on."""
    classes: tuple[str | None, ...] = ()
    """The present name of the class of each output; None if it was deleted. There may be more than outputs: classes
    that were added later."""

    def class_names(self) -> tuple[str, ...]:
        """Return the class of each output. Raises InputError if classes were merged or deleted since the training.

        >>> SavedModel(Path("weights"), 1, 10, ("cat", "dog")).class_names()
        ('cat', 'dog')
        """
        known = tuple(name for name in self.classes if name is not None)
        if len(set(known)) < len(self.classes):
            raise InputError(
                "model", expected="one that was trained on the present classes",
                got=f"one of round {self.round}, trained before classes were merged or deleted",
                fix="Open the page with `versionspace label`, which trains a new one at once; in Python, call reopen() "
                "and loop over the campaign.",
            )  # fmt: skip
        return known


def newest_saved_model(folder: CampaignFolder, state: State) -> SavedModel | None:
    """Return the final model, or else the members of the last round whose weights are saved; None if there are none."""
    if state.final is not None and folder.final_weights.is_dir():
        return SavedModel(folder.final_weights, max(state.metrics), state.final.labels, state.final_classes)
    saved = max((number for number in state.metrics if folder.weights(number).is_dir()), default=None)
    if saved is None:
        return None
    return SavedModel(folder.weights(saved), saved, state.metrics[saved].labels, state.model_classes[saved])


def final_model_note(state: State) -> str:
    """Return what a person should know about the final model; empty if there is none.

    >>> from versionspace.store import FinalModel
    >>> final_model_note(State(final=FinalModel(60, 10, {})))
    'The final model is trained on all 60 labels, including the 10 of the audit.'
    """
    if state.final is None:
        return ""
    count, of_audit = state.final.labels, state.final.audit
    said = f"The final model is trained on all {count} labels, including the {of_audit} of the audit."
    audit = state.metrics[max(state.metrics)].audit if state.metrics else None
    if audit is None or audit.accuracy is None:
        return said
    estimate = f"{audit.accuracy:.0%} of {audit.images} random images"
    return f"{said} The estimated accuracy, {estimate}, is that of the last model before, which had not seen the audit."
