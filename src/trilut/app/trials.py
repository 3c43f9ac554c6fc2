"""Many trials at a time: in processes of this machine, or on the machines of a Dask cluster."""

import multiprocessing
import os
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import AbstractContextManager, contextmanager
from typing import TypeVar

from trilut import interrupt
from trilut.errors import ToolError
from trilut.extras import require

__all__ = ["check_cluster", "in_processes", "in_threads"]

_Item = TypeVar("_Item")
_Result = TypeVar("_Result")

_SECONDS_TO_CONNECT = 10


def in_processes(
    task: Callable[[_Item], _Result],
    items: Sequence[_Item],
    *,
    workers: int,
    scheduler: str | None = None,
) -> Generator[_Result, None, None]:
    """Do a task for every item, and give each result when it is there.

    Task, items and results are sent as pickles, to processes that this one has started or that
    whoever named the scheduler trusts.

    Parameters
    ----------
    workers : int
        How many at a time on this machine; one is done in this process.
    scheduler : str, optional
        Address of a Dask scheduler, whose workers then do them all.

    Raises
    ------
    ToolError
        If the scheduler cannot be reached, or a process is killed.
    """
    if scheduler is None and workers == 1:
        return (task(item) for item in items)
    return _results(task, items, _processes(workers) if scheduler is None else _cluster(scheduler))


def in_threads(
    task: Callable[[_Item], _Result],
    items: Sequence[_Item],
    *,
    workers: int,
    scheduler: str | None = None,
) -> Generator[_Result, None, None]:
    """Do as :func:`in_processes`, but on this machine in threads: for tasks that start tools."""
    return _results(task, items, _threads(workers) if scheduler is None else _cluster(scheduler))


def check_cluster(scheduler: str) -> None:
    """Check that a scheduler can be reached, before the work that ends in its use.

    Raises
    ------
    ToolError
        If it cannot, or Dask is not installed.
    """
    with _cluster(scheduler):
        pass


def _results(
    task: Callable[[_Item], _Result],
    items: Sequence[_Item],
    pool: AbstractContextManager[Executor],
) -> Generator[_Result, None, None]:
    with pool as executor:
        try:
            futures = [executor.submit(task, item) for item in items]
            for future in as_completed(futures):
                yield future.result()
        except BrokenProcessPool as error:
            raise ToolError(
                "A worker process was killed, perhaps for want of memory; what is finished is kept"
            ) from error


@contextmanager
def _threads(workers: int) -> Iterator[Executor]:
    executor = ThreadPoolExecutor(workers)
    try:
        yield executor
    finally:
        executor.shutdown(cancel_futures=True)


@contextmanager
def _processes(workers: int) -> Iterator[Executor]:
    # Started afresh, because JAX has threads that no copy of a process has.
    context = multiprocessing.get_context("spawn")
    executor = ProcessPoolExecutor(workers, context, initializer=_start_worker)
    try:
        yield executor
    except KeyboardInterrupt:
        interrupt.pass_on(process.pid for process in multiprocessing.active_children())
        raise
    finally:
        executor.shutdown(cancel_futures=True)


def _start_worker() -> None:
    interrupt.install()
    # Trainings at the same time would wait for each other's threads.
    flags = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
    os.environ["XLA_FLAGS"] = f"{os.environ.get('XLA_FLAGS', '')} {flags}".strip()


@contextmanager
def _cluster(scheduler: str) -> Iterator[Executor]:
    require("distributed")
    from distributed import Client

    try:
        client = Client(scheduler, timeout=_SECONDS_TO_CONNECT, set_as_default=False)
    except (OSError, ValueError) as error:
        raise ToolError(
            f"Cannot reach a Dask scheduler at {scheduler!r}: {str(error).splitlines()[0]}"
        ) from error
    with client:
        executor = client.get_executor()
        try:
            yield executor
        finally:
            # Dask's way to say that what is not finished is not wanted any more.
            executor.shutdown(wait=False)
