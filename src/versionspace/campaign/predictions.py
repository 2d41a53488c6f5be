"""Predictions of a campaign's newest model for all images without a label, as a table; the campaign may be in use."""

import csv
import io
from collections.abc import Callable
from pathlib import Path

from versionspace.campaign.datasets import absolute_path, open_dataset
from versionspace.campaign.images import CampaignImages, restore_images
from versionspace.campaign.inference import Prediction
from versionspace.campaign.results import Results
from versionspace.campaign.round import RoundRunner
from versionspace.config import Config, Policy
from versionspace.data import safe_cell
from versionspace.files import replacing
from versionspace.store import CampaignFolder, Record, State, as_store_errors, read_arrays, reject_folder
from versionspace.text import printable

COLUMNS = ("file", "class", "probability", "agreement")


class StoredResults(Results):
    """The results in a campaign's folder, which another process may be using."""

    def __init__(self, folder: CampaignFolder, config: Config, state: State, images: CampaignImages) -> None:
        self.folder, self.config, self.state, self.images = folder, config, state, images
        self.runner = RoundRunner(config, images, folder)

    @classmethod
    def of(cls, record: Record) -> "StoredResults":
        """Return the results of a campaign that was read from its folder."""
        dataset = open_dataset(record.config, record.folder.path)
        allow_missing = Policy.of(record.config).allow_missing
        images = restore_images(dataset, read_arrays(record.folder.split), allow_missing=allow_missing)
        return cls(record.folder, record.config, record.state, images)


def write_predictions(results: Results, to: Path, tell: Callable[[int, int], None] = lambda done, of: None) -> int:
    """Write a CSV file with the prediction for each image without a label, and return the number of its rows.

    Columns: the file within the folder (or the id, if the images are not files), the class, the mean probability of the
    members, and the share of members that vote for the class. ``tell`` is called with the number of images that are
    done and of all. Raises InputError if there is no model yet.
    """
    reject_folder(to)
    root = absolute_path(Path(results.config.data.name))
    left, rows = results.unlabelled(), 0
    with as_store_errors(to.parent), replacing(to) as new, new.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, lineterminator="\n").writerow(COLUMNS)
        for found in results.predictions(left):
            file.write(_line(found, root))
            rows += 1
            if rows % 256 == 0:
                tell(rows, len(left))
    return rows


def _line(found: Prediction, root: Path) -> str:
    name = found.item.relative_to(root).as_posix() if isinstance(found.item, Path) else found.item
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerow([
        name if isinstance(name, int) else safe_cell(printable(name)), safe_cell(found.name),
        f"{found.probability:.4f}", f"{found.agreement:.4f}",
    ])  # fmt: skip
    return text.getvalue()
