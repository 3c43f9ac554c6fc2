"""What an experiment is: trainings as data, and a function from their results to a section."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from trilut.paper.runs import Run, RunResult

__all__ = [
    "Claim",
    "Experiment",
    "PaperTable",
    "Results",
    "Scale",
    "Section",
    "mean",
    "number",
    "share",
]

Results = Mapping[str, RunResult]
"""Finished trainings by the key of their run."""


@dataclass(frozen=True, slots=True)
class Scale:
    """How much is trained.

    Parameters
    ----------
    name : str
        ``small`` or ``full``.
    seeds : tuple of int
        Seeds of the synthetic tasks; each is a data set, a wiring and a training of its own.
    steps : int
        Steps on the synthetic tasks.
    shrink : int
        Divisor of the paper's layer widths on CIFAR-10.
    image_steps : int, optional
        Steps on CIFAR-10; the paper's for each network if left out.
    images : tuple of int, optional
        Training and test images of CIFAR-10; all if left out.
    """

    name: str
    seeds: tuple[int, ...]
    steps: int
    shrink: int = 1
    image_steps: int | None = None
    images: tuple[int, int] | None = None


@dataclass(frozen=True, slots=True)
class PaperTable:
    """Rows of text under headings; numbers are written by :func:`number` and :func:`share`."""

    columns: Sequence[str]
    rows: Sequence[Sequence[str]]


@dataclass(frozen=True, slots=True)
class Claim:
    """A statement that the runs bear out or not.

    Parameters
    ----------
    text : str
        What is claimed.
    holds : bool
        Whether it is so here.
    evidence : str
        The figures that decide it.
    ours : bool
        Whether the claim is ours; otherwise it is the paper's.
    """

    text: str
    holds: bool
    evidence: str
    ours: bool = False


@dataclass(frozen=True, slots=True)
class Section:
    """What an experiment gives: a note on how, tables, figures as SVG by name, and claims.

    If it is shrunk, that a claim of the paper does not hold says nothing of its full size.
    """

    note: str
    tables: Sequence[PaperTable] = ()
    figures: Mapping[str, str] = field(default_factory=dict)
    claims: Sequence[Claim] = ()
    is_shrunk: bool = False


@dataclass(frozen=True, slots=True)
class Experiment:
    """A table or figure of the paper.

    Parameters
    ----------
    name : str
        What the command line calls it.
    title : str
        A heading.
    runs : callable
        The trainings that it needs at a scale. Experiments share the runs that they have in common.
    build : callable
        Makes its section from the finished runs.
    repeats : str
        Which tables and figures of the paper these are, by their captions.
    """

    name: str
    title: str
    runs: Callable[[Scale], list[Run]]
    build: Callable[[Results, Scale], Section]
    repeats: str = ""


def number(value: float | None, digits: int = 1) -> str:
    """Write a number, or a dash for none."""
    return "–" if value is None else f"{value:,.{digits}f}"


def share(value: float | None, digits: int = 1) -> str:
    """Write a fraction of one in percent, without the sign."""
    return number(None if value is None else 100 * value, digits)


def mean(values: Sequence[float]) -> float:
    """Return the mean, of which a page shows only as many digits as seeds can bear."""
    return sum(values) / len(values)
