"""A trained classifier as one part of a design in Amaranth, with logic of its own behind it.

Trains Moons for a moment, lets the circuit abstain below a margin of 4, connects its stream to a
counter of abstentions, and runs both in Amaranth's simulator.

Run: python examples/inside_amaranth.py
"""

from dataclasses import replace

from amaranth.hdl import Module
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out
from amaranth.sim import Simulator, SimulatorContext

from trilut.data import load_dataset
from trilut.hdl import Classifier, StreamClassifier
from trilut.training import TrainingConfig, train


class AbstentionCounter(wiring.Component):
    """Takes every result of a classifier, and counts those in which it abstains.

    Members
    -------
    results : :py:`In(stream.Signature(...))`
        What leaves the classifier; always ready.
    count : :py:`Out(8)`
        How often it has abstained, modulo 256.
    """

    def __init__(self, results: wiring.Signature):
        super().__init__({"results": In(results), "count": Out(8)})

    def elaborate(self, platform: object) -> Module:
        """Build the counter."""
        m = Module()
        m.d.comb += self.results.ready.eq(1)
        with m.If(self.results.valid & self.results.payload.unknown):
            m.d.sync += self.count.eq(self.count + 1)
        return m


def main() -> None:
    """Train, connect and simulate."""
    moons = load_dataset("moons")
    net = train(moons, TrainingConfig.for_dataset(moons, steps=300)).netlist
    assert net.encoder is not None
    assert net.head is not None
    net = replace(net, head=replace(net.head, abstain_margin=4))

    m = Module()
    m.submodules.classifier = classifier = StreamClassifier(Classifier(net))
    m.submodules.counter = counter = AbstentionCounter(classifier.o.signature)
    wiring.connect(m, classifier.o, counter.results)

    vectors = net.encoder.quantize(moons.test.x[:200])

    async def drive(ctx: SimulatorContext) -> None:
        sink = classifier.i
        ctx.set(sink.valid, 1)
        ctx.set(sink.payload.present, -1)
        for vector in vectors.values.tolist():
            fields = {f"feature_{index}": value for index, value in enumerate(vector)}
            ctx.set(sink.payload.features, fields)
            await ctx.tick().until(sink.ready)
        ctx.set(sink.valid, 0)
        await ctx.tick().repeat(classifier.classifier.latency)
        print(f"hardware: {ctx.get(counter.count)} of {len(vectors)} vectors without an answer")

    simulator = Simulator(m)
    simulator.add_clock(1e-8)
    simulator.add_testbench(drive)
    simulator.run()
    print(f"software: {int(net.classify(net.encoder.trits(vectors)).unknown.sum())}")


if __name__ == "__main__":
    main()
