"""Figures of the report, as SVG text."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from trilut.circuit.gates import gate_id, gate_name, table_text
from trilut.circuit.head import Decisions
from trilut.circuit.netlist import Netlist
from trilut.data import Split
from trilut.errors import NetlistError
from trilut.measure.analysis import Landscape
from trilut.measure.evaluation import MissingPoint
from trilut.measure.metrics import coverage_curve
from trilut.report.svg import CLASS_COLOURS, new_figure, plain_text, styled, svg_text
from trilut.text import cut, visible

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = [
    "DecisionGrid",
    "confusion_figure",
    "coverage_figure",
    "decision_figure",
    "decision_grid",
    "draw_landscape",
    "draw_regions",
    "draw_spectrum",
    "frequency_figure",
    "landscape_figure",
    "layer_gap_figure",
    "margin_figure",
    "missing_figure",
    "spectrum_figure",
    "training_figure",
    "unknown_figure",
]

_GRID = 200
# With more classes the numbers would not be legible.
_WRITTEN_CLASSES = 20
# As many find room below an axis.
_LABEL_LETTERS = 40
_FREQUENT_GATES = 14
# Inches: two figures fill the width of a page.
_SIZE = (5.4, 3.6)
_UNKNOWN_COLOUR = "#d9d9d9"
_NAMED_COLOUR = "#e45756"


@dataclass(frozen=True, slots=True, eq=False)
class DecisionGrid:
    """What a circuit of two features says all over the plane.

    Parameters
    ----------
    points : float64 array [row · column, 2]
        The features.
    chosen : int64 array [row, column]
        The class, −1 where the circuit abstains.
    unknown : float64 array [row, column]
        Share of the output trits that are UNKNOWN.
    extent : tuple of float
        Left, right, bottom, top.
    names : tuple of str
        The two features.
    """

    points: NDArray[np.float64]
    chosen: NDArray[np.int64]
    unknown: NDArray[np.float64]
    extent: tuple[float, float, float, float]
    names: tuple[str, ...]


def decision_grid(netlist: Netlist, split: Split, *, size: int = _GRID) -> DecisionGrid:
    """Evaluate a circuit on a grid of size × size points around some samples.

    Raises
    ------
    NetlistError
        If the circuit does not have exactly two features and a head.
    """
    if netlist.encoder is None or netlist.head is None or len(netlist.encoder.features) != 2:
        raise NetlistError(f"Netlist {netlist.name!r} does not classify samples of two features")
    from trilut.sim import evaluate

    lowest, highest = np.nanmin(split.x, axis=0), np.nanmax(split.x, axis=0)
    border = 0.05 * (highest - lowest)
    x, y = (
        np.linspace(low, high, size)
        for low, high in zip(lowest - border, highest + border, strict=True)
    )
    points = np.stack([axis.ravel() for axis in np.meshgrid(x, y)], axis=1)
    outputs = evaluate(netlist, netlist.encoder.encode(points))
    decisions = netlist.head.decide(netlist.head.scores(outputs))
    return DecisionGrid(
        points,
        np.where(decisions.unknown, -1, decisions.chosen).reshape(size, size),
        (outputs == 0).mean(axis=1).reshape(size, size),
        (float(x[0]), float(x[-1]), float(y[0]), float(y[-1])),
        tuple(feature.name for feature in netlist.encoder.features),
    )


def _new_axis(size: tuple[float, float] = _SIZE) -> tuple["Figure", Any]:
    figure = new_figure(*size)
    return figure, figure.subplots()


def _count(axis: Any) -> None:
    """Mark whole numbers only below an axis."""
    from matplotlib.ticker import MaxNLocator

    axis.xaxis.set_major_locator(MaxNLocator(integer=True))


@styled
def decision_figure(grid: DecisionGrid, split: Split) -> str:
    """Draw the chosen class at every point, grey where the circuit abstains, and samples on top."""
    figure, axis = _new_axis()
    draw_regions(axis, grid)
    colours = np.array(CLASS_COLOURS)[split.y % len(CLASS_COLOURS)]
    axis.scatter(*split.x.T, c=colours, s=5, edgecolors="white", linewidths=0.2, rasterized=True)
    axis.set_title("Decision (grey: abstains) and test samples")
    _name_features(axis, grid)
    return svg_text(figure)


@styled
def unknown_figure(grid: DecisionGrid) -> str:
    """Draw the share of output trits that are UNKNOWN, at every point."""
    figure, axis = _new_axis()
    image = axis.imshow(
        100 * grid.unknown,
        origin="lower",
        extent=grid.extent,
        aspect="auto",
        cmap="Oranges",
        vmin=0,
        vmax=100,
    )
    bar = figure.colorbar(image, ax=axis)
    bar.outline.set_visible(False)
    axis.set_title("UNKNOWN outputs (%)")
    _name_features(axis, grid)
    return svg_text(figure)


def _name_features(axis: Any, grid: DecisionGrid) -> None:
    axis.set_xlabel(plain_text(grid.names[0]))
    axis.set_ylabel(plain_text(grid.names[1]))


@styled
def coverage_figure(decisions: Decisions, split: Split) -> str:
    """Draw accuracy against the share of samples answered, most confident first."""
    curve = coverage_curve(decisions, split.y)
    figure, axis = _new_axis()
    axis.plot(100 * curve.coverage, 100 * curve.accuracy, marker=".", color=CLASS_COLOURS[0])
    axis.set_xlabel("samples answered, by falling margin (%)")
    axis.set_ylabel("accuracy (%)")
    axis.set_title("Accuracy and coverage")
    axis.grid()
    return svg_text(figure)


@styled
def missing_figure(points: Sequence[MissingPoint]) -> str:
    """Draw what a circuit does while more and more features are missing."""
    figure, axis = _new_axis()
    missing = [100 * point.dropped for point in points]
    lines = {
        "right": [point.accuracy for point in points],
        "right, where it answers": [point.accuracy_answered or np.nan for point in points],
        "abstains": [point.abstained for point in points],
    }
    for (label, values), colour in zip(lines.items(), CLASS_COLOURS, strict=False):
        axis.plot(missing, 100 * np.array(values), marker=".", color=colour, label=label)
    axis.set_xlabel("features missing (%)")
    axis.set_ylabel("test samples (%)")
    axis.set_title("Missing features")
    axis.legend()
    axis.grid()
    return svg_text(figure)


@styled
def margin_figure(decisions: Decisions, split: Split) -> str:
    """Draw how many samples have which margin, right and wrong answers apart."""
    figure, axis = _new_axis()
    right = decisions.chosen == split.y
    bins = np.histogram_bin_edges(decisions.margin, bins=min(40, int(decisions.margin.max()) + 1))
    axis.hist(
        [decisions.margin[right], decisions.margin[~right]],
        bins=bins.tolist(),
        stacked=True,
        color=[CLASS_COLOURS[0], CLASS_COLOURS[3]],
        label=["right", "wrong"],
    )
    axis.set_xlabel("margin: best score − second best")
    axis.set_ylabel("test samples")
    axis.set_title("Margins")
    axis.legend()
    return svg_text(figure)


@styled
def training_figure(history: list[dict[str, Any]]) -> str:
    """Draw the loss and the hardened validation accuracy over the steps."""
    figure = new_figure(*_SIZE)
    upper, lower = figure.subplots(2, 1, sharex=True)
    steps = [line["step"] for line in history]
    upper.plot(steps, [100 * line["accuracy"] for line in history], color=CLASS_COLOURS[0])
    upper.set_ylabel("hardened (%)")
    upper.set_title("Training: validation accuracy of the circuit, and loss")
    lower.plot(steps, [line["loss"] for line in history], color=CLASS_COLOURS[1])
    lower.set_ylabel("loss")
    lower.set_xlabel("step")
    for axis in (upper, lower):
        axis.grid()
    return svg_text(figure)


@styled
def confusion_figure(confusion: Sequence[Sequence[int]], classes: Sequence[str]) -> str:
    """Draw which class is taken for which, as shares of the true class."""
    counts = np.array(confusion)
    shares = 100 * counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    figure, axis = _new_axis()
    image = axis.imshow(shares, cmap="Blues", vmin=0, vmax=100, aspect="auto")
    bar = figure.colorbar(image, ax=axis, label="% of the true class")
    bar.outline.set_visible(False)
    if len(classes) <= _WRITTEN_CLASSES:
        for (row, column), share in np.ndenumerate(shares):
            if counts[row, column]:
                # On the colours of the map, not of the page.
                colour = "white" if share > 60 else "black"
                text = str(counts[row, column])
                axis.text(column, row, text, ha="center", va="center", color=colour, fontsize=8)
        names = [plain_text(cut(visible(name), 14)) for name in classes]
        fits = len("".join(names)) <= _LABEL_LETTERS
        slanted: dict[str, Any] = {} if fits else {"rotation": 45, "ha": "right"}
        axis.set_xticks(range(len(names)), names, **slanted)
        axis.set_yticks(range(len(names)), names)
    axis.tick_params(length=0)
    axis.spines[:].set_visible(False)
    axis.set_xlabel("chosen")
    axis.set_ylabel("true")
    axis.set_title("Confusion")
    return svg_text(figure)


@styled
def layer_gap_figure(accuracies: Sequence[float]) -> str:
    """Draw the accuracy as the layers are hardened one after the other."""
    figure, axis = _new_axis()
    axis.plot(
        range(len(accuracies)), 100 * np.array(accuracies), marker="o", color=CLASS_COLOURS[0]
    )
    axis.set_xticks(range(len(accuracies)))
    axis.set_xlabel("layers hardened, from the inputs on")
    axis.set_ylabel("accuracy (%)")
    axis.set_title("Hardening gap by layer")
    axis.grid()
    return svg_text(figure)


@styled
def spectrum_figure(layers: Sequence[Mapping[str, float]]) -> str:
    """Draw the share of the Fourier energy by degree, level by level."""
    figure, axis = _new_axis()
    draw_spectrum(axis, layers)
    axis.set_ylabel("Fourier energy (%)")
    axis.set_title("What the gates compute, level by level")
    figure.legend(
        *axis.get_legend_handles_labels(), loc="outside lower center", ncols=5, fontsize=8
    )
    return svg_text(figure)


@styled
def frequency_figure(netlist: Netlist) -> str:
    """Draw how often the most frequent gates occur, by name or table."""
    tables, counts = np.unique(netlist.table, axis=0, return_counts=True)
    first = np.argsort(-counts, kind="stable")[:_FREQUENT_GATES][::-1]
    figure, axis = _new_axis()
    axis.barh(range(len(first)), counts[first], color=CLASS_COLOURS[0])
    names = [_table_name(tables[gate], netlist.valence) for gate in first]
    axis.set_yticks(range(len(first)), names, family="monospace", fontsize=8)
    _count(axis)
    axis.set_xlabel("copies")
    axis.set_title(f"Most frequent of {len(tables):,} different gates")
    return svg_text(figure)


def _table_name(table: NDArray[np.int8], valence: int) -> str:
    name = gate_name(int(gate_id(table))) if valence == 3 else None
    return table_text(table) if name is None else name


def draw_spectrum(axis: Any, layers: Sequence[Mapping[str, float]]) -> None:
    """Draw stacked bars, one for each level."""
    places = np.arange(1, len(layers) + 1)
    bottom = np.zeros(len(layers))
    for band in layers[0]:
        shares = np.array([100 * level[band] for level in layers])
        axis.bar(places, shares, bottom=bottom, label=band)
        bottom = bottom + shares
    axis.set_xlabel("level")
    _count(axis)


@styled
def landscape_figure(metric: str, landscape: Landscape) -> str:
    """Draw a map of the gates of a circuit."""
    figure, axis = _new_axis()
    draw_landscape(axis, landscape)
    axis.set_title(f"Gates by {metric} distance; fit {landscape.fit:.2f}")
    return svg_text(figure)


def draw_landscape(axis: Any, landscape: Landscape) -> None:
    """Draw a map of gates, larger and brighter with the number of copies.

    Diamonds are the named gates, hollow where none of them occurs.
    """
    # The most frequent gates last, on top.
    order = np.argsort(landscape.copies)
    used = order[landscape.copies[order] > 0]
    weight = np.log10(landscape.copies[used])
    axis.scatter(
        *landscape.position[used].T,
        s=5 + 20 * weight,
        c=weight,
        cmap="viridis",
        # The ends of the map would be lost on a dark page and on a light one.
        vmin=-0.6 * weight.max(initial=1),
        vmax=1.2 * weight.max(initial=1),
        linewidths=0,
        rasterized=True,
    )
    named = np.array([gate_name(int(gate)) is not None for gate in landscape.gates])
    for occurs, face in ((landscape.copies > 0, _NAMED_COLOUR), (landscape.copies == 0, "none")):
        axis.scatter(
            *landscape.position[named & occurs].T,
            s=18,
            facecolors=face,
            edgecolors=_NAMED_COLOUR,
            marker="D",
            linewidths=0.8,
        )
    axis.set_xticks([])
    axis.set_yticks([])
    axis.spines[:].set_visible(True)


def draw_regions(axis: Any, grid: DecisionGrid) -> None:
    """Draw the chosen classes in pale colours, grey where the circuit abstains."""
    from matplotlib.colors import to_rgb

    palette = np.array([to_rgb(colour) for colour in (*CLASS_COLOURS, _UNKNOWN_COLOUR)])
    # Index −1, where the circuit abstains, is the last colour.
    colours = palette[np.where(grid.chosen < 0, -1, grid.chosen % len(CLASS_COLOURS))]
    pale = 0.55 + 0.45 * colours
    image = np.where(grid.chosen[..., None] < 0, colours, pale)
    axis.imshow(image, origin="lower", extent=grid.extent, aspect="auto", interpolation="nearest")
