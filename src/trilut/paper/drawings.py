"""Figures of the results page, as SVG text."""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from trilut.measure.analysis import Landscape
from trilut.measure.evaluation import Evaluation
from trilut.paper.runs import RunResult
from trilut.report.figures import decision_grid, draw_landscape, draw_regions, draw_spectrum
from trilut.report.svg import CLASS_COLOURS, new_figure, styled, svg_file

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = [
    "LABELS",
    "boundary_figure",
    "class_figure",
    "coverage_figure",
    "entropy_figure",
    "gap_figure",
    "landscape_figure",
    "loss_figure",
    "loss_landscape_figure",
    "overlay_figure",
    "profile_figure",
    "scaling_figure",
    "separation_figure",
    "sweep_figure",
]

LABELS = {
    "dlgn": "DLGN",
    "paper": "PST",
    "hard": "hard",
    "fine": "hard, K=8",
    "untrained": "untrained",
    "ceiling": "encoding ceiling",
}
"""What the recipes are called on the page."""

_COLOURS = {
    "dlgn": "#4c78a8",
    "paper": "#f58518",
    "hard": "#54a24b",
    "fine": "#2f6b2a",
    "untrained": "#b279a2",
    "ceiling": "#888888",
}
_GALLERY = 120


def _subplots(rows: int, columns: int, width: float, height: float) -> tuple["Figure", Any]:
    """Return a figure of equal parts, the size of each in inches, and its axes [row, column]."""
    figure = new_figure(width * columns, height * rows)
    return figure, figure.subplots(rows, columns, squeeze=False)


@styled
def gap_figure(gaps: Mapping[str, Mapping[str, float]]) -> str:
    """Draw the hardening gap of each task and recipe as bars."""
    figure, axes = _subplots(1, 1, 7, 3)
    _bars(axes[0, 0], gaps)
    axes[0, 0].set_ylabel("soft − hardened (pp)")
    return svg_file(figure)


