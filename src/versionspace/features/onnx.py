"""``onnx:FILE``: a network in an ONNX file, run by onnxruntime on the CPU (extra ``onnx``).

The file must have one input, of one of two kinds:

    uint8 (N, H, W, channels)   the network does its own preprocessing; images are resized if H and W are fixed
    float (N, channels, H, W)   a ``preprocessor_config.json`` beside the file, as Hugging Face writes it, says how
                                images are resized, cropped and normalised

Features are its first output of shape (N, F). The identity is a hash of the file, of the files in which it keeps
weights and of the preprocessing.
"""

import json
import threading
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from versionspace.errors import InputError
from versionspace.extras import require
from versionspace.features.extractor import check_side
from versionspace.features.frozen import digest, digest_file
from versionspace.features.preprocessing import Preprocess, Preprocessing, check_channels, read_processor_settings
from versionspace.types import Array

SETTINGS = "preprocessor_config.json"
_LOADING = threading.Lock()


@dataclass(frozen=True)
class _Model:
    """An open ONNX file."""

    session: Any
    input: str
    output: str
    dtype: type[np.generic]
    prepare: nn.Module
    """From uint8 images (N, H, W, channels) to the input, up to its type."""
    settings: Preprocessing | None
    """None if images are taken as they are."""
    channels: int
    one_by_one: bool
    """Whether the file takes only one image at a time."""


class OnnxExtractor:
    """The `versionspace.features.FeatureExtractor` of an ONNX file. Raises `InputError` if it cannot be used."""

    def __init__(self, file: str, *, side: int | None = None, device: torch.device | None = None) -> None:
        self._path = Path(file).expanduser()
        if not self._path.is_file():
            raise _rejected(self._path, "an ONNX file", "no such file", "Check the path.")
        require("onnxruntime")
        self._digest = _digest(self._path)
        model = self._model()
        self.identity = f"onnx-{self._path.stem}-{self._digest}"
        self.side = 0 if model.settings is None else model.settings.side
        self.device = torch.device("cpu")
        check_side(self, side)

    @property
    def width(self) -> int:
        """F."""
        return _width(str(self._path), self._digest)

    def __call__(self, images: npt.NDArray[np.uint8]) -> npt.NDArray[np.float32]:
        """Return features (N, F) of images (N, H, W, channels)."""
        return _run(self._model(), images)

    def module(self) -> None:
        """Return None: a graph of ONNX is no torch module."""

    def _model(self) -> _Model:
        with _LOADING:
            return _open(str(self._path), self._digest)


def _digest(path: Path) -> str:
    """Return a hash of the file, of the files in which it keeps weights and of the preprocessing."""
    try:
        graph = require("onnx").load(str(path), load_external_data=False).graph
    except Exception as error:
        raise _unreadable(path, error) from error
    others = {entry.value for one in graph.initializer for entry in one.external_data if entry.key == "location"}
    files = [path, *(path.parent / name for name in sorted(others)), path.parent / SETTINGS]
    return digest([digest_file(one) for one in files if one.is_file()])


@lru_cache(maxsize=4)
def _open(file: str, _: str) -> _Model:
    """Open a file; the second argument says which content it has."""
    runtime, path = require("onnxruntime"), Path(file)
    options = runtime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1  # chunks run side by side
    options.log_severity_level = 3
    try:
        session = runtime.InferenceSession(file, options, providers=["CPUExecutionProvider"])
    except Exception as error:
        raise _unreadable(path, error) from error
    inputs = session.get_inputs()
    outputs = [one.name for one in session.get_outputs() if len(one.shape) == 2]
    if len(inputs) != 1 or len(inputs[0].shape) != 4:
        got = ", ".join(f"{one.name} {one.shape}" for one in inputs)
        raise _rejected(path, "one input, of images", f"the inputs {got}", "Export the image part alone.")
    if not outputs:
        got = ", ".join(f"{one.name} {one.shape}" for one in session.get_outputs())
        fix = "Export it with its pooled output."
        raise _rejected(path, "an output of shape (N, F)", f"the outputs {got}", fix)
    return _describe(path, session, inputs[0], outputs[0])


