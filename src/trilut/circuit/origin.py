"""Where a netlist comes from, as facts for the head of a file that is made from it."""

from collections.abc import Mapping
from pathlib import PurePath

from trilut.circuit.format import digest
from trilut.circuit.sequential import Circuit, SequentialNetlist
from trilut.text import quote

__all__ = ["MOST_CHARACTERS", "origin_facts"]

MOST_CHARACTERS = 4000
"""Most characters from a netlist in a line: Icarus cannot read a comment of 16 KB."""


def origin_facts(netlist: Circuit) -> dict[str, str]:
    """Return name, checksum, provenance and size of a netlist.

    Text from the netlist is quoted as JSON, so it cannot end a line, and cut with a mark if it is
    too long. Directories of somebody's machine are left out.
    """
    provenance = quote(_without_places(netlist.provenance), MOST_CHARACTERS)
    return {
        "netlist": quote(_without_place(netlist.name), MOST_CHARACTERS),
        "sha256": digest(netlist),
        **({"origin": provenance} if netlist.provenance else {}),
        "circuit": f"{netlist.num_gates} gates in {netlist.depth} layers, "
        f"{netlist.num_inputs} inputs, {netlist.num_outputs} outputs{_kind(netlist)}",
    }


def _kind(netlist: Circuit) -> str:
    if isinstance(netlist, SequentialNetlist):
        return f", {netlist.num_states} states{_kind(netlist.core)}"
    return f", valence {netlist.valence}" if netlist.is_two_input else ""


def _without_places(provenance: Mapping[str, object]) -> dict[str, object]:
    """Return where a netlist comes from without the directories of somebody's machine."""
    data = provenance.get("data")
    if not isinstance(data, Mapping):
        return dict(provenance)
    kept = {key: value for key, value in data.items() if key != "absolute_name"}
    if isinstance(kept.get("name"), str):
        kept["name"] = _without_place(kept["name"])
    return {**provenance, "data": kept}


def _without_place(name: str) -> str:
    """Return the name of a data set, which may be a file, without the directories before it."""
    return PurePath(name).name if PurePath(name).is_absolute() else name
