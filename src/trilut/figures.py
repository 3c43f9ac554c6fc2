"""Figures of the report, as SVG text."""

import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import matplotlib
import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator
from numpy.typing import NDArray

from trilut.analysis import Landscape
from trilut.data import Split
from trilut.errors import NetlistError
from trilut.gates import gate_name
from trilut.metrics import coverage_curve
from trilut.netlist import Netlist

__all__ = [
    "CLASS_COLOURS",
    "DecisionGrid",
    "confusion_figure",
    "coverage_figure",
    "decision_figure",
    "decision_grid",
    "draw_landscape",
    "draw_regions",
    "draw_spectrum",
    "landscape_figure",
    "layer_gap_figure",
    "plain_text",
    "spectrum_figure",
    "svg_text",
    "training_figure",
]

_GRID = 200
# With more classes the numbers would not be legible.
_WRITTEN_CLASSES = 20
CLASS_COLOURS = ("#4c78a8", "#f58518", "#54a24b", "#e45756", "#72b7b2", "#b279a2")
_UNKNOWN_COLOUR = "#d9d9d9"


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


def decision_figure(netlist: Netlist, split: Split) -> str:
    """Draw what a circuit of two features decides, where it abstains, and how sure its outputs are.

    Left, the chosen class at every point, grey where the circuit abstains, with the samples on top.
    Right, the share of output trits that are UNKNOWN.

    Raises
    ------
    NetlistError
        If the circuit does not have exactly two features and a head.
    """
    grid = decision_grid(netlist, split)
    figure = Figure(figsize=(10, 4.2), layout="constrained")
    left, right = figure.subplots(1, 2)
    draw_regions(left, grid)
    colours = np.array(CLASS_COLOURS)[split.y % len(CLASS_COLOURS)]
    left.scatter(*split.x.T, c=colours, s=5, edgecolors="white", linewidths=0.2)
    left.set_title("Decision (grey: abstains) and test samples")
    image = right.imshow(
        grid.unknown,
        origin="lower",
        extent=grid.extent,
        aspect="auto",
        cmap="Oranges",
        vmin=0,
        vmax=1,
    )
    figure.colorbar(image, ax=right)
    right.set_title("Share of UNKNOWN outputs")
    for axis in (left, right):
        axis.set_xlabel(plain_text(grid.names[0]))
        axis.set_ylabel(plain_text(grid.names[1]))
    return svg_text(figure)


def coverage_figure(netlist: Netlist, split: Split) -> str:
    """Draw accuracy against the share of samples answered, most confident first."""
    assert netlist.encoder is not None
    from trilut.sim import classify

    decisions = classify(netlist, netlist.encoder.quantize(split.x))
    curve = coverage_curve(decisions, split.y)
    figure = Figure(figsize=(5, 3.4), layout="constrained")
    axis = figure.subplots()
    axis.plot(100 * curve.coverage, 100 * curve.accuracy, marker=".", color=CLASS_COLOURS[0])
    axis.set_xlabel("samples answered, by falling margin (%)")
    axis.set_ylabel("accuracy (%)")
    axis.set_title("Accuracy and coverage")
    axis.grid(alpha=0.3)
    return svg_text(figure)


def training_figure(history: list[dict[str, Any]]) -> str:
    """Draw the loss and the hardened validation accuracy over the steps."""
    figure = Figure(figsize=(5, 3.4), layout="constrained")
    loss_axis = figure.subplots()
    steps = [line["step"] for line in history]
    loss_axis.plot(steps, [line["loss"] for line in history], color=CLASS_COLOURS[1])
    loss_axis.set_xlabel("step")
    loss_axis.set_ylabel("loss", color=CLASS_COLOURS[1])
    accuracy_axis = loss_axis.twinx()
    accuracies = [100 * line["accuracy"] for line in history]
    accuracy_axis.plot(steps, accuracies, color=CLASS_COLOURS[0])
    accuracy_axis.set_ylabel("hardened validation accuracy (%)", color=CLASS_COLOURS[0])
    loss_axis.set_title("Training")
    return svg_text(figure)


def confusion_figure(confusion: Sequence[Sequence[int]], classes: Sequence[str]) -> str:
    """Draw which class is taken for which, as shares of the true class."""
    counts = np.array(confusion)
    shares = 100 * counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    figure = Figure(figsize=(4.6, 3.8), layout="constrained")
    axis = figure.subplots()
    image = axis.imshow(shares, cmap="Blues", vmin=0, vmax=100)
    figure.colorbar(image, ax=axis, label="% of the true class")
    if len(classes) <= _WRITTEN_CLASSES:
        for (row, column), share in np.ndenumerate(shares):
            colour = "white" if share > 60 else "black"
            axis.text(
                column,
                row,
                str(counts[row, column]),
                ha="center",
                va="center",
                color=colour,
                fontsize=7,
            )
        names = [plain_text(name)[:14] for name in classes]
        axis.set_xticks(range(len(names)), names, rotation=45, ha="right")
        axis.set_yticks(range(len(names)), names)
    axis.set_xlabel("chosen")
    axis.set_ylabel("true")
    axis.set_title("Confusion")
    return svg_text(figure)


