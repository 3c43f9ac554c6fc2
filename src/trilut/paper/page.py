"""The results page: Markdown, and figures beside it."""

import os
import platform
from collections.abc import Iterable, Mapping
from pathlib import Path

from trilut.files import make_directory, write_atomically
from trilut.paper.experiment import Claim, Experiment, PaperTable, Scale, Section
from trilut.report.page import machine_facts

__all__ = ["write_page"]

_FIGURES = "results"


def write_page(
    sections: Mapping[Experiment, Section],
    scale: Scale,
    seconds: float,
    directory: Path,
    *,
    names: str = "all",
) -> Path:
    """Write ``results.md`` and ``results/*.svg`` into a directory, and return the page's path.

    Parameters
    ----------
    seconds : float
        Processor time of all trainings.
    names : str
        The experiments as the command line was given them.
    """
    figures = make_directory(directory / _FIGURES)
    for section in sections.values():
        for name, figure in section.figures.items():
            write_atomically(figures / f"{name}.svg", figure + "\n")
    parts = [_head(names, scale, seconds), _verdicts(sections)]
    parts += [_section(experiment, section) for experiment, section in sections.items()]
    page = directory / "results.md"
    write_atomically(page, "\n".join(parts))
    return page


def _head(names: str, scale: Scale, seconds: float) -> str:
    small = (
        "CIFAR-10 is **shrunk** to what a small machine can do: narrower networks, fewer steps, "
        "fewer images; `--scale full` trains the paper's own configurations. So few steps leave "
        "the tables of PST far from gates: its rows on CIFAR-10 show that hardening costs, not "
        "how much it would cost after the paper's steps."
        if scale.shrink > 1
        else "CIFAR-10 has the paper's networks and steps."
    )
    return f"""# Results

The experiments of *Polynomial Surrogate Training for Differentiable Ternary Logic Gate Networks*
(Damera, Matheu, Puranic, Baras), trained again, with our recipe `hard` and a binary DLGN in the
same rows. Every figure on this page was made by

```
trilut paper {names} --scale {scale.name} --seeds {len(scale.seeds)} -o DIR
```

Columns headed *paper* are what the paper prints; all others were measured here. {small}
PST is the paper's training (`--recipe paper`) with targets of ±1; see [Training](training.md).
Settings of `hard` and DLGN that the paper does not give were chosen on small trials, those of DLGN
in its favour, and not tuned further.
An accuracy of 90 % on 2,000 samples has a standard error of 0.7 percentage points, and there is
that of the training besides: {_seeds(scale)}. Small differences say nothing.

Machine: {platform.machine()}, {os.cpu_count()} cores; Python {platform.python_version()},
{_versions()}.
The trainings took {seconds / 60:.0f} minutes of processor time.
"""


def _versions() -> str:
    """Name the packages that a training uses; without any, JAX may be missing."""
    found = machine_facts("jax", "numpy", "trilut")
    names = {"jax": "JAX", "numpy": "numpy", "trilut": "TriLUT"}
    return ", ".join(f"{name} {found[key]}" for key, name in names.items() if key in found)


def _seeds(scale: Scale) -> str:
    count = len(scale.seeds)
    if count == 1:
        return "one seed throughout"
    return f"the small tasks are the means of {count} seeds, CIFAR-10 has one"


def _verdicts(sections: Mapping[Experiment, Section]) -> str:
    def listed(ours: bool) -> list[str]:
        return [
            f"| {_mark(claim, section)} | {claim.text} | {claim.evidence} "
            f"| [{experiment.name}](#{_anchor(experiment)}) |"
            for experiment, section in sections.items()
            for claim in section.claims
            if claim.ours is ours
        ]

    lines = ["## What holds", ""]
    for heading, ours in (("The paper's claims", False), ("Ours", True)):
        if rows := listed(ours):
            lines += [
                f"**{heading}**",
                "",
                "| | claim | here | in |",
                "|---|---|---|---|",
                *rows,
                "",
            ]
    return "\n".join(lines)


def _mark(claim: Claim, section: Section) -> str:
    if claim.holds:
        return "holds"
    return "not at this scale" if section.is_shrunk and not claim.ours else "**does not**"


def _anchor(experiment: Experiment) -> str:
    kept = (c for c in experiment.title.lower() if c.isalnum() or c in " -")
    return "".join(kept).replace(" ", "-")


def _section(experiment: Experiment, section: Section) -> str:
    repeated = [f"The paper's {experiment.repeats}.", ""] if experiment.repeats else []
    lines = [f"## {experiment.title}", "", *repeated, section.note, ""]
    for table in section.tables:
        lines += [*_table_lines(table), ""]
    for name in section.figures:
        lines += [f"![{experiment.title}]({_FIGURES}/{name}.svg)", ""]
    return "\n".join(lines)


def _table_lines(table: PaperTable) -> Iterable[str]:
    yield "| " + " | ".join(table.columns) + " |"
    yield "|---|" + "---:|" * (len(table.columns) - 1)
    for row in table.rows:
        yield "| " + " | ".join(row) + " |"
