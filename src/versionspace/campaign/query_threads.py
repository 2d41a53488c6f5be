"""Query methods in campaigns run on one BLAS thread: matrix products round differently on several.

Importing this module does not import torch.
"""

from collections.abc import Iterator
from contextlib import contextmanager

from versionspace.extras import require


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Use one thread for NumPy's linear algebra, so that results do not depend on the number of cores."""
    with require("threadpoolctl").threadpool_limits(limits=1, user_api="blas"):
        yield
