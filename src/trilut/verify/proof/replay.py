"""Inputs replayed in the reference and in a design that could not be proven, to show it wrong."""

from collections.abc import Mapping, Sequence

import numpy as np

from trilut.circuit.interface import LIST_PORTS
from trilut.verify.proof.aig import FALSE, TRUE, Literal, Words
from trilut.verify.proof.design import Bit
from trilut.verify.proof.fabric import NUM_WORDS, Fabric
from trilut.verify.proof.inputs import example_words, read_bits, read_integer
from trilut.verify.proof.pipeline import Pipeline
from trilut.verify.proof.subject import Subject
from trilut.verify.proof.witness import Witness, first_difference, reference

__all__ = ["explain", "result_of", "search", "whole_outputs"]


def explain(subject: Subject, fabric: Fabric, inputs: Mapping[Literal, bool]) -> Witness:
    """Run the reference and the design on one input, and compare them."""
    outputs = whole_outputs(subject, fabric)
    values = fabric.aig.simulate(example_words(inputs))
    vector = fabric.inputs.vector(values, 0)
    trits = fabric.inputs.encoded(vector)

    def neuron(layer: str, number: int) -> list[int] | None:
        return _neuron(subject, fabric, values, f"{layer}.neuron_{number}")

    return Witness(
        fabric.inputs.named(vector),
        reference(subject.netlist, trits, outputs)[0],
        result_of({port: read_bits(values, bits, 0) for port, bits in outputs.items()}),
        first_difference(subject.netlist, trits, neuron),
    )


def search(subject: Subject, fabric: Fabric) -> Witness | None:
    """Look for an input for which a design that could not be proven is wrong."""
    outputs = whole_outputs(subject, fabric)
    patterns = fabric.inputs.patterns(fabric.aig, NUM_WORDS)
    values = fabric.aig.simulate(patterns)
    count = 64 * NUM_WORDS
    vectors = (fabric.inputs.vector(values, pattern) for pattern in range(count))
    expected = reference(
        subject.netlist,
        np.concatenate([fabric.inputs.encoded(vector) for vector in vectors]),
        outputs,
    )
    for pattern in range(count):
        got = result_of({port: read_bits(values, bits, pattern) for port, bits in outputs.items()})
        if got != expected[pattern]:
            word, place = divmod(pattern, 64)
            inputs = {
                literal: bool(words[word] >> np.uint64(place) & np.uint64(1))
                for literal, words in patterns.items()
            }
            return explain(subject, fabric, inputs)
    return None


def whole_outputs(subject: Subject, fabric: Fabric) -> dict[str, list[Literal]]:
    """Return the result ports of the whole design, with all registers left out."""
    known: dict[Bit, Literal] = {}
    source = fabric.pipeline
    for block in ("groupsum", "argmax") if subject.netlist.head else ():
        entering = {
            inner: source.literal(outer)
            for inner, outer in subject.wiring(block)
            if source.has_value(outer)
        }
        _, known = subject.through(block, fabric.aig, entering, margin=_margin(subject))
        source = Pipeline(fabric.aig, subject.main, known)
    if subject.netlist.head is None:
        known = {bit: source.literal(bit) for bit in fabric.outputs.values()}
    outputs = Pipeline(fabric.aig, subject.main, subject.past_control(fabric.aig, known))
    # Scores say nothing that is not in the margin, and are long.
    shown = {port.name for port in subject.interface.outputs} - {"out_scores"}
    return {port: outputs.literals(bits) for port, bits in subject.results.items() if port in shown}


def _margin(subject: Subject) -> list[Literal]:
    """Return the netlist's abstention margin at the port for it."""
    highest = (1 << subject.margin_bits) - 1
    margin = min(subject.head.abstain_margin, highest)
    return [TRUE if margin >> place & 1 else FALSE for place in range(subject.margin_bits)]


def _neuron(subject: Subject, fabric: Fabric, values: Words, name: str) -> list[int] | None:
    bits = subject.main.nets.get(f"classifier.{name}" if subject.has_loader else name)
    if bits is None or not all(fabric.pipeline.is_known(bit) for bit in bits):
        return None
    return read_bits(values, fabric.pipeline.literals(bits), 0)


def result_of(ports: Mapping[str, Sequence[int]]) -> dict[str, object]:
    """Return the values of result ports as the reference gives them."""
    if "out_trits" in ports:
        bits = ports["out_trits"]
        return {"trits": [plus - minus for minus, plus in zip(bits[::2], bits[1::2], strict=True)]}
    return {
        name.removeprefix("out_"): list(bits)
        if name in LIST_PORTS
        else read_integer(bits, signed=False)
        for name, bits in ports.items()
    }
