"""The critical path in the terms of the circuit: trits, layers and neurons."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from trilut.circuit.kinds import NO_NET
from trilut.circuit.netlist import Netlist
from trilut.synth.result import Hop

if TYPE_CHECKING:
    from trilut.hdl import Classifier

__all__ = ["PathStep", "name_path", "path_text"]

_DATA_BLOCK = re.compile(r"encoder|layer_[0-9]+")
# Tools that make up names of their own make up blocks, too.
_BLOCK = re.compile(r"encoder|layer_[0-9]+|groupsum|argmax|control|port")


@dataclass(frozen=True, slots=True)
class PathStep:
    """One station of the critical path.

    Parameters
    ----------
    block : str
        Its block: ``encoder``, ``layer_3``, ``groupsum``.
    neurons : tuple of int
        The neurons of the layer, as the Verilog numbers them, that the path can run through.
        Mapping leaves no names inside the logic, so there can be several. Empty outside of layers.
    signal : str
        The trit of the encoder, or the signal of another block that the path begins or ends in.
    """

    block: str
    neurons: tuple[int, ...] = ()
    signal: str = ""


def name_path(hops: Sequence[Hop], classifier: "Classifier") -> tuple[PathStep, ...]:
    """Say which neurons the critical path runs through.

    Its two ends are registers, which keep their names. Between them it runs along wires of the
    netlist, so the neurons are those that the first end reaches and that reach the last one. If a
    tool has renamed the first, and it is of the encoder or a layer, they are all between the
    registers and the last one. A path from elsewhere, such as the control, has its blocks and its
    end.

    Parameters
    ----------
    hops : sequence of Hop
        The path.
    classifier : Classifier
        What was built.
    """
    if not hops:
        return ()
    start = next((classifier.net_of(hop.net) for hop in hops if hop.kind == "routing"), None)
    end = classifier.net_of(hops[-1].net)
    carries_trits = start is not None or _DATA_BLOCK.fullmatch(hops[0].block)
    between = _between(classifier, start, end) if carries_trits and end is not None else []
    first = [] if start is None else [_station(classifier, start)]
    if not between:
        last = [] if end is None else [_station(classifier, end)]
        if first and end is None and _DATA_BLOCK.fullmatch(hops[-1].block):
            last = [PathStep(hops[-1].block)]
        return (*first, *_blocks(hops, named=bool(first)), *last)
    steps = first or [PathStep(hops[0].block)]
    for plan in classifier.plans:
        nets = classifier.netlist.num_inputs + np.array(plan.gates, dtype=np.int64)
        neurons = tuple(int(neuron) for neuron in np.flatnonzero(np.isin(nets, between)))
        if neurons:
            steps.append(PathStep(f"layer_{plan.level}", neurons))
    if hops[-1].block == "groupsum":
        steps.append(PathStep("groupsum", signal=_last_name(hops[-1].net)))
    return tuple(steps)


def path_text(steps: Sequence[PathStep]) -> str:
    """Write a path as one line."""
    return " → ".join(_step_text(step) for step in steps)


def _step_text(step: PathStep) -> str:
    block = step.block.replace("_", " ")
    if not step.neurons:
        return f"{block} {step.signal}".strip()
    if len(step.neurons) == 1:
        return f"{block} neuron {step.neurons[0]}"
    listed = ", ".join(map(str, step.neurons[:3])) + (", …" if len(step.neurons) > 3 else "")
    return f"{block} one of {len(step.neurons)} neurons ({listed})"


def _station(classifier: "Classifier", net: int) -> PathStep:
    """Return the register of a net: a trit of the input, or a neuron."""
    netlist = classifier.netlist
    if net >= netlist.num_inputs:
        gate = net - netlist.num_inputs
        plan = classifier.plans[int(netlist.levels[net]) - 1]
        return PathStep(f"layer_{plan.level}", (plan.gates.index(gate),))
    if netlist.encoder is None:
        return PathStep("input", signal=f"trit {net}")
    feature = netlist.encoder.features[int(netlist.encoder.feature[net])]
    return PathStep("encoder", signal=f"trit {net} of {feature.name!r}")


def _between(classifier: "Classifier", start: int | None, end: int) -> list[int]:
    """Return the nets on the ways from one net to another, without the first.

    If the first is not known, the ways begin at the last registers before the other.
    """
    netlist = classifier.netlist
    reached = np.zeros(netlist.num_nets, dtype=bool)
    if start is None:
        reached[netlist.levels <= _register_level(classifier, int(netlist.levels[end]))] = True
    else:
        reached[start] = True
    sources = reached.copy()
    for net in range(netlist.num_inputs, end + 1):
        gate = net - netlist.num_inputs
        reached[net] |= reached[_read(netlist, gate)].any()
    leads = np.zeros(netlist.num_nets, dtype=bool)
    leads[end] = True
    for net in range(end, netlist.num_inputs - 1, -1):
        if leads[net] and not sources[net]:
            gate = net - netlist.num_inputs
            leads[_read(netlist, gate)] = True
    return [int(net) for net in np.flatnonzero(leads & reached & ~sources)]


def _read(netlist: Netlist, gate: int) -> NDArray[np.int64]:
    """Return the nets that a gate reads."""
    sources: NDArray[np.int64] = netlist.sources[gate]
    return sources[sources != NO_NET]


def _register_level(classifier: "Classifier", level: int) -> int:
    """Return the last layer with registers before a layer, 0 if there is none."""
    return max((plan.level for plan in classifier.plans[: level - 1] if plan.registered), default=0)


def _last_name(net: str) -> str:
    return net.rsplit(".", 1)[-1]


def _blocks(hops: Sequence[Hop], *, named: bool) -> list[PathStep]:
    """Return the blocks of a path that does not run from trit to trit, and its first net.

    Parameters
    ----------
    named : bool
        Whether the trit that it begins in is named already; then its block and net are not.
    """
    blocks = [hop.block if _BLOCK.fullmatch(hop.block) else "top" for hop in hops]
    changed = [block for block, last in zip(blocks, ["", *blocks], strict=False) if block != last]
    if named:
        return [PathStep(block) for block in changed if not _DATA_BLOCK.fullmatch(block)]
    net = next((hop.net for hop in hops if hop.kind == "routing"), "")
    return [PathStep(changed[0], signal=_last_name(net)), *map(PathStep, changed[1:])]
