"""Builds the compiled kernels; everything else about the package is in pyproject.toml.

The extension is optional: where no GCC or Clang is at hand the install still succeeds and the NumPy kernels are used.
It speaks the stable ABI, so that one wheel per platform serves Python 3.11 and later; free-threaded builds of Python
have no stable ABI yet and get their own.
"""

import sysconfig

from setuptools import Extension, setup

STABLE = not sysconfig.get_config_var("Py_GIL_DISABLED")

setup(
    ext_modules=[
        Extension(
            "versionspace.space._kernels",
            ["src/versionspace/space/_kernels.c"],
            extra_compile_args=["-O3", "-std=gnu11", "-ffp-contract=off", "-Wno-psabi"],
            py_limited_api=STABLE,
            optional=True,
        )
    ],
    options={"bdist_wheel": {"py_limited_api": "cp311"}} if STABLE else {},
)
