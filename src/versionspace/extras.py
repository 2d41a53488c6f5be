"""Optional packages: imported where they are used, with a message that says how to install them."""

import importlib
from typing import Any

from versionspace.errors import MissingPackageError

EXTRAS = {
    "PIL": "data", "platformdirs": "data", "pooch": "data", "requests": "data", "scipy": "data", "sklearn": "data",
    "safetensors": "train", "torch": "train", "pydantic": "run", "tomli_w": "run",
    "fastapi": "label", "uvicorn": "label",
    "jinja2": "report", "markupsafe": "report", "matplotlib": "report",
    "onnx": "onnx", "onnxruntime": "onnx", "onnxscript": "onnx",
}  # fmt: skip
"""The extra of `versionspace` that installs each optional package."""


def require(module: str, extra: str | None = None) -> Any:
    """Import and return a module of an optional package.

    Raises `MissingPackageError`, which names the extra to install. ``extra``: by default the one in `EXTRAS`.

    >>> require("json").dumps([1])
    '[1]'
    """
    try:
        return importlib.import_module(module)
    except ImportError as error:
        package = module.partition(".")[0]
        raise missing(package, extra or EXTRAS.get(package, ""), error) from error


def missing(package: str, extra: str, error: ImportError) -> MissingPackageError:
    """Return the error about a package that cannot be imported."""
    wanted = f"versionspace[{extra}]" if extra else package
    return MissingPackageError(
        package, expected="this Python package to be installed", got=str(error), fix=f"pip install '{wanted}'"
    )
