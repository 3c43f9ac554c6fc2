"""Several things at once."""

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

__all__ = ["in_parallel"]

_Item = TypeVar("_Item")
_Result = TypeVar("_Result")

_MAX_THREADS = 16


def in_parallel(work: Callable[[_Item], _Result], items: Iterable[_Item]) -> list[_Result]:
    """Do something for every item in threads of their own, and return the results in order.

    The threads are for waiting: tools that they start are limited where they are run. The first
    failure in the order of the items is raised when those that had begun have ended.
    """
    executor = ThreadPoolExecutor(_MAX_THREADS)
    try:
        futures = [executor.submit(work, item) for item in items]
        return [future.result() for future in futures]
    finally:
        executor.shutdown(cancel_futures=True)
