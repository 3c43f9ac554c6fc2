# amaranth: UnusedElaboratable=no
import argparse
import dataclasses
import re

import numpy as np
import pytest
from amaranth.sim import Simulator
from circuits import random_netlist, random_nodes
from commandline import fails

from trilut.circuit.encoder import FeatureVectors
from trilut.cli import main
from trilut.commands.engine import add_engine
from trilut.engine import Machine, compile_netlist
from trilut.engine.instructions import Field, Op, field, is_gate, split_tables, word
from trilut.errors import TrilutError
from trilut.hdl.engine import Engine, EngineSize
from trilut.hdl.engine.lane import Lane
from trilut.hdl.engine.loader import LoadState
from trilut.hdl.engine.program import stored_bits

SIZE = EngineSize(samples=4, entries=64, instructions=200, value_bits=8, score_bits=8, classes=4)


def network(seed, **changes):
    settings = {"num_inputs": 8, "num_gates": 30, "num_outputs": 12, "num_classes": 3}
    return random_netlist(seed, **{**settings, "with_encoder": True, **changes})


def random_codes(image, seed, count):
    rng = np.random.default_rng(seed)
    values = np.stack(
        [rng.integers(f.minimum, f.maximum + 1, count) for f in image.encoder.features], axis=1
    )
    return image.codes(FeatureVectors(values, rng.random(values.shape) > 0.2))


class Bench:
    """An engine in Amaranth's simulator, with all that passes its ports and its last stage."""

    def __init__(self, size, seed=0):
        self.size = size
        self.engine = Engine(size)
        self.rng = np.random.default_rng(seed)
        self.answers = []
        self.written = []
        self.added = []

    async def load(self, ctx, content):
        engine = self.engine
        ctx.set(engine.model_start, 1)
        await ctx.tick()
        ctx.set(engine.model_start, 0)
        ctx.set(engine.model_valid, 1)
        for byte in content:
            ctx.set(engine.model_data, byte)
            for _ in range(3000):
                ready = ctx.get(engine.model_ready)
                await ctx.tick()
                if ready or ctx.get(engine.model_state) not in (LoadState.LOADING, 0, 2):
                    break
            if ctx.get(engine.model_state) > LoadState.LOADED:
                break
        ctx.set(engine.model_valid, 0)
        for _ in range(12):
            await ctx.tick()
        return LoadState(ctx.get(engine.model_state))

    async def feed(self, ctx, values, valid):
        """Feed samples, as many at a time as there are side by side, with bubbles."""
        engine, width = self.engine, self.size.value_bits
        for start in range(0, len(values), self.size.samples):
            for feature in range(values.shape[1]):
                own = slice(start, start + self.size.samples)
                while self.rng.random() < 0.2:
                    await ctx.tick()
                packed = sum(
                    int(value) << place * width for place, value in enumerate(values[own, feature])
                )
                there = sum(int(bit) << place for place, bit in enumerate(valid[own, feature]))
                ctx.set(engine.in_values, packed)
                ctx.set(engine.in_present, there)
                ctx.set(engine.in_valid, 1)
                while not ctx.get(engine.in_ready):
                    await ctx.tick()
                await ctx.tick()
                ctx.set(engine.in_valid, 0)

    async def collect(self, ctx):
        engine = self.engine
        while True:
            ready = self.rng.random() < 0.5
            ctx.set(engine.out_ready, ready)
            if ready and ctx.get(engine.out_valid):
                self.answers.append(
                    tuple(
                        int(ctx.get(port))
                        for port in (engine.out_class, engine.out_margin, engine.out_unknown)
                    )
                )
            await ctx.tick()

    async def watch(self, ctx):
        """Keep what every instruction writes and adds, in the order of instructions."""
        engine, planes = self.engine, 2 * self.size.samples
        while True:
            for number, lane in enumerate(engine.lanes):
                encode = number == 0 and ctx.get(engine.values.encode)
                result = ctx.get(engine.values.result) >> number * planes & (1 << planes) - 1
                if encode or ctx.get(lane.store):
                    self.written.append((number, ctx.get(lane.destination), result))
                if ctx.get(lane.sum):
                    self.added.append((number, ctx.get(lane.shift), ctx.get(lane.result)))
            await ctx.tick()

    def run(self, *testbenches):
        simulator = Simulator(self.engine)
        simulator.add_clock(1e-6)
        for testbench in testbenches:
            simulator.add_testbench(testbench)
        simulator.add_testbench(self.collect, background=True)
        simulator.add_testbench(self.watch, background=True)
        simulator.run()

    async def wait(self, ctx, count):
        for _ in range(20_000):
            if len(self.answers) >= count:
                return
            await ctx.tick()
        raise AssertionError(f"{len(self.answers)} answers of {count}")


