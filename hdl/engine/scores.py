"""Sums of outputs, the scores of all classes, and the decision."""

from amaranth.hdl import Cat, Module, Mux, Signal, signed
from amaranth.lib import wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from trilut.hdl.engine.size import EngineSize

__all__ = ["Decision", "Sums"]


class Sums(wiring.Component):
    """One sum for each sample.

    Members
    -------
    sum, shift, result : :py:`In`
        What lanes add: a trit of each sample, 1, 2, 4 or 8 times.
    score : :py:`In(1)`
        Give the sums away and begin with 0; nothing is added then. No other may follow while
        ``busy``.
    busy : :py:`Out(1)`
        Sums are on their way to the memory of scores.
    valid, value : :py:`Out`
        The sums of samples 0, 1, 2, …, one a cycle, from the cycle after ``score`` on.
    """

    def __init__(self, size: EngineSize):
        self.size = size
        super().__init__(
            {
                "sum": In(size.lanes),
                "shift": In(2 * size.lanes),
                "result": In(2 * size.samples * size.lanes),
                "score": In(1),
                "busy": Out(1),
                "valid": Out(1),
                "value": Out(signed(size.score_bits)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        size = self.size
        samples, width = size.samples, size.score_bits
        sums = [Signal(signed(width), name=f"sum_{sample}") for sample in range(samples)]
        for sample, total in enumerate(sums):
            terms = []
            for lane in range(size.lanes):
                planes = self.result.word_select(lane, 2 * samples)
                plus, minus = planes[sample], planes[samples + sample]
                trit = Cat(plus ^ minus, minus & ~plus).as_signed()
                shifted = Signal(signed(5), name=f"term_{sample}_{lane}")
                m.d.comb += shifted.eq(
                    Mux(self.sum[lane], trit << self.shift.word_select(lane, 2), 0)
                )
                terms.append(shifted)
            with m.If(self.score):
                m.d.sync += total.eq(0)
            with m.Else():
                m.d.sync += total.eq(sum(terms, start=total))
        # They leave from the lowest end.
        leaving = Signal(samples * width)
        left = Signal(range(samples + 1))
        m.d.comb += [
            self.busy.eq(left != 0),
            self.valid.eq(left != 0),
            self.value.eq(leaving[:width].as_signed()),
        ]
        with m.If(self.score):
            m.d.sync += [leaving.eq(Cat(sums)), left.eq(samples)]
        with m.Elif(left != 0):
            m.d.sync += [leaving.eq(leaving >> width), left.eq(left - 1)]
        return m


class Decision(wiring.Component):
    """The memory of scores, and the argmax that reads it, one sample after another.

    Members
    -------
    begin, number, add, base : :py:`In`
        The class that the next sums belong to, and what is added to them: its base, or what it has.
    valid, value : :py:`In`
        Sums of samples 0, 1, 2, …, one a cycle.
    start : :py:`In(1)`
        Decide about all samples. The number of classes and the margin are taken then.
    num_classes, abstain_margin : :py:`In`
        Of the model.
    busy : :py:`Out(1)`
        Decisions are being made, or sums being added.
    out_valid, out_ready, out_class, out_margin, out_unknown
        The decisions, sample 0 first.
    """

    def __init__(self, size: EngineSize):
        self.size = size
        width = size.score_bits
        super().__init__(
            {
                "begin": In(1),
                "number": In(size.class_bits),
                "add": In(1),
                "base": In(signed(width)),
                "valid": In(1),
                "value": In(signed(width)),
                "start": In(1),
                "num_classes": In(range(size.classes + 1)),
                "abstain_margin": In(width),
                "busy": Out(1),
                "out_valid": Out(1),
                "out_ready": In(1),
                "out_class": Out(size.class_bits),
                "out_margin": Out(width),
                "out_unknown": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        size = self.size
        width = size.score_bits
        sample_bits = (size.samples - 1).bit_length()
        m.submodules.scores = memory = Memory(
            shape=signed(width), depth=size.samples << size.class_bits, init=[]
        )
        write_port, read_port = memory.write_port(), memory.read_port()
        # A sum waits one cycle for the score that it is added to.
        number, add, base = Signal.like(self.number), Signal(), Signal.like(self.base)
        place = Signal(sample_bits)
        waiting, waiting_value = Signal(), Signal(signed(width))
        waiting_place = Signal(sample_bits)
        with m.If(self.begin):
            m.d.sync += [number.eq(self.number), add.eq(self.add), base.eq(self.base), place.eq(0)]
        with m.Elif(self.valid):
            m.d.sync += place.eq(place + 1)
        m.d.sync += [
            waiting.eq(self.valid),
            waiting_value.eq(self.value),
            waiting_place.eq(place),
        ]
        m.d.comb += [
            write_port.en.eq(waiting),
            write_port.addr.eq(Cat(waiting_place, number)),
            write_port.data.eq(waiting_value + Mux(add, read_port.data, base)),
        ]

        sample = Signal(sample_bits)
        candidate = Signal(size.class_bits)
        last, margin = Signal(size.class_bits), Signal(width)
        best, second = Signal(signed(width)), Signal(signed(width))
        lowest = -(1 << width - 1)
        score = Signal(signed(width))
        m.d.sync += score.eq(read_port.data)
        running = Signal()
        m.d.comb += [
            self.busy.eq(running | waiting | self.valid),
            read_port.addr.eq(Mux(running, Cat(sample, candidate), Cat(place, number))),
            self.out_margin.eq(best - second),
            self.out_unknown.eq(self.out_margin < margin),
        ]
        with m.FSM():
            with m.State("IDLE"), m.If(self.start):
                m.d.sync += [
                    last.eq(self.num_classes - 1),
                    margin.eq(self.abstain_margin),
                    sample.eq(0),
                    running.eq(1),
                ]
                m.next = "BEGIN"
            with m.State("BEGIN"):
                m.d.sync += [candidate.eq(0), best.eq(lowest), second.eq(lowest)]
                m.next = "READ"
            with m.State("READ"):
                m.next = "KEEP"
            with m.State("KEEP"):
                m.next = "COMPARE"
            with m.State("COMPARE"):
                with m.If(score > best):
                    m.d.sync += [second.eq(best), best.eq(score), self.out_class.eq(candidate)]
                with m.Elif(score > second):
                    m.d.sync += second.eq(score)
                m.d.sync += candidate.eq(candidate + 1)
                m.next = "READ"
                with m.If(candidate == last):
                    m.next = "ANSWER"
            with m.State("ANSWER"):
                m.d.comb += self.out_valid.eq(1)
                with m.If(self.out_ready):
                    m.d.sync += sample.eq(sample + 1)
                    m.next = "BEGIN"
                    with m.If(sample == size.samples - 1):
                        m.d.sync += running.eq(0)
                        m.next = "IDLE"
        return m
