"""The encoder of the engine: one trit of the feature at hand, for all samples."""

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from trilut.engine.instructions import Field
from trilut.hdl.engine.lane import part
from trilut.hdl.engine.program import WORD_BITS
from trilut.hdl.engine.size import EngineSize

__all__ = ["TritEncoder"]


class TritEncoder(wiring.Component):
    """Compares the values of one feature with two thresholds, for all samples in one cycle.

    Members
    -------
    word : :py:`In(64)`
        The instruction ``ENCODE``.
    values, present : :py:`In`
        The values, sample 0 lowest, and whether they are there.
    planes : :py:`Out(2 * samples)`
        The trits, three cycles later.
    """

    def __init__(self, size: EngineSize):
        self.size = size
        super().__init__(
            {
                "word": In(WORD_BITS),
                "values": In(size.samples * size.value_bits),
                "present": In(size.samples),
                "planes": Out(2 * size.samples),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        width = self.size.value_bits
        low, high = (part(self.word, name, width + 1) for name in (Field.LOW, Field.HIGH))
        missing = part(self.word, Field.MISSING)
        plus, minus = [], []
        for sample in range(self.size.samples):
            value = self.values.word_select(sample, width)
            is_present = self.present[sample]
            plus.append(is_present & (value >= high))
            minus.append(Mux(is_present, value < low, missing))
        stages = [Signal(2 * self.size.samples, name=f"trits_{stage}") for stage in range(2)]
        m.d.sync += [
            stages[0].eq(Cat(*plus, *minus)),
            stages[1].eq(stages[0]),
            self.planes.eq(stages[1]),
        ]
        return m
