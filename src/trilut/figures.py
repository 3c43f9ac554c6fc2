"""Figures of the report, as SVG text."""

import io
from typing import Any

import matplotlib
import numpy as np
from matplotlib.figure import Figure

from trilut.data import Split
from trilut.errors import NetlistError
from trilut.metrics import coverage_curve
from trilut.netlist import Netlist

__all__ = ["coverage_figure", "decision_figure", "training_figure"]

_GRID = 200
_CLASS_COLOURS = ("#4c78a8", "#f58518", "#54a24b", "#e45756", "#72b7b2", "#b279a2")
_UNKNOWN_COLOUR = "#d9d9d9"


def decision_figure(netlist: Netlist, split: Split) -> str:
    """Draw what a circuit of two features decides, where it abstains, and how sure its outputs are.

    Left, the chosen class at every point, grey where the circuit abstains, with the samples on top.
    Right, the share of output trits that are UNKNOWN.

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
    axes = [
        np.linspace(low, high, _GRID)
        for low, high in zip(lowest - border, highest + border, strict=True)
    ]
    points = np.stack([axis.ravel() for axis in np.meshgrid(*axes)], axis=1)
    outputs = evaluate(netlist, netlist.encoder.encode(points))
    decisions = netlist.head.decide(netlist.head.scores(outputs))
    chosen = np.where(decisions.unknown, -1, decisions.chosen).reshape(_GRID, _GRID)
    figure = Figure(figsize=(10, 4.2), layout="constrained")
    left, right = figure.subplots(1, 2)
    extent = (axes[0][0], axes[0][-1], axes[1][0], axes[1][-1])
    _draw_regions(left, chosen, extent)
    colours = np.array(_CLASS_COLOURS)[split.y % len(_CLASS_COLOURS)]
    left.scatter(*split.x.T, c=colours, s=5, edgecolors="white", linewidths=0.2)
    left.set_title("Decision (grey: abstains) and test samples")
    unknown = (outputs == 0).mean(axis=1).reshape(_GRID, _GRID)
    image = right.imshow(
        unknown, origin="lower", extent=extent, aspect="auto", cmap="Oranges", vmin=0, vmax=1
    )
    figure.colorbar(image, ax=right)
    right.set_title("Share of UNKNOWN outputs")
    for axis in (left, right):
        axis.set_xlabel(_plain(netlist.encoder.features[0].name))
        axis.set_ylabel(_plain(netlist.encoder.features[1].name))
    return _svg(figure)


def coverage_figure(netlist: Netlist, split: Split) -> str:
    """Draw accuracy against the share of samples answered, most confident first."""
    assert netlist.encoder is not None
    from trilut.sim import classify

    decisions = classify(netlist, netlist.encoder.quantize(split.x))
    curve = coverage_curve(decisions, split.y)
    figure = Figure(figsize=(5, 3.4), layout="constrained")
    axis = figure.subplots()
    axis.plot(100 * curve.coverage, 100 * curve.accuracy, marker=".", color=_CLASS_COLOURS[0])
    axis.set_xlabel("samples answered, by falling margin (%)")
    axis.set_ylabel("accuracy (%)")
    axis.set_title("Accuracy and coverage")
    axis.grid(alpha=0.3)
    return _svg(figure)


def training_figure(history: list[dict[str, Any]]) -> str:
    """Draw the loss and the hardened validation accuracy over the steps."""
    figure = Figure(figsize=(5, 3.4), layout="constrained")
    loss_axis = figure.subplots()
    steps = [line["step"] for line in history]
    loss_axis.plot(steps, [line["loss"] for line in history], color=_CLASS_COLOURS[1])
    loss_axis.set_xlabel("step")
    loss_axis.set_ylabel("loss", color=_CLASS_COLOURS[1])
    accuracy_axis = loss_axis.twinx()
    accuracies = [100 * line["accuracy"] for line in history]
    accuracy_axis.plot(steps, accuracies, color=_CLASS_COLOURS[0])
    accuracy_axis.set_ylabel("hardened validation accuracy (%)", color=_CLASS_COLOURS[0])
    loss_axis.set_title("Training")
    return _svg(figure)


def _draw_regions(axis: Any, chosen: Any, extent: tuple[float, ...]) -> None:
    palette = np.array(
        [matplotlib.colors.to_rgb(colour) for colour in (*_CLASS_COLOURS, _UNKNOWN_COLOUR)]
    )
    # Index −1, where the circuit abstains, is the last colour.
    colours = palette[np.where(chosen < 0, -1, chosen % len(_CLASS_COLOURS))]
    pale = 0.55 + 0.45 * colours
    image = np.where(chosen[..., None] < 0, colours, pale)
    axis.imshow(image, origin="lower", extent=extent, aspect="auto", interpolation="nearest")


def _plain(name: str) -> str:
    # A dollar sign would start mathematics.
    return name.replace("$", r"\$")[:60]


def _svg(figure: Figure) -> str:
    text = io.StringIO()
    # Without a date and with fixed ids, equal figures give equal text.
    with matplotlib.rc_context({"svg.hashsalt": "trilut"}):
        figure.savefig(text, format="svg", metadata={"Date": None})
    return text.getvalue()[text.getvalue().index("<svg") :]
