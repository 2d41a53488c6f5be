"""``hf:NAME`` and ``hf:FOLDER``: models of the Hugging Face hub, by transformers' AutoModel (extra ``hf``).

The features of an image are, in this order:

1. what ``get_image_features`` returns, for models of images and text (CLIP, SigLIP): the projected, pooled features;
2. ``pooler_output``, if the model has one and the checkpoint has its weights (DINOv2, ConvNeXt, ResNet, Swin, the
   vision parts of CLIP and SigLIP);
3. the class token of ``last_hidden_state``, if the model has one (ViT checkpoints without a pooler);
4. the mean of ``last_hidden_state`` over positions.

Preprocessing is that of the model's image processor. Where resizing, cropping the centre and normalising by its
settings give the processor's own pixels within `_LEVELS` grey levels, torch does it; else the processor is called, and
an ONNX file cannot contain it. Code from the hub is never run.

A model that was downloaded once is used as it is: ``hf:NAME@REVISION`` names another version of it.
"""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from versionspace.errors import InputError, MissingPackageError
from versionspace.extras import require
from versionspace.features.extractor import check_side
from versionspace.features.frozen import ANY_SIDE, FrozenNetwork, Prepare, TorchExtractor, digest, digest_file, freeze
from versionspace.features.preprocessing import (
    Preprocess,
    Preprocessing,
    check_channels,
    read_processor_settings,
)
from versionspace.types import Array

_LEVELS = 2.0
_SHAPES = ((90, 120), (301, 200))
"""Sizes of the images by which the two kinds of preprocessing are compared."""
_LOADING = threading.RLock()
_UNUSED = ("mask_token",)
"""Weights that only training uses: checkpoints may lack them."""


@dataclass(frozen=True)
class Source:
    """Where a model is read from."""

    name: str
    """As the user wrote it, after ``hf:``."""
    location: str
    """A folder, or a name on the hub."""
    revision: str | None
    """The commit, for a model of the hub."""
    weights: str
    """A hash of the folder's files, or the name and commit on the hub."""


def huggingface_extractor(name: str, *, side: int | None = None, device: torch.device | None = None) -> TorchExtractor:
    """Return the extractor of a folder or a model of the hub. Raises `InputError` if it cannot be loaded."""
    require("transformers")
    with _LOADING, _quiet():
        source = _find(name)
        _pretrained("AutoConfig", source)  # its errors are the clearest
        processor = _load_processor(source)
        prepare, image_side = _preparation(processor)
        settings = prepare.settings if isinstance(prepare, Preprocess) else processor.to_dict()
        short = Path(source.location).name if Path(name).is_dir() else source.location
        identity = f"hf-{short}-{digest(source.weights, type(processor).__name__, settings)}"
    extractor = TorchExtractor(identity, image_side, prepare, partial(_load, source, image_side), device)
    check_side(extractor, side)
    return extractor


def _find(name: str) -> Source:
    """Return where the model is; downloads its config if it is on the hub and was never used."""
    folder = Path(name).expanduser()
    if folder.is_dir():
        return Source(name, str(folder), None, _folder_digest(folder))
    if name.startswith((".", "/", "~")) or "\\" in name:
        raise InputError(
            f"extractor hf:{name}", expected="a folder with config.json and weights, as save_pretrained writes it",
            got="no such folder", fix="Check the path.",
        )  # fmt: skip
    location, _, revision = name.partition("@")
    cached_file = require("transformers.utils", attribute="cached_file")
    file = Path(_from_hub(name, lambda **where: cached_file(location, "config.json", **where), revision or None))
    commit = file.parent.name  # HUB/models--NAME/snapshots/COMMIT/config.json
    return Source(name, location, commit, f"{location}@{commit}")


def _folder_digest(folder: Path) -> str:
    weights = sorted(folder.glob("*.safetensors")) or sorted(folder.glob("*.bin"))
    files = [*weights, *sorted(folder.glob("*config.json"))]
    if not weights or not (folder / "config.json").is_file():
        raise InputError(
            f"extractor hf:{folder}", expected="a folder with config.json and weights, as save_pretrained writes it",
            got=f"{len(weights)} files of weights, and {len(files) - len(weights)} of settings",
            fix="Save model and processor there: model.save_pretrained(folder); processor.save_pretrained(folder).",
        )  # fmt: skip
    return digest([(path.name, digest_file(path)) for path in files])


def _from_hub(name: str, load: Callable[..., Any], revision: str | None) -> Any:
    """Return what ``load`` reads from the local copy of a model, or else from the hub."""
    try:
        return load(revision=revision, local_files_only=True)
    except Exception:
        try:
            return load(revision=revision)
        except Exception as error:
            raise _not_loaded(name, error) from error


def _pretrained(auto: str, source: Source, **options: Any) -> Any:
    """Return what a class of transformers, such as AutoModel, reads; code in the source is not run."""
    cls = require("transformers", attribute=auto)
    load = partial(cls.from_pretrained, source.location, trust_remote_code=False, **options)
    if source.revision is not None:
        return _from_hub(source.name, load, source.revision)
    try:
        return load(local_files_only=True)
    except Exception as error:
        raise _not_loaded(source.name, error) from error


