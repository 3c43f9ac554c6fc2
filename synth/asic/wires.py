"""Wire loads: what a library expects the wires of a net to add, by the number of its sinks."""

from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass

from trilut.errors import FormatError
from trilut.synth.asic.liberty import Group

__all__ = ["WireLoad", "read_wire_loads"]


@dataclass(frozen=True, slots=True)
class WireLoad:
    """A model of wires without resistance.

    Parameters
    ----------
    name : str
        What the library calls it.
    unit_capacitance : float
        Capacitance of a length of 1.
    slope : float
        Length that a sink adds beyond the table.
    lengths : tuple
        Numbers of sinks, rising, each with the length of the wires.
    """

    name: str
    unit_capacitance: float
    slope: float
    lengths: tuple[tuple[float, float], ...]

    def length(self, num_sinks: int) -> float:
        """Return the length of the wires of a net, linear between the points of the table."""
        if not num_sinks or not self.lengths:
            return num_sinks * self.slope
        index = bisect_left(self.lengths, (num_sinks, 0.0))
        if index == 0 or index == len(self.lengths):
            fanout, length = self.lengths[0 if index == 0 else -1]
            return max(length + (num_sinks - fanout) * self.slope, 0.0)
        (low, short), (high, long) = self.lengths[index - 1 : index + 1]
        return short + (long - short) * (num_sinks - low) / (high - low)

    def capacitance(self, num_sinks: int) -> float:
        """Return what the wires of a net with so many sinks add to its load."""
        return self.length(num_sinks) * self.unit_capacitance


def read_wire_loads(library: Group) -> Callable[[float], WireLoad | None]:
    """Return which model a library takes for a design of a given area.

    That is what its default selection says for that area, or its default model, or none.

    Raises
    ------
    FormatError
        If a model cannot be read.
    """
    models = {group.name: _wire_load(group) for group in library.all("wire_load")}
    selections = {group.name: group for group in library.all("wire_load_selection")}
    default = models.get(library.values.get("default_wire_load", ""))
    chosen = selections.get(library.values.get("default_wire_load_selection", ""))
    ranges = [] if chosen is None else [_range(values) for values in _areas(chosen)]

    def choose(area: float) -> WireLoad | None:
        for least, most, name in ranges:
            if least <= area < most and name in models:
                return models[name]
        return default

    return choose


def _areas(selection: Group) -> list[tuple[str, ...]]:
    return selection.repeats.get("wire_load_from_area", [])


def _range(values: tuple[str, ...]) -> tuple[float, float, str]:
    try:
        least, most, name = values
        return float(least), float(most), name
    except ValueError as error:
        raise FormatError(f"Selection of wire loads {', '.join(values)!r} is damaged") from error


def _wire_load(group: Group) -> WireLoad:
    try:
        lengths = sorted(
            (float(fanout), float(length))
            for fanout, length, *_ in group.repeats.get("fanout_length", [])
        )
        model = WireLoad(
            group.name,
            float(group.values.get("capacitance", "0")),
            float(group.values.get("slope", "0")),
            tuple(lengths),
        )
    except ValueError as error:
        raise FormatError(f"Wire load {group.name!r} is damaged") from error
    if len({fanout for fanout, _ in lengths}) < len(lengths):
        raise FormatError(f"Wire load {group.name!r} has two lengths for one number of sinks")
    return model