def layer_gap_figure(accuracies: Sequence[float]) -> str:
    """Draw the accuracy as the layers are hardened one after the other."""
    figure = Figure(figsize=(5, 3.4), layout="constrained")
    axis = figure.subplots()
    axis.plot(
        range(len(accuracies)), 100 * np.array(accuracies), marker="o", color=CLASS_COLOURS[0]
    )
    axis.set_xticks(range(len(accuracies)))
    axis.set_xlabel("layers hardened, from the inputs on")
    axis.set_ylabel("accuracy (%)")
    axis.set_title("Hardening gap by layer")
    axis.grid(alpha=0.3)
    return svg_text(figure)


def spectrum_figure(layers: Sequence[Mapping[str, float]]) -> str:
    """Draw the share of the Fourier energy by degree, level by level."""
    figure = Figure(figsize=(5, 3.4), layout="constrained")
    axis = figure.subplots()
    draw_spectrum(axis, layers)
    axis.set_ylabel("Fourier energy (%)")
    axis.set_title("What the gates compute, level by level")
    figure.legend(
        *axis.get_legend_handles_labels(), loc="outside lower center", ncols=5, fontsize=7
    )
    return svg_text(figure)


def draw_spectrum(axis: Any, layers: Sequence[Mapping[str, float]]) -> None:
    """Draw stacked bars, one for each level."""
    places = np.arange(1, len(layers) + 1)
    bottom = np.zeros(len(layers))
    for band in layers[0]:
        shares = np.array([100 * level[band] for level in layers])
        axis.bar(places, shares, bottom=bottom, label=band)
        bottom = bottom + shares
    axis.set_xlabel("level")
    axis.xaxis.set_major_locator(MaxNLocator(integer=True))


def landscape_figure(landscapes: Mapping[str, Landscape]) -> str:
    """Draw maps of the gates of a circuit, one for each metric."""
    figure = Figure(figsize=(5 * len(landscapes), 4), layout="constrained")
    axes = figure.subplots(1, len(landscapes), squeeze=False)[0]
    for axis, (metric, landscape) in zip(axes, landscapes.items(), strict=True):
        draw_landscape(axis, landscape)
        axis.set_title(f"Gates by {metric} distance (red: named gates)")
    return svg_text(figure)


def draw_landscape(axis: Any, landscape: Landscape) -> None:
    """Draw a map of gates, larger and brighter with the number of copies."""
    # The most frequent gates last, on top.
    order = np.argsort(landscape.copies)
    used = order[landscape.copies[order] > 0]
    weight = np.log10(landscape.copies[used])
    axis.scatter(
        *landscape.position[used].T,
        s=4 + 14 * weight,
        c=weight,
        cmap="viridis",
        linewidths=0,
        rasterized=True,
    )
    named = np.array([gate_name(int(gate)) is not None for gate in landscape.gates])
    axis.scatter(*landscape.position[named].T, s=14, c="#e45756", marker="D", linewidths=0)
    axis.set_xticks([])
    axis.set_yticks([])


def draw_regions(axis: Any, grid: DecisionGrid) -> None:
    """Draw the chosen classes in pale colours, grey where the circuit abstains."""
    palette = np.array(
        [matplotlib.colors.to_rgb(colour) for colour in (*CLASS_COLOURS, _UNKNOWN_COLOUR)]
    )
    # Index −1, where the circuit abstains, is the last colour.
    colours = palette[np.where(grid.chosen < 0, -1, grid.chosen % len(CLASS_COLOURS))]
    pale = 0.55 + 0.45 * colours
    image = np.where(grid.chosen[..., None] < 0, colours, pale)
    axis.imshow(image, origin="lower", extent=grid.extent, aspect="auto", interpolation="nearest")


def plain_text(name: str) -> str:
    """Return a name that matplotlib prints as it is."""
    # A dollar sign would start mathematics.
    return name.replace("$", r"\$")[:60]


def svg_text(figure: Figure) -> str:
    """Return a figure as an SVG element."""
    text = io.StringIO()
    # Without a date and with fixed ids, equal figures give equal text.
    with matplotlib.rc_context({"svg.hashsalt": "trilut"}):
        figure.savefig(text, format="svg", metadata={"Date": None})
    return text.getvalue()[text.getvalue().index("<svg") :]
