"""The circuit as a picture: its levels, the nets that most outputs hang on, where UNKNOWN is."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from trilut.circuit.kinds import NO_NET
from trilut.circuit.netlist import Netlist
from trilut.circuit.shapes import gate_text
from trilut.report.page import render_page
from trilut.text import cut

__all__ = ["circuit_figure", "net_weights"]

# Gates of a level that are drawn, and samples that values are counted on: more would not be seen.
_NETS, _SAMPLES = 48, 512
# More labels than this would touch each other.
_LABELS = 10
# Of a feature, below the pointer.
_NAME_CHARACTERS = 100
# Of the picture, in its own units; levels and rows lie within the margins.
_WIDTH, _HEIGHT, _MARGIN = 1000.0, 440.0, 30.0

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class _Layout:
    """Where the drawn nets are, and the room that each has; NaN of a net that is not drawn."""

    drawn: Integers
    x: Floats
    y: Floats
    room: Floats


@dataclass(frozen=True, slots=True)
class _Net:
    """A net as it is drawn."""

    number: int
    x: float
    y: float
    radius: float
    colour: str
    is_output: bool
    text: str


@dataclass(frozen=True, slots=True)
class _Wire:
    """A wire as it is drawn, from the left to the right; its weight is within 0 … 1."""

    source: int
    target: int
    path: str
    weight: float


@dataclass(frozen=True, slots=True)
class _Label:
    """Words below a level."""

    x: float
    name: str
    count: str


def net_weights(netlist: Netlist) -> Floats:
    """Return how much of the outputs hangs on each net.

    Every output has a weight of 1, which it shares equally between the inputs of its gate, and so
    on down to the inputs: the weight of a net is how often a random walk from all outputs comes
    by. Nets that no output depends on have none.
    """
    weights = np.zeros(netlist.num_nets)
    np.add.at(weights, netlist.outputs, 1.0)
    gate_levels = netlist.levels[netlist.num_inputs :]
    for level in range(netlist.depth, 0, -1):
        gates = np.flatnonzero(gate_levels == level)
        sources = netlist.sources[gates]
        is_read = sources != NO_NET
        shares = weights[netlist.num_inputs + gates] / is_read.sum(axis=1)
        for slot in range(sources.shape[1]):
            own = is_read[:, slot]
            np.add.at(weights, sources[own, slot], shares[own])
    return weights


def circuit_figure(netlist: Netlist, samples: ArrayLike) -> str:
    """Draw a circuit from its inputs on the left to its outputs on the right, as an SVG element.

    The nets of a level stand above each other. Of a large circuit only some cones are drawn, each
    with all its wires: those of the outputs that vary most over the samples, as many as there is
    room for. A net is larger the more weight it has (:func:`net_weights`), and orange by the share
    of the samples in which it is UNKNOWN; outputs have a strong rim. Wires are darker with weight.
    """
    from trilut.sim import net_values

    samples = np.asarray(samples)
    rows = np.unique(np.linspace(0, len(samples) - 1, min(len(samples), _SAMPLES)).astype(int))
    values = net_values(netlist, samples[rows])
    weights = net_weights(netlist)
    layout = _arrange(netlist, _hot_cones(netlist, values[:, netlist.outputs].var(axis=0)))
    return render_page(
        "circuit.svg.j2",
        width=_WIDTH,
        height=_HEIGHT,
        nets=list(_nets(netlist, layout, weights, (values == 0).mean(axis=0))),
        wires=list(_wires(netlist, layout, weights)),
        labels=list(_labels(netlist, layout)),
        colours=[_heat(share) for share in np.linspace(0, 1, 5)],
    )


def _heat(share: float) -> str:
    from matplotlib import colormaps, colors

    return colors.to_hex(colormaps["Oranges"](share))


def _nets(netlist: Netlist, layout: _Layout, weights: Floats, unknown: Floats) -> Iterator[_Net]:
    largest = max(weights[layout.drawn].max(), 1e-12)
    outputs = set(netlist.outputs.tolist())
    for net in layout.drawn.tolist():
        yield _Net(
            net,
            layout.x[net],
            layout.y[net],
            min(2.5 + 4 * float(np.sqrt(weights[net] / largest)), 0.45 * layout.room[net]),
            _heat(unknown[net]),
            net in outputs,
            f"{_net_text(netlist, net)}, UNKNOWN in {100 * unknown[net]:.0f} % of the samples",
        )


def _net_text(netlist: Netlist, net: int) -> str:
    """Say what drives a net."""
    gate = net - netlist.num_inputs
    if gate >= 0:
        operands = ", ".join(map(str, netlist.reads(gate)))
        return f"net {net} = {gate_text(netlist, gate)}({operands})"
    if netlist.encoder is None:
        return f"input {net}"
    feature = netlist.encoder.features[netlist.encoder.feature[net]]
    return f"input {net}, of {cut(feature.name, _NAME_CHARACTERS)}"


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
            parents = set(netlist.reads(gate)) - found
            found |= parents
            waiting += parents
    return sorted(found)


def _arrange(netlist: Netlist, is_drawn: NDArray[np.bool_]) -> _Layout:
    inner_width, inner_height = _WIDTH - 2 * _MARGIN, _HEIGHT - 3 * _MARGIN
    x = _MARGIN + inner_width * netlist.levels / max(netlist.depth, 1)
    y, room = np.full((2, netlist.num_nets), np.nan)
    for level in range(netlist.depth + 1):
        nets = np.flatnonzero(is_drawn & (netlist.levels == level))
        if level > 0:
            nets = nets[np.argsort(_parents_height(netlist, nets, y), kind="stable")]
        room[nets] = inner_height / max(len(nets), 1)
        y[nets] = _MARGIN + room[nets] * (np.arange(len(nets)) + 0.5)
    return _Layout(np.flatnonzero(is_drawn), x, y, room)


def _parents_height(netlist: Netlist, nets: Integers, y: Floats) -> Floats:
    """Return the mean height of the parents of nets, which are drawn: wires then cross less."""
    sources = netlist.sources[nets - netlist.num_inputs]
    return np.nanmean(np.where(sources == NO_NET, np.nan, y[sources]), axis=1)


def _wires(netlist: Netlist, layout: _Layout, weights: Floats) -> Iterator[_Wire]:
    nets = layout.drawn[layout.drawn >= netlist.num_inputs]
    largest = max(weights[nets].max(initial=0), 1e-12)
    for target in nets.tolist():
        gate = target - netlist.num_inputs
        for source in sorted(set(netlist.reads(gate))):
            path = _curve(*((layout.x[net], layout.y[net]) for net in (source, target)))
            yield _Wire(source, target, path, float(weights[target] / largest))


def _curve(start: tuple[float, float], end: tuple[float, float]) -> str:
    """Return a path that leaves and arrives level."""
    (x0, y0), (x1, y1) = start, end
    middle = (x0 + x1) / 2
    points = ((x0, y0), (middle, y0), (middle, y1), (x1, y1))
    first, *others = (f"{x:.1f} {y:.1f}" for x, y in points)
    return f"M{first}C{' '.join(others)}"


def _labels(netlist: Netlist, layout: _Layout) -> Iterator[_Label]:
    counts = np.bincount(netlist.levels)
    drawn = np.bincount(netlist.levels[layout.drawn], minlength=len(counts))
    for level in range(0, len(counts), max(1, len(counts) // _LABELS)):
        count, shown = int(counts[level]), int(drawn[level])
        yield _Label(
            _MARGIN + (_WIDTH - 2 * _MARGIN) * level / max(netlist.depth, 1),
            f"level {level}" if level else "inputs",
            f"{count:,}" if count == shown else f"{shown} of {count:,}",
        )
