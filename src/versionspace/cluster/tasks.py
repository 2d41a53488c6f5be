"""Run a function on many items as Ray tasks, a bounded number of them at a time.

Ray runs a task again whose process or machine died, up to the cluster's number of retries; an error that the function
raises is not retried, and is raised here as it was there.
"""

from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TypeVar

from versionspace.errors import TrainingError, VersionspaceError

if TYPE_CHECKING:
    from versionspace.cluster.executor import Cluster

Item = TypeVar("Item")
Result = TypeVar("Result")

_POLL_SECONDS = 0.5
_AHEAD = 2
"""Tasks that are submitted for each worker, so that none waits for this process."""


def run_tasks(
    cluster: "Cluster",
    ray: Any,
    function: Callable[..., Result],
    items: Iterable[Item],
    *shared: Any,
    check: Callable[[], None] = lambda: None,
) -> Iterator[tuple[int, Result]]:
    """Yield the number of each item and ``function(item, *shared)``, in the order in which they are complete.

    Items are drawn while the tasks run, so that at most twice as many items and results as workers are in memory.
    ``shared``: arguments of all tasks; pass large ones as references (``ray.put``). ``check`` is called twice a second
    or more often, and may raise to stop. Raises what the function raised, or
    `TrainingError` with its message if that is no error of versionspace. On any error, Ctrl-C included, the tasks that
    are left are cancelled.
    """
    task = ray.remote(function).options(
        num_cpus=cluster.cpus, num_gpus=cluster.gpus, max_retries=cluster.retries, retry_exceptions=False
    )
    waiting: dict[Any, int] = {}
    numbered = enumerate(items)
    try:
        while True:
            most = _AHEAD * cluster.limit(ray)
            while len(waiting) < most and (following := next(numbered, None)) is not None:
                waiting[task.remote(following[1], *shared)] = following[0]
            if not waiting:
                return
            check()
            ready, _ = ray.wait(list(waiting), num_returns=1, timeout=_POLL_SECONDS)
            for reference in ready:
                number = waiting.pop(reference)
                yield number, _result(ray, reference)
    finally:
        for reference in waiting:
            with suppress(ray.exceptions.RayError, ConnectionError):
                ray.cancel(reference, force=True)


def _result(ray: Any, reference: Any) -> Any:
    try:
        return ray.get(reference)
    except ray.exceptions.RayTaskError as error:
        cause = getattr(error, "cause", None)
        if isinstance(cause, VersionspaceError):
            raise cause from None
        raise TrainingError(f"a task failed: {type(cause).__name__}: {cause}") from error
    except ray.exceptions.RayError as error:
        line = (str(error).strip().splitlines() or [type(error).__name__])[0]
        raise TrainingError(f"a task was lost, and so were its retries: {line}") from error