def _not_loaded(name: str, error: Exception) -> Exception:
    said = " ".join(str(error).split()).split(". ")[0].removesuffix(".")
    if isinstance(error, ImportError):
        package = getattr(error, "name", None) or "a package that this model requires"
        return MissingPackageError(
            package, expected=f"what transformers requires for hf:{name}", got=said[:300], fix="Install it."
        )
    return InputError(
        f"extractor hf:{name}", expected="an image model that transformers can load", got=said[:300],
        fix="Check the spelling of the name. Models of the hub are downloaded when they are first used: connect once, "
        "or copy the model here and pass its folder, hf:FOLDER. Private ones need `hf auth login`.",
    )  # fmt: skip


def _load_processor(source: Source) -> Any:
    """Return the model's image processor, in the variant that uses Pillow: it needs no torchvision."""
    return _pretrained("AutoImageProcessor", source, backend="pil")


def _preparation(processor: Any) -> tuple[Prepare, int]:
    """Return the preprocessing, and the side of images that it suits."""
    found = read_processor_settings(processor.to_dict())
    if found is not None and all(_agree(processor, found, shape) for shape in _SHAPES):
        return Preprocess(found), found.side
    side = 0 if found is None else found.side

    def call_processor(images: Tensor) -> Tensor:
        return _processed(processor, images.cpu().numpy())

    return call_processor, side


def _agree(processor: Any, settings: Preprocessing, shape: tuple[int, int]) -> bool:
    """Return whether the settings give the pixels of the processor, for an image of this height and width."""
    height, width = shape
    y, x = np.mgrid[:height, :width]
    waves = np.stack([np.sin(x / 7 + k) * np.cos(y / 11 - k) for k in range(3)], axis=2)
    image = np.rint(127 + 120 * waves).astype(np.uint8)[None]
    try:
        expected = _processed(processor, image)
        found = Preprocess(settings)(torch.from_numpy(image))
    except (RuntimeError, ValueError, TypeError, KeyError):
        return False
    if expected.shape != found.shape:
        return False
    levels = (expected - found).abs() * torch.tensor(settings.deviation).view(-1, 1, 1) / settings.scale
    return bool(levels.max() <= _LEVELS)


def _processed(processor: Any, images: Array) -> Tensor:
    from PIL import Image

    check_channels(images.shape[3], 3)
    colour = np.broadcast_to(images, (*images.shape[:3], 3))
    pixels: Tensor = processor(images=[Image.fromarray(np.ascontiguousarray(one)) for one in colour],
                               return_tensors="pt")["pixel_values"]  # fmt: skip
    return pixels


class _Pooled(nn.Module):
    """Network inputs (N, C, h, w) to features (N, F)."""

    def __init__(self, model: nn.Module, use_pooler: bool) -> None:
        super().__init__()
        self.model = model
        self.projected = hasattr(model, "get_image_features")
        self.use_pooler = use_pooler
        self.class_token = any(name.endswith(("cls_token", "class_embedding")) for name, _ in model.named_parameters())

    def forward(self, pixels: Tensor) -> Tensor:
        if self.projected:
            found = self.model.get_image_features(pixel_values=pixels)  # type: ignore[operator]
            pooled: Tensor = found if isinstance(found, Tensor) else found.pooler_output
            return pooled.flatten(1)
        found = self.model(pixel_values=pixels)
        pooler = getattr(found, "pooler_output", None)
        if self.use_pooler and pooler is not None:
            return pooler.flatten(1)  # type: ignore[no-any-return]
        states: Tensor = found.last_hidden_state
        if states.ndim == 4:
            return states.mean(dim=(2, 3))
        return states[:, 0] if self.class_token else states.mean(dim=1)


def _load(source: Source, side: int, device: str) -> FrozenNetwork:
    with _LOADING:
        return _load_once(source, side, device)


@lru_cache(maxsize=4)
def _load_once(source: Source, side: int, device: str) -> FrozenNetwork:
    with _quiet(), torch.random.fork_rng(devices=[]):  # weights that a checkpoint lacks are drawn
        model, report = _pretrained("AutoModel", source, dtype=torch.float32, output_loading_info=True)
        missing = [name for name in report["missing_keys"] if not name.endswith(_UNUSED)]
        without_pooler = [name for name in missing if "pooler" not in name.split(".")]
        if without_pooler:
            raise InputError(
                f"extractor hf:{source.name}", expected="a checkpoint with all weights of the model",
                got=f"one without {len(without_pooler)} of them, such as {without_pooler[0]}",
                fix="Check that the files belong together, and save the model again.",
            )  # fmt: skip
        prepare, _ = _preparation(_load_processor(source))
        image = (side or ANY_SIDE, side or ANY_SIDE, 3)
        return freeze(_Pooled(model, not missing), prepare, image, f"extractor hf:{source.name}", device)


@contextmanager
def _quiet() -> Iterator[None]:
    """Keep transformers from drawing bars and from reporting what it loads."""
    logging = require("transformers").utils.logging
    before, bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        logging.set_verbosity(before)
        if bars:
            logging.enable_progress_bar()
