"""From the bytes of a feature vector to trits, one feature at a time."""

from enum import Enum
from typing import Any

import numpy as np
from amaranth.hdl import Cat, Module, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.data import ArrayLayout, StructLayout
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from trilut.boards.protocol import GROUP, value_bytes
from trilut.circuit.encoder import Encoder

__all__ = ["VectorLoader"]


class _Phase(Enum):
    MASK = 0
    VALUE = 1
    ENCODE = 2
    NEXT = 3


class VectorLoader(wiring.Component):
    """The encoder as a small machine: two comparators, and all thresholds in a ROM.

    A vector comes as :func:`~trilut.boards.protocol.payloads` makes it. Of it only trits are kept,
    and of these only the ones that the circuit reads. A byte takes one cycle, and the last one of a
    feature two more for each of its trits, in which ``i.ready`` is low. ``done`` rises when all
    trits are in place; ``trits`` hold until the first value after the next ``start``. Reset does as
    ``start`` does. Once a vector is done, no trit has the illegal code.

    Parameters
    ----------
    encoder : Encoder
        Features and thresholds.
    used : sequence of int
        The trits that the circuit reads; the others are not made.

    Attributes
    ----------
    max_steps : int
        Cycles that the trits of one feature take, at most.

    Members
    -------
    start : :py:`In(1)`
        Begin a vector, and forget one that is under way.
    i : :py:`In(stream.Signature(8))`
        Its bytes. Those after the last are taken and ignored.
    trits : :py:`Out(ArrayLayout(2, encoder.num_trits))`
        Dual-rail trits; 0 where not used.
    done : :py:`Out(1)`
        The vector is complete.
    """

    def __init__(self, encoder: Encoder, used: list[int]):
        self.encoder = encoder
        self._bits = max(feature.bits for feature in encoder.features)
        self._has_seen = any(feature.seen is not None for feature in encoder.features)
        self._is_missing_mixed = len(np.unique(encoder.missing)) > 1
        self._entry = StructLayout(
            {
                "last": 1,
                "emit": 1,
                "low": self._bits + 1,
                "high": self._bits + 1,
                **({"least": self._bits, "most": self._bits} if self._has_seen else {}),
                **({"missing": 1} if self._is_missing_mixed else {}),
            }
        )
        self._order = sorted(used, key=lambda trit: (encoder.feature[trit], trit))
        self._program = self._steps()
        counts = [0] * len(encoder.features)
        for trit in used:
            counts[encoder.feature[trit]] += 1
        self.max_steps = 2 * max(1, *counts)
        super().__init__(
            {
                "start": In(1),
                "i": In(stream.Signature(8)),
                "trits": Out(ArrayLayout(2, encoder.num_trits)),
                "done": Out(1),
            }
        )

    def _steps(self) -> list[dict[str, int]]:
        """Return the ROM: for each feature its used trits, or one step that makes none."""
        of_feature: list[list[int]] = [[] for _ in self.encoder.features]
        for trit in self._order:
            of_feature[self.encoder.feature[trit]].append(trit)
        steps = []
        for feature, trits in enumerate(of_feature):
            steps += [
                {
                    "last": 0,
                    "emit": 1,
                    "low": self._code(feature, self.encoder.low[trit]),
                    "high": self._code(feature, self.encoder.high[trit]),
                    **(self._seen(feature) if self._has_seen else {}),
                    **(
                        {"missing": -int(self.encoder.missing[trit])}
                        if self._is_missing_mixed
                        else {}
                    ),
                }
                for trit in trits
            ] or [{"last": 0, "emit": 0, "low": 0, "high": 0}]
            steps[-1]["last"] = 1
        return steps

    def _seen(self, feature: int) -> dict[str, int]:
        """Return between which values, as they are sent, a feature counts."""
        limits = self.encoder.features[feature]
        least, most = limits.seen or (limits.minimum, limits.maximum)
        least, most = max(least, limits.minimum), min(most, limits.maximum)
        return {"least": least - limits.minimum, "most": most - limits.minimum}

    def _code(self, feature: int, threshold: int) -> int:
        """Return a threshold for the values as they are sent; one above all of them is kept so."""
        limits = self.encoder.features[feature]
        if threshold > limits.maximum:
            return 1 << self._bits
        return max(0, int(threshold) - limits.minimum)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.thresholds = rom = Memory(
            shape=self._entry, depth=len(self._program), init=self._program
        )
        port = rom.read_port()
        step: Any = port.data
        address = Signal(range(len(self._program)))
        phase = Signal(_Phase)
        present = Signal(GROUP)
        slot = Signal(range(GROUP))
        width = value_bytes(self.encoder)
        value = Signal(8 * width)
        byte = Signal(range(width))
        # Trits enter from the top too.
        register = Signal(2 * len(self._order), reset_less=True)
        for position, trit in enumerate(self._order):
            m.d.comb += self.trits[trit].eq(register.word_select(position, 2))
        m.d.comb += [
            port.addr.eq(address),
            self.i.ready.eq((phase == _Phase.MASK) | (phase == _Phase.VALUE) | self.done),
        ]

        with m.If(self.i.valid & self.i.ready & ~self.done):
            with m.If(phase == _Phase.MASK):
                m.d.sync += [present.eq(self.i.payload), slot.eq(0), byte.eq(0)]
                m.d.sync += phase.eq(_Phase.VALUE)
            with m.Else():
                # Bytes enter from the top, so that after all of them the first is lowest.
                m.d.sync += [value.eq(Cat(value, self.i.payload)[8:]), byte.eq(byte + 1)]
                with m.If(byte == width - 1):
                    m.d.sync += [byte.eq(0), phase.eq(_Phase.ENCODE)]
        with m.If(phase == _Phase.NEXT):
            # The ROM answers one cycle after its address.
            m.d.sync += phase.eq(_Phase.ENCODE)
        with m.If(phase == _Phase.ENCODE):
            with m.If(step.emit):
                m.d.sync += register.eq(Cat(register, self._trit(step, value, present[0]))[2:])
            m.d.sync += phase.eq(_Phase.NEXT)
            with m.If(address == len(self._program) - 1):
                m.d.sync += [self.done.eq(1), phase.eq(_Phase.MASK)]
            with m.Else():
                m.d.sync += address.eq(address + 1)
                with m.If(step.last):
                    m.d.sync += [present.eq(present >> 1), slot.eq(slot + 1)]
                    m.d.sync += phase.eq(_Phase.VALUE)
                    with m.If(slot == GROUP - 1):
                        m.d.sync += phase.eq(_Phase.MASK)
        with m.If(self.start):
            m.d.sync += [address.eq(0), phase.eq(_Phase.MASK), self.done.eq(0)]
        return m

    def _trit(self, step: Any, value: Any, present: Any) -> Any:
        code = value[: self._bits]
        if self._has_seen:
            present = present & (code >= step.least) & (code <= step.most)
        minus = present & (code < step.low)
        if self._is_missing_mixed:
            minus = minus | (step.missing & ~present)
        elif self.encoder.missing.any():
            minus = minus | ~present
        return Cat(minus, present & (code >= step.high))
