"""Check an installed wheel: the compiled kernels are there and answer as the NumPy ones do."""

import numpy as np

import versionspace as vs
from versionspace.space import kernels

assert kernels.COMPILED, "the wheel has no compiled kernels"
rng = np.random.default_rng(0)
pool, reference = rng.dirichlet(np.ones(5), (8, 200)), rng.dirichlet(np.ones(5), (8, 100))
compiled = vs.utilities("gvd", pool=pool, reference=reference)
kernels.COMPILED = False
assert np.array_equal(compiled, vs.utilities("gvd", pool=pool, reference=reference)), "the kernels disagree"
print(f"versionspace {vs.__version__}: the compiled kernels work")
