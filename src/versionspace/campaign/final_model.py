"""The final model of a campaign that has ended: trained on all labels, also on those of the audit.

While labels are given, the audit must not be trained on, since it measures. Once labelling has ended there is nothing
left to measure, and its labels are worth as much as others. The last estimate of the accuracy remains that of the round
before, whose members have not seen the audit.
"""

from versionspace.campaign.round import RoundRunner
from versionspace.store import ALL_PURPOSES, Event, FinalModel, State, write_folder


def final_model_due(runner: RoundRunner, state: State) -> bool:
    """Return whether the final model is still to be trained."""
    wanted = runner.policy.train_on_audit and runner.config.keep != "none"
    return wanted and bool(state.ended) and bool(state.metrics) and state.final is None and _audit_labels(state) > 0


def train_final_model(runner: RoundRunner, state: State) -> Event:
    """Train members on all labels, save them, and return the event to commit."""
    state.missing = runner.prepare().missing
    labels = state.training_labels(ALL_PURPOSES)
    learner = runner.train(state, labels, max(state.metrics) + 1)
    sha256 = write_folder(runner.folder.final_weights, learner.save)
    return Event("final", state.round, FinalModel(len(labels), _audit_labels(state), sha256).to_body())


def _audit_labels(state: State) -> int:
    return len(state.training_labels(ALL_PURPOSES)) - len(state.training_labels())