def packed(codes):
    """Return codes of all samples as the planes of an entry."""
    count = len(codes)
    return sum(
        (int(code) >> 1 & 1) << place | (int(code) & 1) << count + place
        for place, code in enumerate(codes)
    )


def expected_events(image, values, valid, samples):
    """Return what instructions write and add, by the plain model, step by step."""
    written, added, answers = [], [], []
    for start in range(0, len(values), samples):
        own = slice(start, start + samples)
        machine = Machine(image, values[own], valid[own])
        for words in image.words:
            before = machine.sums.copy()
            machine.step(words)
            ops, places = field(words, Field.OP), field(words, Field.DESTINATION)
            for lane, op in enumerate(ops):
                if op in (Op.ENCODE, Op.GATE, Op.GATE_SUM):
                    written.append((lane, int(places[lane]), packed(machine.entries[places[lane]])))
            if image.lanes == 1 and is_gate(ops[0]) and ops[0] != Op.GATE:
                added.append((machine.sums - before).tolist())
        decisions = image.head.decide(machine.scores.T)
        answers += zip(
            decisions.chosen.tolist(),
            decisions.margin.tolist(),
            decisions.unknown.astype(int).tolist(),
            strict=True,
        )
    return written, added, answers


def added_trits(event, samples):
    _, shift, result = event
    return [
        ((result >> place & 1) - (result >> samples + place & 1)) << shift
        for place in range(samples)
    ]


