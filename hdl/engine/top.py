"""The engine: a processor that runs netlists from memory."""

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from trilut.engine.instructions import Field, Op
from trilut.hdl.engine.encoder import TritEncoder
from trilut.hdl.engine.lane import Lane, part
from trilut.hdl.engine.loader import Loader
from trilut.hdl.engine.program import WORD_BITS, Fetch
from trilut.hdl.engine.scores import Decision, Sums
from trilut.hdl.engine.size import EngineSize
from trilut.hdl.engine.values import ValueMemory

__all__ = ["Engine"]


class Engine(wiring.Component):
    """Runs the program of a model over ``samples`` samples at a time.

    ``docs/engine.md`` has the instructions, the file of a model, and the timing. A step takes one
    cycle. The engine waits for features that are not there, for the sums of a class to leave before
    others do, and for decisions of the samples before.

    Parameters
    ----------
    size : EngineSize
        How large it is.
    memory_module : str, optional
        Name of a module that the program memory is an instance of; by default it is Amaranth's.

    Members
    -------
    in_valid, in_ready, in_values, in_present
        One feature of all samples: values counted from the lowest, sample 0 in the lowest bits, and
        whether they are there.
    out_valid, out_ready, out_class, out_margin, out_unknown
        Decisions, sample 0 first.
    model_start, model_data, model_valid, model_ready
        A model, as :class:`~trilut.hdl.engine.loader.Loader` takes it. It serves as soon as the
        samples under way are answered.
    model_state : :py:`Out(3)`
        How the last loading ended.
    model_loaded, model_digest : :py:`Out(1)`, :py:`Out(32)`
        Whether there is a model in use, and the first four bytes of its digest.
    """

    def __init__(self, size: EngineSize, *, memory_module: str | None = None):
        self.size = size
        self._memory_module = memory_module
        super().__init__(
            {
                "in_valid": In(1),
                "in_ready": Out(1),
                "in_values": In(size.samples * size.value_bits),
                "in_present": In(size.samples),
                "out_valid": Out(1),
                "out_ready": In(1),
                "out_class": Out(size.class_bits),
                "out_margin": Out(size.score_bits),
                "out_unknown": Out(1),
                "model_start": In(1),
                "model_data": In(8),
                "model_valid": In(1),
                "model_ready": Out(1),
                "model_state": Out(3),
                "model_loaded": Out(1),
                "model_digest": Out(32),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.loader = self.loader = Loader(self.size)
        m.submodules.fetch = self.fetch = Fetch(self.size, memory_module=self._memory_module)
        m.submodules.values = self.values = ValueMemory(self.size)
        m.submodules.encoder = self.encoder = TritEncoder(self.size)
        m.submodules.sums = self.sums = Sums(self.size)
        m.submodules.decision = self.decision = Decision(self.size)
        self.lanes = [Lane(self.size) for _ in range(self.size.lanes)]
        for number, lane in enumerate(self.lanes):
            m.submodules[f"lane_{number}"] = lane
        self._connect_model(m)
        self._connect_lanes(m)
        self._connect_scores(m)
        self._control(m)
        return m

    def _connect_model(self, m: Module) -> None:
        """Load models, and take a new one between samples and samples."""
        loader, fetch = self.loader, self.fetch
        self._num_classes = Signal.like(loader.num_classes)
        self._abstain_margin = Signal.like(loader.abstain_margin)
        self._swap = Signal()
        m.d.comb += [
            loader.start.eq(self.model_start),
            loader.data.eq(self.model_data),
            loader.valid.eq(self.model_valid),
            self.model_ready.eq(loader.ready),
            self.model_state.eq(loader.state),
            loader.taken.eq(self._swap),
            fetch.begin.eq(loader.begin),
            fetch.write.eq(loader.write),
            fetch.word.eq(loader.word),
            fetch.take.eq(self._swap),
            fetch.run.eq(self.model_loaded),
        ]
        with m.If(self._swap):
            m.d.sync += [
                self.model_loaded.eq(1),
                self.model_digest.eq(loader.digest),
                self._num_classes.eq(loader.num_classes),
                self._abstain_margin.eq(loader.abstain_margin),
            ]

    def _connect_lanes(self, m: Module) -> None:
        """Join lanes and value memory."""
        size, values = self.size, self.values
        width, bits = 2 * size.samples, size.address_bits
        self._go = Signal()
        for number, lane in enumerate(self.lanes):
            word = self.fetch.words.word_select(number, WORD_BITS)
            a, b = (part(word, name, bits) for name in (Field.A, Field.B))
            m.d.comb += [
                lane.go.eq(self._go),
                lane.word.eq(word),
                values.read.word_select(2 * number, bits).eq(a),
                values.read.word_select(2 * number + 1, bits).eq(b),
                lane.a.eq(values.data.word_select(2 * number, width)),
                lane.b.eq(values.data.word_select(2 * number + 1, width)),
            ]
        encode = [Signal(name=f"encode_{stage}") for stage in range(3)]
        word = self.fetch.words[:WORD_BITS]
        m.d.comb += [
            self.encoder.word.eq(word),
            self.encoder.values.eq(self.in_values),
            self.encoder.present.eq(self.in_present),
        ]
        is_encode = self._go & (part(word, Field.OP) == Op.ENCODE)
        m.d.sync += [encode[0].eq(is_encode), encode[1].eq(encode[0]), encode[2].eq(encode[1])]
        results = [lane.result for lane in self.lanes]
        m.d.comb += [
            values.encode.eq(encode[2]),
            values.store.eq(Cat(lane.store for lane in self.lanes) | encode[2]),
            values.destination.eq(Cat(lane.destination for lane in self.lanes)),
            values.result.eq(Cat(Mux(encode[2], self.encoder.planes, results[0]), *results[1:])),
        ]

    def _connect_scores(self, m: Module) -> None:
        """Join lanes, sums and decisions."""
        size, sums, decision = self.size, self.sums, self.decision
        word = self.fetch.words[:WORD_BITS]
        is_score = self._go & (part(word, Field.OP) == Op.SCORE)
        # A score comes behind the gates before it.
        content = Cat(
            part(word, Field.CLASS, size.class_bits),
            part(word, Field.ADD),
            part(word, Field.BASE, size.score_bits),
        )
        stages = [Signal(1 + len(content), name=f"score_{stage}") for stage in range(3)]
        m.d.sync += [
            stages[0].eq(Cat(is_score, content)),
            stages[1].eq(stages[0]),
            stages[2].eq(stages[1]),
        ]
        # From the cycle after a score or the end on, until all sums and decisions are out.
        self._scoring = Signal()
        in_flight = Cat(stage[0] for stage in stages).any()
        m.d.sync += self._scoring.eq(
            is_score | decision.start | in_flight | sums.busy | decision.busy
        )
        m.d.comb += [
            sums.sum.eq(Cat(lane.sum for lane in self.lanes)),
            sums.shift.eq(Cat(lane.shift for lane in self.lanes)),
            sums.result.eq(Cat(lane.result for lane in self.lanes)),
            sums.score.eq(stages[2][0]),
            Cat(decision.begin, decision.number, decision.add, decision.base).eq(stages[2]),
            decision.valid.eq(sums.valid),
            decision.value.eq(sums.value),
            decision.num_classes.eq(self._num_classes),
            decision.abstain_margin.eq(self._abstain_margin),
            self.out_valid.eq(decision.out_valid),
            decision.out_ready.eq(self.out_ready),
            self.out_class.eq(decision.out_class),
            self.out_margin.eq(decision.out_margin),
            self.out_unknown.eq(decision.out_unknown),
        ]

    def _control(self, m: Module) -> None:
        """Say when the instructions at hand go."""
        fetch = self.fetch
        word = fetch.words[:WORD_BITS]
        op = part(word, Field.OP)
        takes = (op == Op.ENCODE) | (op == Op.NEXT)
        is_last = (op == Op.NEXT) | (op == Op.ENCODE) & part(word, Field.LAST)
        is_end = op == Op.END
        hold = Signal()
        # Features have come in that no decision has been made about.
        begun = Signal()
        m.d.comb += [
            hold.eq(
                fetch.valid & (takes & ~self.in_valid | ((op == Op.SCORE) | is_end) & self._scoring)
            ),
            fetch.hold.eq(hold),
            self._swap.eq(self.loader.done & ~begun),
            self._go.eq(fetch.valid & ~hold & ~self._swap),
            self.in_ready.eq(fetch.valid & is_last & ~self._swap),
            self.decision.start.eq(self._go & is_end),
            fetch.restart.eq(self._swap | self.decision.start),
        ]
        with m.If(self.in_ready & self.in_valid):
            m.d.sync += begun.eq(1)
        with m.Elif(self.decision.start):
            m.d.sync += begun.eq(0)
