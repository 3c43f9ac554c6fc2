"""The circuit as a picture: its levels, the nets that most outputs hang on, where UNKNOWN is."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure
from numpy.typing import ArrayLike, NDArray

from trilut.figures import svg_text
from trilut.netlist import Netlist

__all__ = ["circuit_figure", "net_weights"]

# Gates of a level that are drawn, and samples that values are counted on: more would not be seen.
_NETS, _SAMPLES = 48, 512
_OUTPUT_COLOUR = "#222222"

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class _Layout:
    """Where the drawn nets are: their numbers, and x and y of every net, NaN if it is not drawn."""

    drawn: Integers
    x: Floats
    y: Floats


def net_weights(netlist: Netlist) -> Floats:
    """Return how much of the outputs hangs on each net.

    Every output has a weight of 1, which it shares equally between the two inputs of its gate, and
    so on down to the inputs: the weight of a net is how often a random walk from all outputs comes
    by. Nets that no output depends on have none.
    """
    weights = np.zeros(netlist.num_nets)
    np.add.at(weights, netlist.outputs, 1.0)
    gate_levels = netlist.levels[netlist.num_inputs :]
    for level in range(netlist.depth, 0, -1):
        gates = np.flatnonzero(gate_levels == level)
        for source in (netlist.a, netlist.b):
            np.add.at(weights, source[gates], weights[netlist.num_inputs + gates] / 2)
    return weights


def circuit_figure(netlist: Netlist, samples: ArrayLike) -> str:
    """Draw a circuit from its inputs on the left to its outputs on the right.

    The nets of a level stand above each other. Of a large circuit only some cones are drawn, each
    with all its wires: those of the outputs that vary most over the samples, as many as there is
    room for. A net is larger the more weight it has (:func:`net_weights`), and orange by the share
    of the samples in which it is UNKNOWN; outputs have a dark rim. Wires are darker with weight.
    """
    from trilut.sim import net_values

    samples = np.asarray(samples)
    rows = np.unique(np.linspace(0, len(samples) - 1, min(len(samples), _SAMPLES)).astype(int))
    values = net_values(netlist, samples[rows])
    unknown = (values == 0).mean(axis=0)
    weights = net_weights(netlist)
    layout = _arrange(netlist, _hot_cones(netlist, values[:, netlist.outputs].var(axis=0)))
    figure = Figure(figsize=(10, 4.6), layout="constrained")
    axis = figure.subplots()
    _draw_wires(axis, netlist, layout, weights)
    nets = layout.drawn
    rim = np.where(np.isin(nets, netlist.outputs), _OUTPUT_COLOUR, "#bbbbbb")
    points = axis.scatter(
        layout.x[nets],
        layout.y[nets],
        s=10 + 60 * np.sqrt(weights[nets] / max(weights[nets].max(), 1e-12)),
        c=unknown[nets],
        cmap="Oranges",
        vmin=0,
        vmax=1,
        edgecolors=rim,
        linewidths=0.8,
        zorder=2,
    )
    figure.colorbar(points, ax=axis, label="UNKNOWN, share of the samples")
    _label_levels(axis, netlist, layout)
    return svg_text(figure)


def _hot_cones(netlist: Netlist, heat: Floats) -> NDArray[np.bool_]:
    """Return which nets to draw: the cones of the hottest outputs that leave no level too full."""
    if np.bincount(netlist.levels).max() <= _NETS:
        return np.ones(netlist.num_nets, dtype=bool)
    drawn = np.zeros(netlist.num_nets, dtype=bool)
    for output in np.argsort(-heat, kind="stable")[:_NETS]:
        wider = drawn.copy()
        wider[_cone(netlist, int(netlist.outputs[output]))] = True
        # The inputs are drawn as far as they are read, however many.
        if not drawn.any() or np.bincount(netlist.levels[wider])[1:].max(initial=0) <= _NETS:
            drawn = wider
    return drawn


def _cone(netlist: Netlist, net: int) -> list[int]:
    """Return a net and all that it depends on."""
    found, waiting = {net}, [net]
    while waiting:
        gate = waiting.pop() - netlist.num_inputs
        if gate >= 0:
            parents = {int(netlist.a[gate]), int(netlist.b[gate])} - found
            found |= parents
            waiting += parents
    return sorted(found)


def _arrange(netlist: Netlist, is_drawn: NDArray[np.bool_]) -> _Layout:
    x = netlist.levels.astype(np.float64)
    y = np.full(netlist.num_nets, np.nan)
    for level in range(netlist.depth + 1):
        nets = np.flatnonzero(is_drawn & (netlist.levels == level))
        if level > 0:
            nets = nets[np.argsort(_parents_height(netlist, nets, y), kind="stable")]
        y[nets] = (np.arange(len(nets)) + 0.5) / len(nets)
    return _Layout(np.flatnonzero(is_drawn), x, y)


def _parents_height(netlist: Netlist, nets: Integers, y: Floats) -> Floats:
    """Return the mean height of the parents of nets, which are drawn: wires then cross less."""
    gates = nets - netlist.num_inputs
    return (y[netlist.a[gates]] + y[netlist.b[gates]]) / 2


def _draw_wires(axis: Any, netlist: Netlist, layout: _Layout, weights: Floats) -> None:
    nets = layout.drawn[layout.drawn >= netlist.num_inputs]
    gates = nets - netlist.num_inputs
    ends = np.tile(nets, 2)
    starts = np.append(netlist.a[gates], netlist.b[gates])
    places = np.stack([layout.x, layout.y], axis=1)
    lines = np.stack([places[starts], places[ends]], axis=1)
    share = weights[ends] / max(weights[nets].max(initial=0), 1e-12)
    axis.add_collection(
        LineCollection(
            list(lines), colors="#4c78a8", alpha=0.2 + 0.6 * share, linewidths=0.6 + 1.2 * share
        )
    )


def _label_levels(axis: Any, netlist: Netlist, layout: _Layout) -> None:
    counts = np.bincount(netlist.levels)
    drawn = np.bincount(netlist.levels[layout.drawn], minlength=len(counts))
    names = ["inputs", *(f"level {level}" for level in range(1, len(counts)))]
    labels = [
        f"{name}\n{count:,}" if count == shown else f"{name}\n{shown} of {count:,}"
        for name, count, shown in zip(names, counts.tolist(), drawn.tolist(), strict=True)
    ]
    # More labels than this would touch each other.
    step = max(1, len(labels) // 10)
    places = list(range(0, len(labels), step))
    axis.set_xticks(places, [labels[place] for place in places], fontsize=8)
    axis.set_yticks([])
    axis.margins(x=0.03, y=0.03)
    for side in ("top", "right", "left"):
        axis.spines[side].set_visible(False)
