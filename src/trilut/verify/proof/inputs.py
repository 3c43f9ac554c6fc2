"""The inputs of a circuit as inputs of a graph, and back."""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from trilut.circuit.encoder import FeatureVectors
from trilut.circuit.sequential import Circuit
from trilut.verify.proof.aig import TRUE, Aig, Literal, Words
from trilut.verify.proof.specification import encode, legal_inputs

__all__ = ["Inputs", "example_words", "read_bits", "read_integer"]


class Inputs:
    """One vector as logic.

    Parameters
    ----------
    aig : Aig
        The graph that gets the inputs.
    netlist : Netlist or SequentialNetlist
        The circuit: with an encoder its inputs are the bits of features, otherwise trits, which
        take every legal code and no other.
    always_present : bool
        Whether no feature is ever missing.

    Attributes
    ----------
    trits : list of Trit
        The trits that enter the gates.
    ports : dict
        Bits of the ports of a design.
    """

    def __init__(self, aig: Aig, netlist: Circuit, *, always_present: bool = False):
        self._encoder = netlist.encoder
        if netlist.encoder is None:
            self.trits = legal_inputs(aig, netlist.input_kinds.tolist())
            self.ports = {"in_trits": [plane for trit in self.trits for plane in trit]}
            return
        self._features = [aig.inputs(feature.bits) for feature in netlist.encoder.features]
        self._present = (
            [TRUE] * len(self._features) if always_present else aig.inputs(len(self._features))
        )
        self.trits = encode(aig, netlist.encoder, self._features, self._present)
        self.ports = {"in_features": [literal for bits in self._features for literal in bits]}
        if not always_present:
            self.ports["in_present"] = self._present

    def patterns(self, aig: Aig, num_words: int) -> dict[Literal, Words]:
        """Return random values for all inputs of the graph."""
        rng = np.random.default_rng(0)
        nodes = [2 * node for node, fanin in enumerate(aig.fanins) if node and fanin is None]
        words = rng.integers(0, 1 << 64, (len(nodes), num_words), dtype=np.uint64)
        patterns = dict(zip(nodes, words, strict=True))
        for literal in self.ports.get("in_present", []):
            # Most features are there.
            more = rng.integers(0, 1 << 64, (3, num_words), dtype=np.uint64)
            patterns[literal] = np.bitwise_or.reduce(more, axis=0)
        return patterns

    def vector(self, values: Words, pattern: int) -> FeatureVectors | NDArray[np.int8]:
        """Return one pattern of a simulation, as a design or the reference takes it."""
        encoder = self._encoder
        if encoder is None:
            planes = [read_bits(values, trit, pattern) for trit in self.trits]
            return np.array([[plus - minus for minus, plus in planes]], dtype=np.int8)
        present = np.array([read_bits(values, self._present, pattern)], dtype=np.bool_)
        numbers = [
            read_integer(read_bits(values, bits, pattern), signed=feature.signed)
            for bits, feature in zip(self._features, encoder.features, strict=True)
        ]
        return FeatureVectors(np.where(present, [numbers], 0), present)

    def named(self, vector: FeatureVectors | NDArray[np.int8]) -> dict[str, int | None]:
        """Return one vector by the names of its features; None where one is missing."""
        if not isinstance(vector, FeatureVectors):
            return {f"input {index}": int(trit) for index, trit in enumerate(vector[0])}
        assert self._encoder is not None
        return {
            feature.name: int(value) if here else None
            for feature, value, here in zip(
                self._encoder.features, vector.values[0], vector.valid[0], strict=True
            )
        }

    def encoded(self, vector: FeatureVectors | NDArray[np.int8]) -> NDArray[np.int8]:
        """Return the trits of a vector, by the encoder itself."""
        if not isinstance(vector, FeatureVectors):
            return vector
        assert self._encoder is not None
        return self._encoder.trits(vector)


def read_bits(values: Words, literals: Sequence[Literal], pattern: int) -> list[int]:
    """Read literals of one pattern of a simulation."""
    word, place = divmod(pattern, 64)
    return [
        int(values[literal >> 1, word] >> np.uint64(place) & np.uint64(1)) ^ (literal & 1)
        for literal in literals
    ]


def read_integer(bits: Sequence[int], *, signed: bool) -> int:
    """Read a number from its bits, the lowest first."""
    number = sum(bit << place for place, bit in enumerate(bits))
    return number - (1 << len(bits)) if signed and bits[-1] else number


def example_words(example: Mapping[Literal, bool]) -> dict[Literal, Words]:
    """Return an example as a pattern to simulate."""
    return {literal: np.array([int(value)], dtype=np.uint64) for literal, value in example.items()}
