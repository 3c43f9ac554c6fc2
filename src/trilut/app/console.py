"""Talk on the terminal: progress on stderr, results on stdout."""

import math
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Literal

from rich import markup
from rich.console import Console
from rich.progress import (
    BarColumn,
    Progress,
    SpinnerColumn,
    Task,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.table import Table

from trilut import interrupt
from trilut.extras import missing
from trilut.report import tables
from trilut.text import cut, visible

__all__ = ["Stage", "print_table", "print_tables", "silent", "stages", "talk", "tell_missing"]

_WIDEST = 1000
_MOST_CHARACTERS = 10_000
_SECONDS_BETWEEN_LINES = 30
_stderr = Console(stderr=True, highlight=False)


class _Results(Console):
    """What prints results; that the reader has gone is for the command line to see."""

    def on_broken_pipe(self) -> None:
        """Raise the error again, where rich would end the program with status 1."""
        raise BrokenPipeError


def _shown(text: str) -> str:
    """Return text that says no more than itself: no markup, no commands to the terminal."""
    return markup.escape(visible(cut(text, _MOST_CHARACTERS)))


def talk(message: str) -> None:
    """Say something to the user, beside the results."""
    # A line of a log stays one, to be searched.
    _stderr.print(_shown(message), soft_wrap=not _stderr.is_terminal)


def tell_missing(what: str, *modules: str) -> None:
    """Say that something is left out, if a module that it needs is not installed."""
    if line := missing(*modules):
        talk(f"{what} is left out: {line}")


class Stage:
    """One line of progress, or without a terminal a line of a log now and then."""

    def __init__(self, progress: Progress, name: str, *, is_silent: bool = False):
        self._progress = progress
        self._name = name
        self._is_logged = not (_stderr.is_terminal or is_silent)
        task = progress.add_task(_shown(name), total=None, info="")
        self._task = progress.tasks[task]
        self._logged: float | None = None
        if self._is_logged:
            talk(f"{name} …")

    def update(self, done: int, total: int, info: str = "", *, unit: str = "") -> None:
        """Move the bar, with a few words beside it.

        Parameters
        ----------
        unit : str
            What is counted, for a log; without it, a log has only the percentage.
        """
        interrupt.check()
        self._progress.update(self._task.id, completed=done, total=total, info=_shown(info))
        if self._is_logged and self._is_due():
            self._logged = self._task.get_time()
            counted = f"{unit} {done} of {total}" if unit else ""
            percentage = f"{100 * done // max(total, 1)} %"
            parts = (counted, percentage, _time_left(self._task), info)
            talk(f"{self._name}: {', '.join(filter(None, parts))}")

    def _is_due(self) -> bool:
        """Whether to write a line: soon in what takes long, never in what is soon done."""
        task = self._task
        if self._logged is None:
            expected = (task.elapsed or 0) + (task.time_remaining or 0)
            return expected >= _SECONDS_BETWEEN_LINES
        return task.finished or task.get_time() - self._logged >= _SECONDS_BETWEEN_LINES

    def step(self, info: str) -> None:
        """Say what the stage is doing now, when its length is not known."""
        interrupt.check()
        self._progress.update(self._task.id, info=_shown(info))

    def finish(self, info: str) -> None:
        """Fill the bar; what is said stays on the screen."""
        interrupt.check()
        self._progress.update(self._task.id, completed=1, total=1, info=_shown(info))
        if self._is_logged:
            talk(f"{self._name}: {info}")


def _time_left(task: Task) -> str:
    """Say when a task will be done, if that is known."""
    if not task.time_remaining:
        return ""
    hours, minutes = divmod(math.ceil(task.time_remaining / 60), 60)
    return f"about {hours} h {minutes} min left" if hours else f"about {minutes} min left"


@contextmanager
def stages() -> Iterator["Stages"]:
    """Show the progress of several stages, one line each."""
    columns = (
        SpinnerColumn(finished_text="✓"),
        TextColumn("{task.description:10}"),
        BarColumn(bar_width=24),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
        TextColumn("{task.fields[info]}"),
    )
    with Progress(
        *columns,
        console=_stderr,
        # By default updates older than 30 s are forgotten, and a long training has no others.
        speed_estimate_period=math.inf,
        # Without a terminal a bar is noise; then a stage says lines.
        disable=not _stderr.is_terminal,
    ) as progress:
        yield Stages(progress)


@contextmanager
def silent() -> Iterator["Stages"]:
    """Show nothing of any stage, where others tell how it goes."""
    yield Stages(Progress(disable=True), is_silent=True)


class Stages:
    """A place to start stages in."""

    def __init__(self, progress: Progress, *, is_silent: bool = False):
        self._progress = progress
        self._is_silent = is_silent

    def start(self, name: str) -> Stage:
        """Start a stage."""
        return Stage(self._progress, name, is_silent=self._is_silent)


def print_table(title: str, rows: Mapping[str, str]) -> None:
    """Print two columns of results."""
    table = Table(title=_shown(title), show_header=False, title_justify="left")
    table.add_column(style="bold")
    table.add_column()
    for name, value in rows.items():
        table.add_row(_shown(name), _shown(value))
    # Not a module constant: tests and pipes replace sys.stdout.
    _Results(file=sys.stdout, highlight=False).print(table)


def print_tables(shown: Iterable[tables.Table]) -> None:
    """Print tables of any number of columns, with their notes."""
    console = _Results(file=sys.stdout, highlight=False)
    for table in shown:
        grid = Table(title=_shown(table.title), show_header=any(table.header), title_justify="left")
        # Two columns fold; more of them would be unreadable so, and are as wide as they must be.
        wide = len(table.header) > 2
        for name, numeric in zip(table.header, table.numeric, strict=True):
            justify: Literal["left", "right"] = "right" if numeric else "left"
            grid.add_column(_shown(name), justify=justify, no_wrap=wide)
        for row in table.rows:
            grid.add_row(*map(_shown, row))
        needed = Console(width=_WIDEST).measure(grid).maximum if wide else 0
        _Results(file=sys.stdout, highlight=False, width=max(console.width, needed)).print(grid)
        for note in table.notes:
            console.print(_shown(note))
