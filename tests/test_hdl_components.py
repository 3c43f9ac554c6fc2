# amaranth: UnusedElaboratable=no
import random

import numpy as np
import pytest
from amaranth.hdl import Cat, Const, Module, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.sim import Simulator
from circuits import random_netlist

from trilut import Encoder, Feature, FeatureVectors, Head, Netlist
from trilut.circuit.gates import NAMED_GATES
from trilut.circuit.trit import CODES
from trilut.errors import NetlistError
from trilut.hdl import (
    Argmax,
    Classifier,
    Control,
    FeatureEncoder,
    Gate,
    GroupSum,
    HardwareOptions,
    InputKind,
    Layer,
    StreamClassifier,
)
from trilut.hdl.digits import DigitComparator
from trilut.hdl.plan import plan_layers

TRIT = {code: trit for trit, code in CODES.items()}


def simulate(component, testbench):
    simulator = Simulator(component)
    simulator.add_clock(1e-6)
    simulator.add_testbench(testbench)
    simulator.run()


def pack(trits):
    return sum(CODES[int(trit)] << 2 * index for index, trit in enumerate(trits))


def unpack(bits, count):
    return [TRIT[bits >> 2 * index & 3] for index in range(count)]


@pytest.mark.parametrize("name", NAMED_GATES)
def test_named_gate(name):
    gate = Gate(NAMED_GATES[name].tolist())

    async def check(ctx):
        for row, expected in enumerate(gate.table):
            ctx.set(gate.a, CODES[row // 3 - 1])
            ctx.set(gate.b, CODES[row % 3 - 1])
            assert TRIT[ctx.get(gate.o)] == expected

    simulator = Simulator(gate)
    simulator.add_testbench(check)
    simulator.run()


@pytest.mark.parametrize("table", [[0] * 8, [2] + [0] * 8])
def test_wrong_table(table):
    with pytest.raises(NetlistError) as caught:
        Gate(table)
    assert str(caught.value) == f"A gate's table is {table}, expected 9 trits"


@pytest.mark.parametrize(("missing", "pipeline"), [(0, 2), (-1, 2), (0, 1), (-1, 1)])
def test_encoder_at_its_thresholds(missing, pipeline):
    encoder = Encoder(
        (Feature("u", 5), Feature("s", 4, signed=True)),
        [0, 0, 1, 1, 1],
        [3, 7, -2, 0, -9],
        [3, 30, 3, 0, 8],
        missing=missing,
    )
    component = FeatureEncoder(encoder, pipeline=pipeline)
    assert component.latency == (2 if pipeline == 1 else 1)
    values = np.array([(u, s) for u in range(32) for s in range(-8, 8)])
    valid = np.random.default_rng(0).random(values.shape) < 0.8
    expected = encoder.trits(FeatureVectors(values, valid))

    async def check(ctx):
        ctx.set(component.en, 1)
        for sample in range(len(values)):
            ctx.set(component.features.feature_0, int(values[sample, 0]))
            ctx.set(component.features.feature_1, int(values[sample, 1]))
            ctx.set(component.present, int(valid[sample] @ [1, 2]))
            await ctx.tick()
            if sample + 1 >= component.latency:
                trits = expected[sample + 1 - component.latency]
                assert unpack(ctx.get(component.o.as_value()), 5) == trits.tolist()

    simulate(component, check)


def test_encoder_whose_comparisons_fit_a_lut_has_one_register():
    encoder = Encoder((Feature("u", 5),), [0, 0], [4, 8], [12, 64])
    assert FeatureEncoder(encoder, pipeline=1).latency == 1


class Comparison(wiring.Component):
    """All comparisons of a number with constants."""

    def __init__(self, width):
        super().__init__({"number": In(width), "o": Out((1 << width) - 1)})

    def elaborate(self, platform):
        m = Module()
        comparator = DigitComparator(m, "bits", self.number, Const(1))
        thresholds = range(1, 1 << len(self.number))
        m.d.comb += self.o.eq(Cat(comparator.reaches(threshold) for threshold in thresholds))
        return m


@pytest.mark.parametrize("width", [1, 2, 4, 5, 7, 9])
def test_digits_compare_as_their_number_does(width):
    component = Comparison(width)

    async def check(ctx):
        for number in range(1 << width):
            ctx.set(component.number, number)
            await ctx.tick()
            assert ctx.get(component.o) == (1 << number) - 1

    simulate(component, check)


@pytest.mark.parametrize(
    ("sizes", "pipeline"),
    [((1, 1), 1), ((2, 3), 1), ((7, 1, 4), 2), ((13, 13), 3), ((5, 5, 5), 9)],
)
def test_groupsum_is_the_sum_after_its_latency(sizes, pipeline):
    head = Head(tuple("abc"[: len(sizes)]), sizes)
    component = GroupSum(head, pipeline)
    rng = np.random.default_rng(0)
    outputs = rng.integers(-1, 2, (60, head.num_outputs)).astype(np.int8)
    outputs[0], outputs[1] = 1, -1
    expected = head.scores(outputs)

    async def check(ctx):
        ctx.set(component.en, 1)
        for cycle in range(len(outputs) + component.latency):
            if cycle < len(outputs):
                ctx.set(component.i.as_value(), pack(outputs[cycle]))
            if cycle >= component.latency:
                scores = [ctx.get(component.o[index]) for index in range(len(sizes))]
                assert scores == expected[cycle - component.latency].tolist()
            await ctx.tick()

    simulate(component, check)


@pytest.mark.parametrize("num_classes", [2, 3, 4, 5, 7, 10])
def test_argmax_is_the_decision_after_its_latency(num_classes):
    head = Head(tuple(map(str, range(num_classes))), (3,) * num_classes, abstain_margin=2)
    component = Argmax(head)
    rng = np.random.default_rng(num_classes)
    # Few values, so that ties are common.
    scores = rng.integers(-3, 4, (200, num_classes))
    expected = head.decide(scores)

    async def check(ctx):
        ctx.set(component.en, 1)
        for cycle in range(len(scores) + component.latency):
            if cycle < len(scores):
                for index in range(num_classes):
                    ctx.set(component.i[index], int(scores[cycle, index]))
            if cycle >= component.latency:
                sample = cycle - component.latency
                assert ctx.get(component.o.chosen) == expected.chosen[sample]
                assert ctx.get(component.o.margin) == expected.margin[sample]
                assert ctx.get(component.o.unknown) == expected.unknown[sample]
                for index in range(num_classes):
                    assert ctx.get(component.o.scores[index]) == scores[sample, index]
            await ctx.tick()

    simulate(component, check)


class Delay(wiring.Component):
    """A pipeline that only hands on."""

    def __init__(self, depth):
        self.control = Control(depth, 8)
        super().__init__({"i": In(stream.Signature(8)), "o": Out(stream.Signature(8))})

    def elaborate(self, platform):
        m = Module()
        m.submodules.control = control = self.control
        value = self.i.payload
        for stage in range(control.depth):
            register = Signal(8, name=f"stage_{stage}")
            with m.If(control.advance):
                m.d.sync += register.eq(value)
            value = register
        m.d.comb += [
            control.i.eq(value),
            control.in_valid.eq(self.i.valid),
            self.i.ready.eq(control.in_ready),
            control.out_ready.eq(self.o.ready),
            self.o.valid.eq(control.out_valid),
            self.o.payload.eq(control.o),
        ]
        return m


@pytest.mark.parametrize(("idle", "stall"), [(0, 0), (0.5, 0), (0, 0.5), (0.3, 0.3)])
@pytest.mark.parametrize("depth", [0, 1, 3])
def test_control_loses_nothing_and_keeps_the_order(depth, idle, stall):
    component = Delay(depth)
    rng = random.Random(depth)
    sent, received, cycles = [], [], 0

    async def check(ctx):
        nonlocal cycles
        waiting = None
        while len(received) < 200:
            valid, ready = rng.random() >= idle, rng.random() >= stall
            value = len(sent) % 256
            ctx.set(component.i.valid, valid)
            ctx.set(component.i.payload, value)
            accepts = ctx.get(component.i.ready)
            ctx.set(component.o.ready, ready)
            assert ctx.get(component.i.ready) == accepts, "in_ready follows out_ready"
            result = ctx.get(component.o.payload) if ctx.get(component.o.valid) else None
            assert waiting is None or result == waiting, "A waiting result changed"
            waiting = None if ready else result
            if valid and accepts:
                sent.append(value)
            if ready and result is not None:
                received.append(result)
            await ctx.tick()
            cycles += 1

    simulate(component, check)
    assert received == sent[:200]
    if not idle and not stall:
        assert cycles == 200 + depth + 1


@pytest.mark.parametrize("seed", range(3))
def test_layers_compute_the_netlist(seed):
    netlist = random_netlist(seed, num_inputs=4, num_gates=30, num_outputs=9)
    plans = plan_layers(netlist, pipeline=1)
    rng = np.random.default_rng(seed)
    trits = rng.integers(-1, 2, (20, 4)).astype(np.int8)
    values = netlist.values(trits)
    for plan in plans:
        layer = Layer(netlist, plan)

        async def check(ctx, layer=layer, plan=plan):
            ctx.set(layer.en, 1)
            for sample in range(len(trits)):
                ctx.set(layer.i.as_value(), pack(values[sample, list(plan.nets_in)]))
                await ctx.tick()
                outputs = unpack(ctx.get(layer.o.as_value()), len(plan.nets_out))
                assert outputs == values[sample, list(plan.nets_out)].tolist()

        simulate(layer, check)


def test_registers_stand_every_n_layers_and_at_the_end():
    netlist = random_netlist(0, num_inputs=3, num_gates=40, num_outputs=4)
    assert netlist.depth > 4
    plans = plan_layers(netlist, pipeline=2)
    assert [plan.registered for plan in plans] == [
        level % 2 == 0 or level == netlist.depth for level in range(1, netlist.depth + 1)
    ]
    assert plans[-1].nets_out == tuple(netlist.outputs.tolist())


@pytest.mark.parametrize("num_classes", [2, 3])
@pytest.mark.parametrize("scores", [False, True])
@pytest.mark.parametrize(("valence", "seed"), [(3, 0), (3, 1), (2, 0)])
def test_stream_classifier_with_random_stalls(valence, seed, scores, num_classes):
    netlist = random_netlist(
        seed, num_inputs=4, num_gates=25, num_outputs=6, valence=valence, num_classes=num_classes
    )
    component = StreamClassifier(
        Classifier(netlist, HardwareOptions(input_kind=InputKind.TRITS, scores=scores))
    )
    choices = [-1, 1] if valence == 2 else [-1, 0, 1]
    trits = np.random.default_rng(seed).choice(choices, (100, 4)).astype(np.int8)
    expected = netlist.classify(trits)
    rng = random.Random(seed)

    async def drive(ctx):
        for vector in trits:
            while rng.random() < 0.4:
                await ctx.tick()
            ctx.set(component.i.payload.as_value(), pack(vector))
            ctx.set(component.i.valid, 1)
            await ctx.tick().until(component.i.ready)
            ctx.set(component.i.valid, 0)

    async def check(ctx):
        for sample in range(len(trits)):
            while rng.random() < 0.4:
                await ctx.tick()
            ctx.set(component.o.ready, 1)
            payload, *_ = await ctx.tick().sample(component.o.payload).until(component.o.valid)
            ctx.set(component.o.ready, 0)
            assert payload["class"] == expected.chosen[sample]
            assert payload.margin == expected.margin[sample]
            assert payload.unknown == expected.unknown[sample]
            if scores:
                got = [payload.scores[index] for index in range(num_classes)]
                assert got == expected.scores[sample].tolist()

    simulator = Simulator(component)
    simulator.add_clock(1e-6)
    simulator.add_testbench(drive)
    simulator.add_testbench(check)
    simulator.run()


def test_port_sets_the_abstention_margin():
    netlist = random_netlist(0, num_inputs=4, num_gates=25, num_outputs=6, num_classes=3)
    component = Classifier(netlist, HardwareOptions(input_kind=InputKind.TRITS, margin_port=True))
    trits = np.random.default_rng(0).integers(-1, 2, (40, 4)).astype(np.int8)
    expected = netlist.classify(trits)

    async def check(ctx):
        ctx.set(component.out_ready, 1)
        ctx.set(component.in_valid, 1)
        for margin in (0, 1, 3):
            ctx.set(component.abstain_margin, margin)
            for sample in range(len(trits)):
                ctx.set(component.in_trits.as_value(), pack(trits[sample]))
                for _ in range(component.latency):
                    await ctx.tick()
                unknown = expected.margin[sample] < max(1, margin)
                assert ctx.get(component.out_unknown) == unknown

    simulate(component, check)


def test_port_sets_the_abstention_margin_behind_streams():
    netlist = random_netlist(0, num_inputs=4, num_gates=25, num_outputs=6, num_classes=3)
    core = Classifier(netlist, HardwareOptions(input_kind=InputKind.TRITS, margin_port=True))
    component = StreamClassifier(core)
    trits = np.random.default_rng(0).integers(-1, 2, (40, 4)).astype(np.int8)
    expected = netlist.classify(trits)

    async def check(ctx):
        ctx.set(component.o.ready, 1)
        ctx.set(component.i.valid, 1)
        ctx.set(component.abstain_margin, 3)
        for sample in range(len(trits)):
            ctx.set(component.i.payload.as_value(), pack(trits[sample]))
            for _ in range(core.latency):
                await ctx.tick()
            assert ctx.get(component.o.payload.unknown) == (expected.margin[sample] < 3)

    simulate(component, check)


def test_features_need_an_encoder():
    with pytest.raises(
        NetlistError,
        match=r"^Netlist 'net' has no encoder, so its hardware can only take trits$",
    ):
        Classifier(
            Netlist.of_gates(1, np.empty((0, 9)), [], [], [0]),
            HardwareOptions(input_kind=InputKind.FEATURES),
        )


def test_pipeline_of_zero():
    with pytest.raises(NetlistError, match=r"^There is a register every 1 or more layers, not 0$"):
        HardwareOptions(pipeline=0)


def test_sums_of_an_unknown_part():
    message = "Sums are made of 'ecp6', expected one of 'generic', 'carry', 'ecp5', 'xilinx'"
    with pytest.raises(NetlistError, match=f"^{message}$"):
        HardwareOptions(sums="ecp6")


def test_without_presence_bits_there_is_no_port_for_them():
    netlist = random_netlist(0, num_inputs=4, num_gates=5, num_outputs=3, with_encoder=True)
    classifier = Classifier(netlist, HardwareOptions(presence_bits=False))
    assert "in_present" not in classifier.signature.members
    assert [port.name for port in classifier.interface.inputs] == ["in_features"]
    assert not classifier.interface.has_presence