def _describe(path: Path, session: Any, given: Any, output: str) -> _Model:
    batch, *shape = given.shape
    fixed = [size if isinstance(size, int) else None for size in shape]
    if isinstance(batch, int) and batch != 1:
        raise _rejected(path, "any number of images, or one", f"batches of {batch}", "Export it with a dynamic batch.")
    if given.type == "tensor(uint8)" and fixed[2] in (1, 3):
        dtype: type[np.generic] = np.uint8
        height, width, channels = fixed[0], fixed[1], fixed[2]
        settings = None
        if height is not None and width is not None:
            plain = ((0.0,) * channels, (1.0,) * channels)
            settings = Preprocessing(*plain, size=(height, width), scale=1.0)
        prepare: nn.Module = _AsIs() if settings is None else _Pixels(settings)
    elif given.type in ("tensor(float)", "tensor(float16)") and fixed[0] in (1, 3):
        dtype = np.float32 if given.type == "tensor(float)" else np.float16
        settings = _read_settings(path)
        channels, sides = len(settings.mean), tuple(fixed[1:])
        made = settings.crop or settings.size
        if channels != fixed[0] or (isinstance(made, tuple) and None not in sides and made != sides):
            got = f"{channels} channels and {made} pixels in {SETTINGS}"
            raise _rejected(path, f"preprocessing for its input {given.shape}", got, "Correct that file.")
        prepare = Preprocess(settings)
    else:
        expected = "an input of uint8 (N, H, W, channels), or of float (N, channels, H, W)"
        raise _rejected(path, expected, f"{given.type} {given.shape}", "Export it with one of those.")
    return _Model(session, given.name, output, dtype, prepare, settings, channels, batch == 1)


def _read_settings(path: Path) -> Preprocessing:
    beside = path.parent / SETTINGS
    try:
        settings = read_processor_settings(json.loads(beside.read_text(encoding="utf-8")))
    except (OSError, ValueError) as error:
        raise _rejected(
            path, f"{SETTINGS} beside the file, since its input is float and the file does not say how to normalise",
            "none" if isinstance(error, FileNotFoundError) else str(error),
            "Write it (image_mean, image_std, size, resample, do_center_crop, crop_size), or export a network whose "
            "input is uint8 (N, H, W, channels) and that normalises by itself.",
        ) from error  # fmt: skip
    if settings is None:
        raise _rejected(
            beside, "size, resample, image_mean and image_std", "settings without them, or of another form",
            "Correct that file.",
        )  # fmt: skip
    return settings


@lru_cache(maxsize=16)
def _width(file: str, content: str) -> int:
    model = _open(file, content)
    side = model.settings.side if model.settings else 0
    return int(_run(model, np.zeros((1, side or 64, side or 64, model.channels), np.uint8)).shape[1])


def _run(model: _Model, images: npt.NDArray[np.uint8]) -> npt.NDArray[np.float32]:
    check_channels(images.shape[3], model.channels)
    with torch.no_grad():
        colour = torch.from_numpy(images).expand(-1, -1, -1, model.channels)
        inputs: Array = model.prepare(colour).numpy().astype(model.dtype)
    parts = np.split(inputs, len(inputs)) if model.one_by_one else [inputs]
    found = [model.session.run([model.output], {model.input: np.ascontiguousarray(part)})[0] for part in parts]
    return np.concatenate(found).astype(np.float32)


class _AsIs(nn.Module):
    def forward(self, images: Tensor) -> Tensor:
        return images


class _Pixels(nn.Module):
    """uint8 images (N, H, W, channels) to pixels of the size that a file takes, rounded to whole grey levels."""

    def __init__(self, settings: Preprocessing) -> None:
        super().__init__()
        self.prepare = Preprocess(settings)

    def forward(self, images: Tensor) -> Tensor:
        found: Tensor = self.prepare(images)
        return found.round().permute(0, 2, 3, 1)


def _unreadable(path: Path, error: Exception) -> InputError:
    return _rejected(path, "an ONNX file that can be read", " ".join(str(error).split())[:300], "Export it again.")


def _rejected(path: Path, expected: str, got: str, fix: str) -> InputError:
    return InputError(f"extractor onnx:{path}", expected=expected, got=got, fix=fix)
