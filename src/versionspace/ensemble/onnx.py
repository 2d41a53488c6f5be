"""An ensemble as one ONNX file: uint8 images in, probabilities out, normalisation inside; checked against torch.

Needs the extra ``onnx``: onnx and onnxscript to write, onnxruntime to check.

Heads as one ONNX file: resizing, backbone, standardising and heads, from uint8 images to probabilities.
"""

import io
import logging
import warnings
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn

from versionspace.ensemble.normalise import Normalisation
from versionspace.ensemble.predict import Predictor
from versionspace.errors import VersionspaceError
from versionspace.extras import require
from versionspace.features import FeatureExtractor
from versionspace.files import replacing
from versionspace.nets.stacks import Network, stack

TOLERANCE = 1e-4
"""How far the probabilities of the file may be from torch's."""
_CHECKED = 5
"""Random images, beside a black and a white one, on which they are compared."""


class _Vote(nn.Module):
    """uint8 (N, H, W, channels) to the mean probabilities (N, C) of some members."""

    mean: Tensor
    deviation: Tensor

    def __init__(self, predictor: Predictor, members: list[int]) -> None:
        super().__init__()
        self.members = nn.ModuleList([predictor.module(m).cpu().float() for m in members])
        self.register_buffer("mean", torch.tensor(predictor.normalisation.mean, dtype=torch.float32))
        self.register_buffer("deviation", torch.tensor(predictor.normalisation.deviation, dtype=torch.float32))

    def forward(self, images: Tensor) -> Tensor:
        pixels = ((images.float() - self.mean) / self.deviation).permute(0, 3, 1, 2)
        return torch.stack([member(pixels).softmax(dim=1) for member in self.members]).mean(dim=0)


def write(predictor: Predictor, path: Path, classes: tuple[str, ...], member: int | None = None) -> float:
    """Writes the soft-vote ensemble, or one member; gives the largest difference from torch on some images."""
    onnx = require("onnx")
    require("onnxscript")
    runtime = require("onnxruntime")
    members = list(range(predictor.members)) if member is None else [member]
    module = _Vote(predictor, members).eval()
    channels, height, width = predictor.network.shape
    rng = np.random.default_rng(0)
    images = rng.integers(0, 256, (_CHECKED + 2, height, width, channels), np.uint8)
    images[-2], images[-1] = 0, 255
    looked_at = (images, images[:1])  # the number of images is free
    with torch.no_grad():  # before the export, which may leave tensors of its own in modules that keep something
        expected = [module(torch.from_numpy(some)).numpy() for some in looked_at]
    with replacing(path) as new:
        _export(module, torch.from_numpy(images), new)
        model = onnx.load(str(new))
        for key, value in (("classes", "\n".join(classes)), ("input", "uint8 images, N×H×W×channels, 0 to 255")):
            entry = model.metadata_props.add()
            entry.key, entry.value = key, value
        onnx.checker.check_model(model)
        onnx.save(model, str(new))
        session = runtime.InferenceSession(str(new), providers=["CPUExecutionProvider"])
        difference = 0.0
        for some, wanted in zip(looked_at, expected, strict=True):
            difference = max(difference, float(np.abs(session.run(None, {"images": some})[0] - wanted).max()))
        if not difference <= TOLERANCE:
            raise VersionspaceError(
                f"the ONNX file's probabilities differ from torch's by {difference:.2g}, more than {TOLERANCE:g}: "
                "nothing was written. Export safetensors instead, and report this with the network's name."
            )
    return difference


def _export(module: nn.Module, images: Tensor, path: Path) -> None:
    """torch's exporter, without its chatter."""
    for name in ("onnxscript", "torch.onnx"):
        logging.getLogger(name).setLevel(logging.ERROR)
    with warnings.catch_warnings(), redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
        warnings.simplefilter("ignore")
        torch.onnx.export(
            module, (images,), str(path), input_names=["images"], output_names=["probabilities"],
            dynamic_shapes={"images": {0: torch.export.Dim("N")}}, dynamo=True, external_data=False,
        )  # fmt: skip


_LEAST = 1e-30
"""A probability below this is written as this: the logarithm of zero is not a number to compute with."""


class _Whole(nn.Module):
    """Pixels (N, channels, H, W), 0 to 255, to the logarithm of the heads' mean probabilities (N, C).

    Their softmax is the mean again: to the exporter it is an ensemble of one, and the backbone runs once.
    """

    mean: Tensor
    deviation: Tensor

    def __init__(self, heads: Predictor, members: list[int], extractor: FeatureExtractor) -> None:
        super().__init__()
        backbone = extractor.module()
        assert backbone is not None
        self.backbone = backbone
        self.heads = nn.ModuleList([heads.module(m).cpu() for m in members])
        self.register_buffer("mean", torch.tensor(heads.normalisation.mean))
        self.register_buffer("deviation", torch.tensor(heads.normalisation.deviation))

    def forward(self, pixels: Tensor) -> Tensor:
        features = self.backbone(pixels.permute(0, 2, 3, 1))
        standardised = ((features - self.mean) / self.deviation)[:, :, None, None]
        mean = torch.stack([head(standardised).softmax(dim=1) for head in self.heads]).mean(dim=0)
        return mean.clamp_min(_LEAST).log()


def write_heads(
    heads: Predictor,
    image: tuple[int, ...],
    extractor: FeatureExtractor,
    path: Path,
    classes: tuple[str, ...],
    member: int | None,
) -> float:
    """Writes the soft vote of the heads, or one, for images (H, W, channels); gives the difference from torch."""
    height, width, channels = image
    members = list(range(heads.members)) if member is None else [member]
    whole = _Whole(heads, members, extractor).eval()
    shape = (channels, height, width)
    network = Network(lambda shape, classes: whole, shape, heads.network.classes, whole, "looped")
    plain = Normalisation((0.0,) * channels, (1.0,) * channels)
    one = Predictor(network, stack([whole]), plain, 1, 8, 1, torch.float32, torch.device("cpu"))
    return write(one, path, classes)
