"""Optional packages: import them where they are used, and say how to install those that are missing."""

import importlib
from typing import Any

from versionspace.errors import MissingPackageError

EXTRAS = {
    "PIL": "data", "platformdirs": "data", "pooch": "data", "requests": "data", "scipy": "data", "sklearn": "data",
    "safetensors": "train", "torch": "train", "pydantic": "run", "threadpoolctl": "run", "tomli_w": "run",
    "fastapi": "label", "uvicorn": "label",
    "jinja2": "report", "markupsafe": "report", "matplotlib": "report",
    "timm": "timm", "torchvision": "torchvision", "transformers": "hf", "pyarrow": "parquet", "pillow_heif": "heif",
    "onnx": "onnx", "onnxruntime": "onnx", "onnxscript": "onnx",
    "ray": "cluster",
}  # fmt: skip
"""The extra of versionspace that installs each optional package."""


def require(module: str, extra: str | None = None, *, attribute: str | None = None) -> Any:
    """Import and return a module that is, or that imports, an optional package; or an attribute of that module.

    Raises `MissingPackageError`, which names the extra to install; by default the one in `EXTRAS`.

    >>> require("json").dumps([1])
    '[1]'
    """
    try:
        imported = importlib.import_module(module)
        return imported if attribute is None else getattr(imported, attribute)
    except MissingPackageError:
        raise
    except ImportError as error:
        package = (error.name or module).partition(".")[0]
        if package == "versionspace":  # a module of our own: no installation fixes that
            raise
        raise missing_package(package, error, extra) from error


def missing_package(package: str, error: ImportError, extra: str | None = None) -> MissingPackageError:
    """Return the error about a package that cannot be imported; ``extra``: by default the one in `EXTRAS`."""
    extra = extra or EXTRAS.get(package)
    return MissingPackageError(
        package,
        expected="this Python package to be installed",
        got=str(error),
        fix=f"Install it with: pip install '{f'versionspace[{extra}]' if extra else package}'",
    )
