"""Campaigns: Algorithm 1 of the paper, on a dataset or with a person; grids of them; what they export.

From a command to a committed round, each module imports only those below it:

grid             every method with every seed: `run` and `resume`
setup            folders and configs; everything that can be rejected is rejected here, before any work
jobs             `Job`, `News` and the `Executor` protocol
local_executor   the executor of one machine, with `worker` for its processes
campaign         one campaign: propose images, accept answers
round            one round: fit, predict, measure, choose
environment      what a campaign ran under, recorded and compared on resume
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from versionspace.campaign.advice import Advice, stop_advice
    from versionspace.campaign.campaign import Campaign, Proposal
    from versionspace.campaign.cold_start import simple_features
    from versionspace.campaign.datasets import absolute_path, open_dataset, open_for_labelling
    from versionspace.campaign.environment import ARITHMETIC
    from versionspace.campaign.estimate import free_disk, plan
    from versionspace.campaign.export import (
        LABEL_FORMATS,
        ExportedLabel,
        export_labels,
        export_model,
        exported_labels,
        missing_images_note,
        model_note,
        on_image_folder,
    )
    from versionspace.campaign.grid import resume, run
    from versionspace.campaign.images import CampaignImages, Roles, draw_roles, restore_images
    from versionspace.campaign.inference import find_images, load_model
    from versionspace.campaign.jobs import Executor, Job, News, Outcome, Run
    from versionspace.campaign.learner import default_net, learner_kind, load_learner, make_learner, training_of
    from versionspace.campaign.local_executor import LocalExecutor
    from versionspace.campaign.metrics import describe_indistinguishable
    from versionspace.campaign.round import EXHAUSTED, SPENT, UNLABELLED, RoundRunner, Step, proposal_event
    from versionspace.campaign.setup import create_folder

__all__ = [
    "ARITHMETIC",
    "EXHAUSTED",
    "LABEL_FORMATS",
    "SPENT",
    "UNLABELLED",
    "Advice",
    "Campaign",
    "CampaignImages",
    "Executor",
    "ExportedLabel",
    "Job",
    "LocalExecutor",
    "News",
    "Outcome",
    "Proposal",
    "Roles",
    "RoundRunner",
    "Run",
    "Step",
    "absolute_path",
    "create_folder",
    "default_net",
    "describe_indistinguishable",
    "draw_roles",
    "export_labels",
    "export_model",
    "exported_labels",
    "find_images",
    "free_disk",
    "learner_kind",
    "load_learner",
    "load_model",
    "make_learner",
    "missing_images_note",
    "model_note",
    "on_image_folder",
    "open_dataset",
    "open_for_labelling",
    "plan",
    "proposal_event",
    "restore_images",
    "resume",
    "run",
    "simple_features",
    "stop_advice",
    "training_of",
]

_EXPORTS = {
    "advice": (
        "Advice",
        "stop_advice",
    ),
    "campaign": (
        "Campaign",
        "Proposal",
    ),
    "cold_start": ("simple_features",),
    "datasets": (
        "absolute_path",
        "open_dataset",
        "open_for_labelling",
    ),
    "environment": ("ARITHMETIC",),
    "estimate": (
        "free_disk",
        "plan",
    ),
    "export": (
        "ExportedLabel",
        "LABEL_FORMATS",
        "export_labels",
        "export_model",
        "exported_labels",
        "missing_images_note",
        "model_note",
        "on_image_folder",
    ),
    "grid": (
        "resume",
        "run",
    ),
    "images": (
        "CampaignImages",
        "Roles",
        "draw_roles",
        "restore_images",
    ),
    "inference": (
        "find_images",
        "load_model",
    ),
    "jobs": (
        "Executor",
        "Job",
        "News",
        "Outcome",
        "Run",
    ),
    "learner": (
        "default_net",
        "learner_kind",
        "load_learner",
        "make_learner",
        "training_of",
    ),
    "local_executor": ("LocalExecutor",),
    "metrics": ("describe_indistinguishable",),
    "round": (
        "EXHAUSTED",
        "RoundRunner",
        "SPENT",
        "Step",
        "UNLABELLED",
        "proposal_event",
    ),
    "setup": ("create_folder",),
}
"""The names that each module contributes."""
_MODULES = {name: module for module, names in _EXPORTS.items() for name in names}


def __getattr__(name: str) -> Any:
    """Import on first use: a grid sets up its folders before torch is imported."""
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_MODULES[name]}"), name)