@pytest.mark.parametrize(
    ("kind", "samples", "lanes"),
    [("gates", 4, 1), ("nodes", 2, 1), ("scores", 1, 1), ("gates", 1, 4), ("nodes", 2, 2)],
)
def test_every_instruction(kind, samples, lanes):
    if kind == "gates":
        netlist = network(1, num_gates=16 // lanes, num_outputs=12 // lanes)
    else:
        shape = {"num_inputs": 6, "num_gates": 8, "num_outputs": 4, "num_classes": 3}
        netlist = random_nodes(2, **shape, scores=kind == "scores", with_encoder=True)
    image = compile_netlist(netlist, lanes=lanes)
    size = dataclasses.replace(SIZE, samples=samples, lanes=lanes)
    size.check(image)
    values, valid = random_codes(image, 3, 2 * samples)
    bench = Bench(size)

    async def testbench(ctx):
        assert await bench.load(ctx, image.program_bytes()) == LoadState.LOADED
        assert ctx.get(bench.engine.model_loaded)
        assert ctx.get(bench.engine.model_digest) == int.from_bytes(image.digest[:4], "little")
        bench.written.clear()
        await bench.feed(ctx, values, valid)
        await bench.wait(ctx, len(values))

    bench.run(testbench)
    written, added, answers = expected_events(image, values, valid, samples)
    # Before a model is swapped, its first feature may have been looked at.
    assert bench.written[-len(written) :] == written
    if lanes == 1:
        assert [added_trits(event, samples) for event in bench.added] == added
    assert bench.answers == answers


def test_a_lane_looks_every_row_up():
    # Sixteen samples have the sixteen pairs of codes.
    size = dataclasses.replace(SIZE, samples=16)
    lane = Lane(size)
    first, second = np.divmod(np.arange(16), 4)
    rng = np.random.default_rng(0)
    tables = rng.integers(0, 1 << 32, 50, dtype=np.uint32)
    results = []

    async def testbench(ctx):
        ctx.set(lane.a, packed(first))
        ctx.set(lane.b, packed(second))
        for short, long in zip(*split_tables(tables), strict=True):
            for instruction in (word(Op.EXTEND, rows=long), word(Op.GATE, table=short)):
                ctx.set(lane.word, instruction)
                ctx.set(lane.go, 1)
                await ctx.tick()
                ctx.set(lane.go, 0)
            await ctx.tick().repeat(2)
            assert ctx.get(lane.store)
            results.append(ctx.get(lane.result))

    simulator = Simulator(lane)
    simulator.add_clock(1e-6)
    simulator.add_testbench(testbench)
    simulator.run()
    codes = tables[:, None] >> np.arange(0, 32, 2) & 3
    assert results == [packed(row) for row in codes]


def damaged(content, place, bits):
    return content[:place] + bytes([content[place] ^ bits]) + content[place + 1 :]


DAMAGES = [
    (lambda content: damaged(content, 1, 4), LoadState.NOT_A_MODEL),
    (lambda content: damaged(content, 4, 2), LoadState.WRONG_VERSION),
    (lambda content: damaged(content, 6, 3), LoadState.TOO_LARGE),
    (lambda content: damaged(content, 7, 16), LoadState.TOO_LARGE),
    (lambda content: damaged(content, 11, 1), LoadState.TOO_LARGE),
    (lambda content: damaged(content, 14, 1), LoadState.TOO_LARGE),
    (lambda content: damaged(content, 16, 4), LoadState.TOO_LARGE),
    (lambda content: damaged(content, 18, 16), LoadState.TOO_LARGE),
    (lambda content: damaged(content, 26, 1), LoadState.WRONG_CHECKSUM),
    (lambda content: damaged(content, 100, 8), LoadState.WRONG_CHECKSUM),
    (lambda content: damaged(content, len(content) - 1, 1), LoadState.WRONG_CHECKSUM),
    (lambda content: content[:-9], LoadState.LOADING),
]


def test_a_model_that_is_refused_leaves_the_old_one():
    old, new = (
        compile_netlist(network(seed, num_gates=4, num_outputs=4, num_inputs=4)) for seed in (1, 2)
    )
    values, valid = random_codes(old, 5, 4)
    bench = Bench(SIZE)

    async def testbench(ctx):
        assert await bench.load(ctx, old.program_bytes()) == LoadState.LOADED
        for damage, state in DAMAGES:
            assert await bench.load(ctx, damage(new.program_bytes())) == state
        assert ctx.get(bench.engine.model_digest) == int.from_bytes(old.digest[:4], "little")
        await bench.feed(ctx, values, valid)
        await bench.wait(ctx, 4)
        # After all that, a whole one is taken.
        assert await bench.load(ctx, new.program_bytes()) == LoadState.LOADED
        assert ctx.get(bench.engine.model_digest) == int.from_bytes(new.digest[:4], "little")
        await bench.feed(ctx, values, valid)
        await bench.wait(ctx, 8)

    bench.run(testbench)
    answers = [expected_events(image, values, valid, 4)[2] for image in (old, new)]
    assert bench.answers == answers[0] + answers[1]


def test_a_model_is_swapped_between_samples():
    old, new = (
        compile_netlist(network(seed, num_gates=4, num_outputs=4, num_inputs=4)) for seed in (1, 2)
    )
    values, valid = random_codes(old, 5, 160)
    bench = Bench(SIZE)
    loaded = []

    async def feed(ctx):
        loaded.append(await bench.load(ctx, old.program_bytes()))
        await bench.feed(ctx, values, valid)
        await bench.wait(ctx, len(values))

    async def load(ctx):
        while len(bench.answers) < 8:
            await ctx.tick()
        loaded.append(await bench.load(ctx, new.program_bytes()))

    bench.run(feed, load)
    assert loaded == [LoadState.LOADED] * 2
    before, after = (expected_events(image, values, valid, 4)[2] for image in (old, new))
    swaps = [place for place in range(0, 161, 4) if bench.answers == before[:place] + after[place:]]
    assert len(swaps) == 1
    assert 8 <= swaps[0] < 160


def test_two_models_that_do_not_fit_together():
    image = compile_netlist(network(1))
    bench = Bench(dataclasses.replace(SIZE, instructions=image.words.size + 40))

    async def testbench(ctx):
        assert await bench.load(ctx, image.program_bytes()) == LoadState.LOADED
        assert await bench.load(ctx, image.program_bytes()) == LoadState.TOO_LARGE
        assert ctx.get(bench.engine.model_loaded)

    bench.run(testbench)


@pytest.mark.parametrize("entries", [16, 4096, 16384])
def test_an_engine_keeps_what_instructions_say(entries):
    size = dataclasses.replace(SIZE, entries=entries)
    kept = set(stored_bits(size))
    for name in (Field.A, Field.B, Field.DESTINATION):
        assert {name.first + bit for bit in range((entries - 1).bit_length())} <= kept
    assert len(kept) <= 64


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"samples": 3}, "The engine has 3 samples, expected one of 1, 2, 4, 8, 16, 32, 64"),
        ({"lanes": 16}, "The engine has 16 lanes, expected one of 1, 2, 4, 8"),
        ({"entries": 1 << 15}, "The engine has 32768 entries, expected 2…16384"),
        ({"value_bits": 17}, "The engine has 17 value bits, expected 1…16"),
        (
            {"lanes": 4, "instructions": 101},
            "The engine has 101 instructions, expected a multiple of its 4 lanes",
        ),
    ],
)
def test_sizes_that_are_refused(changes, message):
    with pytest.raises(TrilutError, match=f"^{re.escape(message)}$"):
        dataclasses.replace(SIZE, **changes)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"lanes": 2}, "The model is for 1 lanes, but the engine has 2"),
        ({"entries": 4}, r"The model needs \d+ entries, but the engine has 4"),
        ({"instructions": 16}, r"The model needs \d+ instructions, but the engine has 16"),
        ({"classes": 2}, "The model needs 3 classes, but the engine has 2"),
        ({"score_bits": 3}, "The model needs 4 score bits, but the engine has 3"),
        ({"value_bits": 2}, "The model needs 6 value bits, but the engine has 2"),
    ],
)
def test_models_that_do_not_fit(changes, message):
    with pytest.raises(TrilutError, match=f"^{message}$"):
        dataclasses.replace(SIZE, **changes).check(compile_netlist(network(1)))


def test_the_command_line(tmp_path, capsys):
    size = ["--samples", "2", "--entries", "32", "--instructions", "64"]
    assert main(["engine", "verilog", *size, "-o", str(tmp_path)]) == 0
    path = tmp_path / "trilut_engine.v"
    assert capsys.readouterr().out == f"{path}\n"
    text = path.read_text()
    assert "--samples 2 --lanes 1 --entries 32 --instructions 64 --value-bits 8" in text
    assert "module trilut_engine_memory (" in text
    parser = argparse.ArgumentParser()
    add_engine(parser.add_subparsers())
    args = parser.parse_args(["engine", "verilog", "-o", "x"])
    assert {each.name: getattr(args, each.name) for each in dataclasses.fields(EngineSize)} == (
        dataclasses.asdict(EngineSize())
    )
    message = "The engine has 3 samples, expected one of 1, 2, 4, 8, 16, 32, 64"
    assert fails(capsys, "engine", "verilog", "--samples", "3", "-o", tmp_path) == message
