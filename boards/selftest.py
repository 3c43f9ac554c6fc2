"""The vectors that a board tries on itself when it starts, and the answers it must give."""

import numpy as np
from amaranth.hdl import Module, Signal, unsigned
from amaranth.lib import stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out
from numpy.typing import NDArray

from trilut.circuit.encoder import FeatureVectors
from trilut.circuit.head import Decisions
from trilut.circuit.netlist import Netlist

__all__ = ["SelfTest", "self_test_vectors"]

# Room for the vectors: two block RAMs of the smallest part that we know.
_ROM_BYTES = 1024
_MIN_VECTORS = 2
_MAX_VECTORS = 16
_NUM_CANDIDATES = 512


def self_test_vectors(
    netlist: Netlist, payload_bytes: int, *, certain: bool = False
) -> tuple[FeatureVectors, Decisions]:
    """Choose random vectors with as many different answers as there are, some features missing.

    Parameters
    ----------
    netlist : Netlist
        A circuit with an encoder and a head.
    payload_bytes : int
        Bytes of one vector; they share a small ROM.
    certain : bool
        Whether the answers say what is certain.
    """
    assert netlist.encoder is not None
    count = min(max(_ROM_BYTES // payload_bytes, _MIN_VECTORS), _MAX_VECTORS)
    features = netlist.encoder.features
    rng = np.random.default_rng(0)
    values = rng.integers(
        [feature.minimum for feature in features],
        [feature.maximum for feature in features],
        (_NUM_CANDIDATES, len(features)),
        endpoint=True,
    )
    valid = rng.random(values.shape) < rng.choice([1.0, 0.9, 0.5], (len(values), 1))
    vectors = FeatureVectors(np.where(valid, values, 0), valid)
    decisions = netlist.classify(netlist.encoder.trits(vectors), certain=certain)
    answers = np.stack([decisions.chosen, decisions.unknown, decisions.margin], axis=1)
    _, first = np.unique(answers, axis=0, return_index=True)
    # New answers first, in the order in which they came.
    order = np.concatenate([np.sort(first), np.setdiff1d(np.arange(len(values)), first)])
    chosen = _one_of_each_class(order, decisions.chosen)[:count]
    return vectors[chosen], decisions[chosen]


def _one_of_each_class(order: NDArray[np.int64], classes: NDArray[np.int64]) -> NDArray[np.int64]:
    """Move the first vector of each class to the front."""
    _, first = np.unique(classes[order], return_index=True)
    return np.concatenate([order[np.sort(first)], np.delete(order, first)])


class SelfTest(wiring.Component):
    """Loads vectors from a ROM after reset, has them classified, and compares the answers.

    It takes two cycles a byte, or what the loader takes, and the classifier's latency a vector.
    After the last one ``running`` falls, and ``passed`` holds.

    Parameters
    ----------
    data : bytes
        The vectors, all of the same length.
    expected : list of int
        The answer to each.
    answer_bits : int
        Width of an answer.

    Members
    -------
    start : :py:`Out(1)`
        Begin to load a vector.
    o : :py:`Out(stream.Signature(8))`
        Its bytes.
    loaded : :py:`In(1)`
        The vector is complete.
    run : :py:`Out(1)`
        Classify it; high for one cycle.
    answer, answer_valid : :py:`In(answer_bits)`, :py:`In(1)`
        What the classifier says.
    running, passed : :py:`Out(1)`
        The test is under way; all answers up to now were right and it is over.
    """

    def __init__(self, data: bytes, expected: list[int], answer_bits: int):
        self.data = data
        self.expected = expected
        super().__init__(
            {
                "start": Out(1),
                "o": Out(stream.Signature(8)),
                "loaded": In(1),
                "run": Out(1),
                "answer": In(answer_bits),
                "answer_valid": In(1),
                "running": Out(1, init=1),
                "passed": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.vectors = vectors = Memory(
            shape=unsigned(8), depth=len(self.data), init=self.data
        )
        m.submodules.answers = answers = Memory(
            shape=unsigned(len(self.answer)), depth=len(self.expected), init=self.expected
        )
        byte, expected = vectors.read_port(), answers.read_port()
        address = Signal(range(len(self.data) + 1))
        number = Signal(range(len(self.expected)))
        is_wrong = Signal()
        m.d.comb += [byte.addr.eq(address), expected.addr.eq(number), self.o.payload.eq(byte.data)]
        with m.FSM():
            with m.State("BEGIN"):
                m.d.comb += self.start.eq(1)
                m.next = "READ"
            with m.State("READ"):
                m.next = "SEND"
                with m.If(self.loaded):
                    m.d.comb += self.run.eq(1)
                    m.next = "COMPARE"
            with m.State("SEND"):
                m.d.comb += self.o.valid.eq(~self.loaded)
                with m.If(self.o.ready & self.o.valid):
                    m.d.sync += address.eq(address + 1)
                    m.next = "READ"
                with m.Elif(self.loaded):
                    m.next = "READ"
            with m.State("COMPARE"), m.If(self.answer_valid):
                m.d.sync += [
                    is_wrong.eq(is_wrong | (self.answer != expected.data)),
                    number.eq(number + 1),
                ]
                m.next = "BEGIN"
                with m.If(number == len(self.expected) - 1):
                    m.next = "OVER"
            with m.State("OVER"):
                m.d.comb += self.passed.eq(~is_wrong)
                m.d.sync += self.running.eq(0)
        return m
