# amaranth: UnusedElaboratable=no
import dataclasses
import random

import numpy as np
import pytest
from amaranth.sim import Simulator
from circuits import random_netlist

from trilut.errors import NetlistError
from trilut.hdl import Classifier, HardwareOptions, InputKind, write_verilog
from trilut.hdl.axi import AxiClassifier, BeatLoader


def simulate(component, *testbenches):
    simulator = Simulator(component)
    simulator.add_clock(1e-6)
    for testbench in testbenches:
        simulator.add_testbench(testbench)
    simulator.run()


def packets(vector, width, beat_bits):
    count = -(-width // beat_bits)
    mask = (1 << beat_bits) - 1
    return [(vector >> beat_bits * index & mask, index == count - 1) for index in range(count)]


@pytest.mark.parametrize(("width", "beat_bits"), [(8, 8), (9, 8), (40, 16), (3, 32), (33, 1)])
@pytest.mark.parametrize("seed", range(2))
def test_loader_gives_whole_vectors_and_drops_broken_packets(width, beat_bits, seed):
    component = BeatLoader(width, beat_bits)
    rng = random.Random(seed)
    vectors = [rng.getrandbits(width) for _ in range(40)]
    beats = []
    num_broken = 0
    for vector in vectors:
        whole = packets(vector, width, beat_bits)
        beats += whole
        if rng.random() < 0.3:
            wrong = rng.choice([n for n in range(1, len(whole) + 4) if n != len(whole)])
            beats += [(rng.getrandbits(beat_bits), index == wrong - 1) for index in range(wrong)]
            num_broken += 1
    errors = 0

    async def drive(ctx):
        for beat, last in beats:
            while rng.random() < 0.3:
                await ctx.tick()
            ctx.set(component.beat, beat)
            ctx.set(component.last, last)
            ctx.set(component.beat_valid, 1)
            await ctx.tick().until(component.beat_ready)
            ctx.set(component.beat_valid, 0)

    async def check(ctx):
        for vector in vectors:
            while rng.random() < 0.3:
                await ctx.tick()
            ctx.set(component.vector_ready, 1)
            got, *_ = await ctx.tick().sample(component.vector).until(component.vector_valid)
            ctx.set(component.vector_ready, 0)
            assert got == vector

    async def count_errors(ctx):
        nonlocal errors
        async for *_, error in ctx.tick().sample(component.framing_error):
            errors += error

    simulator = Simulator(component)
    simulator.add_clock(1e-6)
    simulator.add_testbench(drive)
    simulator.add_testbench(check)
    simulator.add_testbench(count_errors, background=True)
    simulator.run()
    # The last broken packet may end after the last vector was taken.
    assert num_broken - 1 <= errors <= num_broken


def test_loader_takes_a_beat_in_every_cycle():
    component = BeatLoader(16, 8)

    async def check(ctx):
        ctx.set(component.beat_valid, 1)
        ctx.set(component.vector_ready, 1)
        for cycle in range(20):
            ctx.set(component.last, cycle % 2)
            assert ctx.get(component.beat_ready) == 1
            await ctx.tick()

    simulate(component, check)


@pytest.mark.parametrize(
    ("num_classes", "beat_bits", "input_register", "presence_bits", "margin"),
    [
        (3, 8, True, True, None),
        (2, 32, True, False, None),
        (0, 16, False, True, None),
        (3, 8, False, False, None),
        (3, 16, True, True, 3),
        (2, 8, True, True, 1),
    ],
)
def test_axi_classifier_answers_every_packet(
    num_classes, beat_bits, input_register, presence_bits, margin
):
    netlist = random_netlist(
        2, num_inputs=9, num_gates=30, num_outputs=6, num_classes=num_classes, with_encoder=True
    )
    options = HardwareOptions(
        margin_port=margin is not None, axi_beat_bits=beat_bits, presence_bits=presence_bits
    )
    component = AxiClassifier(Classifier(netlist, options, input_register=input_register))
    rng = np.random.default_rng(0)
    chance = random.Random(0)
    features = netlist.encoder.features
    values = rng.integers(
        [f.minimum for f in features], [f.maximum for f in features], (60, 4), endpoint=True
    )
    present = rng.random(values.shape) < (0.8 if presence_bits else 1.0)
    width = sum(f.bits for f in features) + presence_bits * len(features)
    assert component.num_beats == -(-width // beat_bits)
    vectors = []
    for row, valid in zip(values, present, strict=True):
        word, position = 0, 0
        for feature, value in zip(features, row, strict=True):
            word |= (int(value) & (1 << feature.bits) - 1) << position
            position += feature.bits
        mask = sum(int(bit) << position + i for i, bit in enumerate(valid))
        vectors.append(word | mask * presence_bits)
    samples = np.where(present, values, np.nan)
    outputs = netlist.evaluate(netlist.encoder.encode(samples))
    head = netlist.head
    if margin is not None:
        head = dataclasses.replace(head, abstain_margin=margin)

    async def drive(ctx):
        if margin is not None:
            ctx.set(component.abstain_margin, margin)
        for vector in vectors:
            for beat, last in packets(vector, width, beat_bits):
                while chance.random() < 0.2:
                    await ctx.tick()
                ctx.set(component.s_axis_tdata, beat)
                ctx.set(component.s_axis_tlast, last)
                ctx.set(component.s_axis_tvalid, 1)
                await ctx.tick().until(component.s_axis_tready)
                ctx.set(component.s_axis_tvalid, 0)

    async def check(ctx):
        decisions = head.decide(head.scores(outputs)) if head else None
        for sample in range(len(vectors)):
            while chance.random() < 0.2:
                await ctx.tick()
            ctx.set(component.m_axis_tready, 1)
            data, *_ = (
                await ctx.tick().sample(component.m_axis_tdata).until(component.m_axis_tvalid)
            )
            ctx.set(component.m_axis_tready, 0)
            if decisions is None:
                trits = [(data >> 2 * i + 1 & 1) - (data >> 2 * i & 1) for i in range(6)]
                assert trits == outputs[sample].tolist()
            else:
                assert data & 0xFF == decisions.chosen[sample]
                assert data >> 8 & 0xFF == decisions.margin[sample]
                assert data >> 16 & 0xFF == decisions.unknown[sample]

    simulate(component, drive, check)


def test_the_loader_is_the_input_register_of_a_deep_pipeline(tmp_path):
    netlist = random_netlist(
        0, num_inputs=9, num_gates=30, num_outputs=6, num_classes=3, with_encoder=True
    )
    for input_kind, pipeline, is_spared in [
        (InputKind.FEATURES, 2, False),
        (InputKind.FEATURES, 3, True),
        (InputKind.TRITS, 1, True),
    ]:
        options = HardwareOptions(input_kind=input_kind, pipeline=pipeline)
        plain = write_verilog(netlist, tmp_path, options).interface
        streams = dataclasses.replace(options, axi_beat_bits=8)
        interface = write_verilog(netlist, tmp_path, streams).interface
        assert interface.latency == plain.latency + 1 - is_spared
        assert plain.num_beats == 1
        assert interface.num_beats > 1


@pytest.mark.parametrize("beat_bits", [0, 4, 12])
def test_beats_are_whole_bytes(beat_bits):
    message = f"^Beats of an AXI stream are whole bytes, not {beat_bits} bits$"
    with pytest.raises(NetlistError, match=message):
        HardwareOptions(axi_beat_bits=beat_bits)


def test_an_axi_classifier_needs_beats():
    netlist = random_netlist(0, num_inputs=2, num_gates=1, num_outputs=1, with_encoder=True)
    message = "^The options of the classifier have no beats of an AXI stream$"
    with pytest.raises(ValueError, match=message):
        AxiClassifier(Classifier(netlist))


def test_loader_without_bits():
    with pytest.raises(ValueError, match=r"^A vector of 0 bits cannot be sent in beats of 8$"):
        BeatLoader(0, 8)


@pytest.mark.parametrize("num_classes", [2, 3])
def test_the_margin_counts_when_the_last_stage_takes_a_result(num_classes):
    netlist = random_netlist(
        2, num_inputs=9, num_gates=30, num_outputs=12, num_classes=num_classes, with_encoder=True
    )
    component = Classifier(netlist, HardwareOptions(margin_port=True))
    highest = (1 << len(component.abstain_margin)) - 1
    rng = random.Random(0)
    # Of each vector inside: how often it has moved, and what the port said at its edge.
    inside = []
    results = []

    async def check(ctx):
        ready, valid = 0, 0
        for _ in range(600):
            limit = rng.randrange(highest + 1)
            ctx.set(component.abstain_margin, limit)
            ctx.set(component.in_features.as_value(), rng.getrandbits(64))
            ctx.set(component.in_present, -1)
            valid, ready = rng.random() < 0.7, rng.random() < 0.5
            ctx.set(component.in_valid, valid)
            ctx.set(component.out_ready, ready)
            moves = ctx.get(component.in_ready)
            if ctx.get(component.out_valid) and ready:
                _, margin_then = inside.pop(0)
                margin = ctx.get(component.out_margin)
                assert ctx.get(component.out_unknown) == (margin < max(1, margin_then))
                results.append(margin)
            if moves:
                inside[:] = [(age + 1, then) for age, then in inside]
                inside[:] = [
                    (age, limit if age == component.latency - 2 else then) for age, then in inside
                ]
                if valid:
                    inside.append((0, limit if component.latency == 2 else None))
            await ctx.tick()

    simulate(component, check)
    assert len(results) > 100
    assert len(set(results)) > 2
