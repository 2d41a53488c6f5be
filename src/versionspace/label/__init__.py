"""The labelling page: a folder of images, people in a browser, and a campaign that never makes them wait.

create            a campaign for a folder of images
server            the process: one socket, one campaign, one trainer
api, schemas      the HTTP API; status is what the page shows besides the image, export the labels to download
auth              access control
service           the campaign behind the page: one lock, one writer of the ledger
views             what the service reads at every request, kept up to date from committed events:
                  history (answers, undo), queue (open asks), cold_start (diverse images), label counts
leases            which tab has which image on its screen
pacing            how many images to ask for, and when to train
trainer           the process that trains; supervisor starts and restarts it, trainer_messages is what they exchange
model_check       the advice whether to stop, and random images on request; results, results_api and result_writer are
                  the files to download
guesses           the votes of the newest model on the whole pool
image_encoding    image files as the browser gets them
import_labels     labels that exist before labelling starts; matching finds their images; label_studio is one format
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from versionspace.label.create import label_folder, new_config
    from versionspace.label.label_studio import label_config, tasks
    from versionspace.label.server import ServedPage, serve

__all__ = ["ServedPage", "label_config", "label_folder", "new_config", "serve", "tasks"]

_MODULES = {
    "label_folder": "create", "new_config": "create", "label_config": "label_studio", "tasks": "label_studio",
    "ServedPage": "server", "serve": "server",
}  # fmt: skip


def __getattr__(name: str) -> Any:
    """Import on first use: only the server needs the web framework."""
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_MODULES[name]}"), name)
