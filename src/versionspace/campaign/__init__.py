"""Campaigns: Algorithm 1 of the paper, on a dataset or with a person; grids of them; what they export.

From a command to a committed round, each module imports only those below it:

grid             every method with every seed: `run` and `resume`
setup            folders and configs; everything that can be rejected is rejected here, before any work
jobs             `Job`, `News` and the `Executor` protocol
local_executor   the executor of one machine, with `worker` for its processes
campaign         one campaign: propose images, accept answers
round            one round: fit, predict, measure
choice           which images a round asks for
environment      what a campaign ran under, recorded and compared on resume
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from versionspace.campaign.advice import Advice, stop_advice
    from versionspace.campaign.audit_extension import (
        ask_random_images,
        images_to_grow_by,
        reject_target,
        set_target,
        spare_random_images,
    )
    from versionspace.campaign.campaign import Campaign, Proposal
    from versionspace.campaign.cold_start import cold_start_size
    from versionspace.campaign.datasets import (
        Datasets,
        absolute_path,
        fetch_if_missing,
        open_dataset,
        open_for_labelling,
        open_pictures,
    )
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
    from versionspace.campaign.file_features import FileFeatures, computed_from_files
    from versionspace.campaign.final_model import final_model_due, train_final_model
    from versionspace.campaign.grid import resume, run
    from versionspace.campaign.id_sets import FileNames, IdIndex, among, without
    from versionspace.campaign.image_features import MEMBERS, ImageFeatures, feature_source, plain_features
    from versionspace.campaign.images import (
        CampaignImages,
        Roles,
        draw_roles,
        reject_missing_reference,
        restore_images,
    )
    from versionspace.campaign.inference import Model, Prediction, load_model
    from versionspace.campaign.jobs import LAST, Executor, Job, Listener, News, Outcome, Run
    from versionspace.campaign.learner import (
        default_net,
        image_side,
        learner_kind,
        load_learner,
        make_learner,
        training_of,
    )
    from versionspace.campaign.local_executor import LocalExecutor, on_interrupt
    from versionspace.campaign.metrics import describe_indistinguishable
    from versionspace.campaign.predictions import StoredResults, write_predictions
    from versionspace.campaign.results import MeasuredRound
    from versionspace.campaign.round import EXHAUSTED, SPENT, UNLABELLED, RoundRunner, Step, proposal_event
    from versionspace.campaign.saved_model import final_model_note
    from versionspace.campaign.setup import create_folder
    from versionspace.campaign.worker import Stopped, run_job

__all__ = [
    "ARITHMETIC",
    "EXHAUSTED",
    "LABEL_FORMATS",
    "LAST",
    "MEMBERS",
    "SPENT",
    "UNLABELLED",
    "Advice",
    "Campaign",
    "CampaignImages",
    "Datasets",
    "Executor",
    "ExportedLabel",
    "FileFeatures",
    "FileNames",
    "IdIndex",
    "ImageFeatures",
    "Job",
    "Listener",
    "LocalExecutor",
    "MeasuredRound",
    "Model",
    "News",
    "Outcome",
    "Prediction",
    "Proposal",
    "Roles",
    "RoundRunner",
    "Run",
    "Step",
    "Stopped",
    "StoredResults",
    "absolute_path",
    "among",
    "ask_random_images",
    "cold_start_size",
    "computed_from_files",
    "create_folder",
    "default_net",
    "describe_indistinguishable",
    "draw_roles",
    "export_labels",
    "export_model",
    "exported_labels",
    "feature_source",
    "fetch_if_missing",
    "final_model_due",
    "final_model_note",
    "free_disk",
    "image_side",
    "images_to_grow_by",
    "learner_kind",
    "load_learner",
    "load_model",
    "make_learner",
    "missing_images_note",
    "model_note",
    "on_image_folder",
    "on_interrupt",
    "open_dataset",
    "open_for_labelling",
    "open_pictures",
    "plain_features",
    "plan",
    "proposal_event",
    "reject_missing_reference",
    "reject_target",
    "restore_images",
    "resume",
    "run",
    "run_job",
    "set_target",
    "spare_random_images",
    "stop_advice",
    "train_final_model",
    "training_of",
    "without",
    "write_predictions",
]

_EXPORTS = {
    "advice": (
        "Advice",
        "stop_advice",
    ),
    "audit_extension": (
        "ask_random_images",
        "images_to_grow_by",
        "reject_target",
        "set_target",
        "spare_random_images",
    ),
    "campaign": (
        "Campaign",
        "Proposal",
    ),
    "cold_start": ("cold_start_size",),
    "datasets": (
        "Datasets",
        "absolute_path",
        "fetch_if_missing",
        "open_dataset",
        "open_for_labelling",
        "open_pictures",
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
    "file_features": (
        "FileFeatures",
        "computed_from_files",
    ),
    "final_model": (
        "final_model_due",
        "train_final_model",
    ),
    "grid": (
        "resume",
        "run",
    ),
    "image_features": (
        "ImageFeatures",
        "MEMBERS",
        "feature_source",
        "plain_features",
    ),
    "id_sets": (
        "FileNames",
        "IdIndex",
        "among",
        "without",
    ),
    "images": (
        "CampaignImages",
        "Roles",
        "draw_roles",
        "reject_missing_reference",
        "restore_images",
    ),
    "inference": (
        "Model",
        "Prediction",
        "load_model",
    ),
    "jobs": (
        "Executor",
        "Job",
        "LAST",
        "Listener",
        "News",
        "Outcome",
        "Run",
    ),
    "learner": (
        "default_net",
        "image_side",
        "learner_kind",
        "load_learner",
        "make_learner",
        "training_of",
    ),
    "local_executor": ("LocalExecutor", "on_interrupt"),
    "metrics": ("describe_indistinguishable",),
    "predictions": (
        "StoredResults",
        "write_predictions",
    ),
    "results": ("MeasuredRound",),
    "round": (
        "EXHAUSTED",
        "RoundRunner",
        "SPENT",
        "Step",
        "UNLABELLED",
        "proposal_event",
    ),
    "saved_model": ("final_model_note",),
    "setup": ("create_folder",),
    "worker": (
        "Stopped",
        "run_job",
    ),
}
"""The names that each module contributes."""
_MODULES = {name: module for module, names in _EXPORTS.items() for name in names}


def __getattr__(name: str) -> Any:
    """Import on first use: a grid sets up its folders before torch is imported."""
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_MODULES[name]}"), name)