@styled
def class_figure(
    networks: Mapping[str, Mapping[str, Mapping[str, float | None]]],
) -> str:
    """Draw the accuracy of each class as bars, one for each recipe; a plot for each network."""
    figure, axes = _subplots(2, (len(networks) + 1) // 2, 5.2, 2.6)
    for axis, (network, accuracies) in zip(axes.ravel(), networks.items(), strict=True):
        names = next(iter(accuracies.values()))
        values = {
            name: {recipe: by_class[name] or 0.0 for recipe, by_class in accuracies.items()}
            for name in names
        }
        _bars(axis, values)
        axis.tick_params(axis="x", rotation=45)
        axis.set_title(network)
    for row in axes:
        row[0].set_ylabel("hardened accuracy (%)")
    _one_legend(figure, axes)
    return svg_file(figure)


def _one_legend(figure: "Figure", axes: Any) -> None:
    """Put one legend above all plots instead of one into each."""
    for axis in axes.ravel():
        if legend := axis.get_legend():
            legend.remove()
    handles, labels = axes[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=len(labels))


def _bars(axis: Any, values: Mapping[str, Mapping[str, float]]) -> None:
    recipes = list(next(iter(values.values())))
    width = 0.8 / len(recipes)
    for number, recipe in enumerate(recipes):
        places = np.arange(len(values)) + (number - (len(recipes) - 1) / 2) * width
        heights = [100 * by_recipe[recipe] for by_recipe in values.values()]
        axis.bar(places, heights, width, color=_COLOURS[recipe], label=LABELS[recipe])
    axis.axhline(0, color="black", linewidth=0.6)
    axis.set_xticks(range(len(values)), list(values))
    axis.legend()


@styled
def boundary_figure(circuits: Mapping[str, Mapping[str, RunResult]]) -> str:
    """Draw a row of plots for each task: samples, three decisions and two shares of UNKNOWN."""
    figure, axes = _subplots(len(circuits), 6, 2.2, 2.0)
    titles = ("samples", "DLGN", "PST", "hard", "UNKNOWN, PST", "UNKNOWN, hard")
    for row, (task, by_recipe) in zip(axes, circuits.items(), strict=True):
        test = by_recipe["hard"].test
        row[0].scatter(
            *test.x[:600].T, c=np.array(CLASS_COLOURS)[test.y[:600]], s=2, rasterized=True
        )
        row[0].set_ylabel(task)
        grids = {
            recipe: decision_grid(result.netlist, test, size=_GALLERY)
            for recipe, result in by_recipe.items()
        }
        for axis, recipe in zip(row[1:4], ("dlgn", "paper", "hard"), strict=True):
            draw_regions(axis, grids[recipe])
        for axis, recipe in zip(row[4:], ("paper", "hard"), strict=True):
            _heat(axis, grids[recipe].unknown, grids[recipe].extent)
    for axis, title in zip(axes[0], titles, strict=True):
        axis.set_title(title, fontsize=9)
    for axis in axes.ravel():
        axis.set_xticks([])
        axis.set_yticks([])
    return svg_file(figure)


def _heat(axis: Any, values: NDArray[np.float64], extent: Sequence[float]) -> Any:
    return axis.imshow(
        values, origin="lower", extent=extent, aspect="auto", cmap="Oranges", vmin=0, vmax=1
    )


@styled
def coverage_figure(curves: Mapping[str, Mapping[str, Evaluation]]) -> str:
    """Draw accuracy over coverage, a plot for each task."""
    figure, axes = _subplots(1, len(curves), 3.2, 2.8)
    for axis, (task, by_recipe) in zip(axes[0], curves.items(), strict=True):
        for recipe, evaluation in by_recipe.items():
            curve = evaluation.coverage_curve
            axis.plot(
                100 * np.array(curve["coverage"]),
                100 * np.array(curve["accuracy"]),
                color=_COLOURS[recipe],
                label=LABELS[recipe],
            )
        axis.set_title(task)
        axis.set_xlabel("samples answered (%)")
        axis.grid()
    axes[0, 0].set_ylabel("accuracy (%)")
    axes[0, 0].legend()
    return svg_file(figure)


@styled
def separation_figure(
    separations: Sequence[float],
    unknown: Mapping[str, Sequence[float]],
    bayes: Sequence[float],
    correlations: Mapping[str, Sequence[float]],
) -> str:
    """Draw UNKNOWN and the Bayes error over the separation, and how the margin follows entropy."""
    figure, axes = _subplots(1, 2, 4.5, 3)
    left, right = axes[0]
    for recipe, values in unknown.items():
        left.plot(
            separations,
            100 * np.array(values),
            color=_COLOURS[recipe],
            label=f"UNKNOWN, {LABELS[recipe]}",
        )
    left.plot(separations, 100 - 100 * np.array(bayes), color="black", label="Bayes error")
    left.set_ylim(0, 80)
    left.set_ylabel("%")
    for recipe, values in correlations.items():
        right.plot(separations, values, color=_COLOURS[recipe], label=LABELS[recipe])
    right.axhline(0.8, color="black", linewidth=0.6, linestyle=":")
    right.set_ylabel("margin and entropy, ranks")
    for axis in (left, right):
        axis.set_xlabel("separation (σ)")
        axis.legend()
        axis.grid()
    return svg_file(figure)


@styled
def entropy_figure(
    circuits: Mapping[str, RunResult],
    entropy: Callable[[NDArray[np.float64]], NDArray[np.float64]],
) -> str:
    """Draw the Bayes entropy, and the share of UNKNOWN of each circuit with its contours on it."""
    figure, axes = _subplots(1, 1 + len(circuits), 3.3, 2.8)
    for axis, (recipe, result) in zip(axes[0][1:], circuits.items(), strict=True):
        grid = decision_grid(result.netlist, result.test, size=_GALLERY)
        levels = entropy(grid.points).reshape(_GALLERY, _GALLERY)
        _heat(axes[0, 0], levels, grid.extent)
        figure.colorbar(_heat(axis, grid.unknown, grid.extent), ax=axis)
        axis.contour(
            levels, extent=grid.extent, levels=[0.25, 0.5, 0.9], colors="black", linewidths=0.7
        )
        axis.set_title(f"UNKNOWN, {LABELS[recipe]}; lines: entropy", fontsize=9)
    axes[0, 0].set_title("Bayes entropy H(y|x), bits", fontsize=9)
    for axis in axes[0]:
        axis.set_xlabel("x")
    axes[0, 0].set_ylabel("y")
    return svg_file(figure)


@styled
def sweep_figure(
    name: str,
    places: Sequence[float],
    accuracies: Mapping[str, Sequence[float]],
    unknown: Mapping[str, Sequence[float]],
) -> str:
    """Draw accuracies and shares of UNKNOWN over a setting, at equal distances."""
    figure, axes = _subplots(1, 2, 4.5, 3)
    for axis, curves in zip(axes[0], (accuracies, unknown), strict=True):
        for recipe, values in curves.items():
            axis.plot(
                range(len(places)),
                100 * np.array(values),
                ":" if recipe in ("ceiling", "untrained") else "-",
                marker=".",
                color=_COLOURS[recipe],
                label=LABELS[recipe],
            )
        axis.set_xticks(range(len(places)), [f"{place:g}" for place in places])
        axis.set_xlabel(name)
        axis.legend()
        axis.grid()
    axes[0, 0].set_ylabel("hardened accuracy (%)")
    axes[0, 1].set_ylabel("UNKNOWN outputs (%)")
    axes[0, 1].set_ylim(bottom=0)
    return svg_file(figure)


@styled
def scaling_figure(curves: Mapping[str, tuple[Sequence[int], Sequence[float]]]) -> str:
    """Draw hardened accuracy over the number of gates."""
    figure, axes = _subplots(1, 1, 5, 3)
    axis = axes[0, 0]
    for recipe, (sizes, accuracies) in curves.items():
        axis.semilogx(
            sizes,
            100 * np.array(accuracies),
            marker=".",
            color=_COLOURS[recipe],
            label=LABELS[recipe],
        )
    sizes = next(iter(curves.values()))[0]
    axis.set_xticks(sizes, [f"{size / 1000:.0f}K" for size in sizes])
    axis.minorticks_off()
    axis.set_xlabel("gates")
    axis.set_ylabel("hardened accuracy (%)")
    axis.legend()
    axis.grid()
    return svg_file(figure)


@styled
def profile_figure(profiles: Mapping[str, Sequence[Mapping[str, float]]]) -> str:
    """Draw the shares of the Fourier energy, layer by layer."""
    figure, axes = _subplots(1, len(profiles), 4, 2.8)
    for axis, (recipe, layers) in zip(axes[0], profiles.items(), strict=True):
        draw_spectrum(axis, layers)
        axis.set_title(LABELS[recipe])
    axes[0, 0].set_ylabel("Fourier energy (%)")
    figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside right")
    return svg_file(figure)


@styled
def landscape_figure(maps: Mapping[str, Mapping[str, Landscape]]) -> str:
    """Draw maps of gates: a row for each metric, a column for each circuit."""
    columns = len(next(iter(maps.values())))
    figure, axes = _subplots(len(maps), columns, 2.8, 2.7)
    for row, (metric, by_circuit) in zip(axes, maps.items(), strict=True):
        for axis, (name, landscape) in zip(row, by_circuit.items(), strict=True):
            draw_landscape(axis, landscape)
            axis.set_title(f"{name}, {metric.capitalize()}, fit {landscape.fit:.2f}", fontsize=8)
    return svg_file(figure)


@styled
def loss_figure(curves: Mapping[str, Mapping[str, Sequence[Mapping[str, float]]]]) -> str:
    """Draw the course of the loss, a plot for each network."""
    figure, axes = _subplots(2, (len(curves) + 1) // 2, 3, 2.4)
    for axis, (network, by_recipe) in zip(axes.ravel(), curves.items(), strict=False):
        for recipe, history in by_recipe.items():
            axis.semilogy(
                [line["step"] for line in history],
                [line["loss"] for line in history],
                color=_COLOURS[recipe],
                label=LABELS[recipe],
            )
        axis.set_title(network)
        axis.grid()
        _plain_logarithms(axis)
    _one_legend(figure, axes)
    for axis in axes[-1]:
        axis.set_xlabel("step")
    for row in axes:
        row[0].set_ylabel("loss")
    return svg_file(figure)


def _plain_logarithms(axis: Any) -> None:
    """Write the numbers of a logarithmic axis in full."""
    from matplotlib.ticker import LogLocator, NullFormatter

    axis.yaxis.set_major_locator(LogLocator(subs=(1, 2, 3, 5)))
    axis.yaxis.set_major_formatter("{x:g}")
    axis.yaxis.set_minor_formatter(NullFormatter())


@styled
def overlay_figure(curves: Mapping[str, Sequence[Mapping[str, float]]]) -> str:
    """Draw the course of the loss of several networks in one plot."""
    from matplotlib import colormaps

    figure, axes = _subplots(1, 1, 6, 3)
    shades = colormaps["YlOrBr"](np.linspace(0.35, 0.95, len(curves)))
    for colour, (network, history) in zip(shades, curves.items(), strict=True):
        steps, losses = ([line[key] for line in history] for key in ("step", "loss"))
        axes[0, 0].semilogy(steps, losses, color=colour, label=network)
    axes[0, 0].set_xlabel("step")
    axes[0, 0].set_ylabel("loss of PST")
    axes[0, 0].grid()
    _plain_logarithms(axes[0, 0])
    axes[0, 0].legend(ncols=2)
    return svg_file(figure)


@styled
def loss_landscape_figure(found: Mapping[str, Mapping[str, Any]]) -> str:
    """Draw the loss above and the hardened accuracy below, a column for each training."""
    figure, axes = _subplots(2, len(found), 2.8, 2.4)
    for (upper, lower), (name, plane) in zip(axes.T, found.items(), strict=True):
        loss = upper.contourf(
            plane["grid"], plane["grid"], plane["loss"], levels=12, cmap="viridis"
        )
        figure.colorbar(loss, ax=upper)
        upper.set_title(f"{name}: loss", fontsize=8)
        right = lower.contourf(
            plane["grid"], plane["grid"], 100 * np.array(plane["accuracy"]), levels=12, cmap="magma"
        )
        figure.colorbar(right, ax=lower)
        lower.set_title("hardened accuracy (%)", fontsize=8)
    return svg_file(figure)
