"""An ensemble as one ONNX file: uint8 images or float32 features in, probabilities out; checked against torch.

The file contains the input stage (for heads: resizing and the extractor, once for all members), normalisation and the
networks. Requires the extra ``onnx``: onnx and onnxscript to write, onnxruntime to check.
"""

import io
import logging
import warnings
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from versionspace.ensemble.inputs import OnnxInput
from versionspace.ensemble.predict import Predictor
from versionspace.errors import VersionspaceError
from versionspace.extras import require
from versionspace.files import replacing
from versionspace.nets import to_contiguous
from versionspace.types import Array

TOLERANCE = 1e-4
"""The largest accepted difference between the file's probabilities and torch's."""


class _SoftVote(nn.Module):
    """Images (N, H, W, channels) or features (N, F) to the mean probabilities (N, C) of some members."""

    mean: Tensor
    deviation: Tensor

    def __init__(self, stage: nn.Module, predictor: Predictor, members: list[int]) -> None:
        super().__init__()
        self.stage = stage
        self.channels_last = predictor.network.is_ours
        self.members = nn.ModuleList([predictor.module(m).cpu().float() for m in members])
        self.register_buffer("mean", torch.tensor(predictor.normalisation.mean, dtype=torch.float32))
        self.register_buffer("deviation", torch.tensor(predictor.normalisation.deviation, dtype=torch.float32))

    def forward(self, images: Tensor) -> Tensor:
        inputs = ((self.stage(images) - self.mean) / self.deviation).permute(0, 3, 1, 2)
        if not self.channels_last:
            inputs = to_contiguous(inputs)
        return torch.stack([member(inputs).softmax(dim=1) for member in self.members]).mean(dim=0)


def write_onnx(
    stage: nn.Module, predictor: Predictor, given: OnnxInput, path: Path, classes: tuple[str, ...], members: list[int]
) -> float:
    """Write the soft vote of some members for inputs like the examples; return the largest difference from torch.

    ``stage`` is the module of the ensemble's input stage, ``given`` its input. Raise `VersionspaceError`, and write
    nothing, if the difference exceeds `TOLERANCE` or if torch cannot export the network.
    """
    onnx = require("onnx")
    require("onnxscript")
    runtime = require("onnxruntime")
    module = _SoftVote(stage, predictor, members).eval()
    batches = (given.examples, given.examples[:1])  # the file accepts any number of images
    with torch.no_grad():  # before the export, which may leave its own tensors in modules that cache some
        expected = [module(torch.from_numpy(batch)).numpy() for batch in batches]
    with replacing(path) as new:
        try:
            _export(module, torch.from_numpy(given.examples), given.name, new)
        except torch.onnx.errors.OnnxExporterError as error:
            raise VersionspaceError(
                "torch cannot express this network, or the extractor below it, as ONNX: nothing was written. Export "
                "safetensors instead: `versionspace predict` and Ensemble.load need no ONNX."
            ) from error
        model = onnx.load(str(new))
        for key, value in (("classes", "\n".join(classes)), ("input", given.about)):
            entry = model.metadata_props.add()
            entry.key, entry.value = key, value
        onnx.checker.check_model(model)
        onnx.save(model, str(new))
        difference = _largest_difference(runtime, new, given.name, batches, expected)
        if not difference <= TOLERANCE:
            raise VersionspaceError(
                f"the ONNX file's probabilities differ from torch's by {difference:.2g}, more than {TOLERANCE:g}: "
                "nothing was written. Export safetensors instead, and report this with the network's name."
            )
    return difference


def _largest_difference(
    runtime: Any, path: Path, name: str, batches: tuple[Array, ...], expected: list[Array]
) -> float:  # fmt: skip
    session = runtime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    outputs = [session.run(None, {name: batch})[0] for batch in batches]
    return float(np.max([np.abs(output - probs).max() for output, probs in zip(outputs, expected, strict=True)]))


def _export(module: nn.Module, images: Tensor, name: str, path: Path) -> None:
    """Run torch's exporter without its messages."""
    for logger in ("onnxscript", "torch.onnx"):
        logging.getLogger(logger).setLevel(logging.ERROR)
    with warnings.catch_warnings(), redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
        warnings.simplefilter("ignore")
        torch.onnx.export(
            module, (images,), str(path), input_names=[name], output_names=["probabilities"],
            dynamic_shapes=({0: torch.export.Dim("N")},), dynamo=True, external_data=False,
        )  # fmt: skip
