# amaranth: UnusedElaboratable=no
from dataclasses import replace
from typing import get_args

import numpy as np
import pytest
from amaranth.sim import Simulator
from circuits import random_netlist

import trilut
from trilut import Encoder, Feature, FeatureVectors
from trilut.boards.loader import VectorLoader
from trilut.boards.protocol import payloads
from trilut.circuit.format import dumps, loads
from trilut.circuit.gates import NAMED_GATES
from trilut.cli import main
from trilut.errors import FormatError, NetlistError
from trilut.hdl import HardwareOptions, write_verilog
from trilut.hdl.encoder import FeatureEncoder
from trilut.measure.narrow import narrow_features
from trilut.sim import ENGINES, classify
from trilut.training import fit_encoder
from trilut.training.names import OutOfRange
from trilut.verify.proof.formal import prove_design

SEEN = {0: (2, 5), 1: (-3, 3), 2: (-9, 20), 3: (-32, 0), 5: (-100, 300)}


def circuit(seed=4):
    net = random_netlist(
        seed, num_inputs=12, num_gates=40, num_outputs=12, num_classes=3, with_encoder=True
    )
    features = tuple(
        replace(feature, scale=(-1.3, 1.0)[index % 2], offset=0.4, seen=SEEN.get(index))
        for index, feature in enumerate(net.encoder.features)
    )
    return replace(net, encoder=replace(net.encoder, features=features))


def integers(net, count, seed=0):
    rng = np.random.default_rng(seed)
    lowest = [feature.minimum for feature in net.encoder.features]
    highest = [feature.maximum for feature in net.encoder.features]
    values = rng.integers(lowest, highest, (count, len(lowest)), endpoint=True)
    return FeatureVectors(values, rng.random(values.shape) > 0.1)


def test_what_is_out_of_range_is_missing():
    feature = Feature("f", bits=4, scale=2.0, offset=1.0, seen=(3, 9))
    encoder = Encoder((feature,), [0, 0], [4, 8], [4, 8])
    values = [[0.9], [1.0], [4.4], [4.5], [100], [np.nan], [np.inf], [-np.inf]]
    vectors = encoder.quantize(values)
    assert vectors.valid[:, 0].tolist() == [False, True, True, False, *[False] * 4]
    # 0.9·2 + 1 is 2.8, and 4.4·2 + 1 is 9.8.
    assert encoder.encode(values).tolist() == [
        [0, 0], [-1, -1], [1, 1], [0, 0], *[[0, 0]] * 4
    ]  # fmt: skip
    given = FeatureVectors(np.array([[2], [3], [9], [10]]), np.ones((4, 1), np.bool_))
    assert encoder.trits(given).tolist() == [[0, 0], [-1, -1], [1, 1], [0, 0]]


def test_seen_is_what_samples_have():
    net = circuit()
    x = np.array([[1, 2, np.nan, 0, 5, 1], [0.5, -2, np.nan, 3, 5, 70]])
    encoder = replace(
        net.encoder, features=tuple(replace(each, seen=None) for each in net.encoder.features)
    ).with_seen(x)
    quantized = encoder.quantize(x)
    assert np.array_equal(quantized.valid, ~np.isnan(x))
    assert encoder.features[2].seen is None
    assert encoder.features[3].seen == (0, 3)
    # Below what the feature can hold, where samples were.
    assert encoder.features[0].seen == (-1, 0)
    assert not encoder.quantize(x + np.array([0, 0, 0, -1, 0, 0])).valid[0, 3]


def test_seen_of_many_samples_and_of_pixels():
    rng = np.random.default_rng(0)
    x = rng.integers(0, 200, (5000, 3), dtype=np.uint8)
    encoder = Encoder(tuple(Feature(name, bits=8) for name in "abc"), [0, 1, 2], [9] * 3, [9] * 3)
    expected = list(zip(x.min(axis=0).tolist(), x.max(axis=0).tolist(), strict=True))
    assert [feature.seen for feature in encoder.with_seen(x).features] == expected


def test_fitted_to_what_samples_have():
    iris = trilut.load_dataset("iris")
    x, names = iris.train.x, iris.feature_names
    clamped, encoder = (fit_encoder(x, names, out_of_range=each) for each in get_args(OutOfRange))
    assert all(feature.seen is None for feature in clamped.features)
    assert encoder.features == clamped.with_seen(x).features
    assert np.array_equal(encoder.encode(x), clamped.encode(x))
    assert not encoder.encode(x.max(axis=0, keepdims=True) + 1).any()


def test_all_engines_take_it_so(monkeypatch):
    net = circuit()
    rng = np.random.default_rng(0)
    x = rng.uniform(-150, 150, (3000, 6))
    x[rng.random(x.shape) < 0.05] = np.nan
    for samples in (x, x.astype(np.float32), rng.integers(0, 256, x.shape, dtype=np.uint8)):
        expected = classify(net, samples, engine="reference").scores
        for kernel in ("", "numpy"):
            monkeypatch.setenv("TRILUT_KERNEL", kernel)
            for engine in ENGINES:
                assert np.array_equal(classify(net, samples, engine=engine).scores, expected)
    vectors = integers(net, 3000)
    expected = classify(net, vectors, engine="reference").scores
    assert np.array_equal(classify(net, vectors).scores, expected)
    plain = replace(
        net,
        encoder=replace(
            net.encoder, features=tuple(replace(each, seen=None) for each in net.encoder.features)
        ),
    )
    assert not np.array_equal(classify(plain, vectors).scores, expected)


@pytest.mark.parametrize("pipeline", [1, 2])
def test_the_encoder_in_hardware_takes_it_so(pipeline):
    net = circuit()
    component = FeatureEncoder(net.encoder, pipeline=pipeline)
    vectors = integers(net, 300)
    expected = net.encoder.trits(vectors)

    async def run(ctx):
        ctx.set(component.en, 1)
        for cycle in range(300 + component.latency):
            if cycle >= component.latency:
                got = [int(ctx.get(component.o[trit])) for trit in range(12)]
                trits = [(code >> 1) - (code & 1) for code in got]
                assert trits == expected[cycle - component.latency].tolist()
            sample = min(cycle, 299)
            for index, value in enumerate(vectors.values[sample].tolist()):
                ctx.set(component.features[f"feature_{index}"], value)
            bits = vectors.valid[sample].tolist()
            ctx.set(component.present, sum(bit << index for index, bit in enumerate(bits)))
            await ctx.tick()

    simulator = Simulator(component)
    simulator.add_clock(1e-6)
    simulator.add_testbench(run)
    simulator.run()


def test_the_loader_of_a_board_takes_it_so():
    net = circuit()
    loader = VectorLoader(net.encoder, list(range(12)))
    vectors = integers(net, 20)
    expected = net.encoder.trits(vectors)

    async def run(ctx):
        for payload, trits in zip(payloads(net.encoder, vectors), expected.tolist(), strict=True):
            ctx.set(loader.start, 1)
            await ctx.tick()
            ctx.set(loader.start, 0)
            ctx.set(loader.i.valid, 1)
            for byte in payload:
                ctx.set(loader.i.payload, byte)
                await ctx.tick().until(loader.i.ready)
            ctx.set(loader.i.valid, 0)
            while not ctx.get(loader.done):
                await ctx.tick()
            got = [int(ctx.get(loader.trits[trit])) for trit in range(12)]
            assert [(code >> 1) - (code & 1) for code in got] == trits

    simulator = Simulator(loader)
    simulator.add_clock(1e-6)
    simulator.add_testbench(run)
    simulator.run()


@pytest.mark.synth
def test_the_proof_covers_it(tmp_path):
    net = circuit()
    design = write_verilog(net, tmp_path, HardwareOptions())
    assert ", missing if it is not in 2..5 before it is clamped" in design.path.read_text()
    assert prove_design(net, design, tmp_path).objection == ""
    features = list(net.encoder.features)
    features[0] = replace(features[0], seen=(2, 6))
    other = replace(net, encoder=replace(net.encoder, features=tuple(features)))
    assert not prove_design(other, design, tmp_path).passed


def test_it_is_version_2_of_the_file():
    net = circuit()
    text = dumps(net)
    assert '"version": 2' in text
    assert [each.seen for each in loads(text).encoder.features] == [
        each.seen for each in net.encoder.features
    ]
    # To version 1 it is a member that nobody knows.
    old = loads(text.replace('"version": 2', '"version": 1'))
    assert all(each.seen is None for each in old.encoder.features)
    assert '"version": 1' in dumps(old)
    message = r"^'encoder.features\[0\].seen' has 1 integers, expected 2$"
    with pytest.raises(FormatError, match=message):
        loads(text.replace("[2, 5]", "[2]"))
    message = r"^Feature 'f' has seen (3…2|8…9|-2…-1), expected some of 0…7$"
    for seen in ((3, 2), (8, 9), (-2, -1)):
        with pytest.raises(NetlistError, match=message):
            Feature("f", bits=3, seen=seen)


def test_narrow_features_see_the_same():
    net = circuit()
    narrow = narrow_features(net, 4)
    for before, after in zip(net.encoder.features, narrow.encoder.features, strict=True):
        shift = before.bits - after.bits
        assert (before.seen is None) == (after.seen is None)
        if before.seen:
            assert after.seen == (before.seen[0] >> shift, before.seen[1] >> shift)


def test_optimize_by_command(tmp_path, capsys):
    moons = trilut.load_dataset("moons")
    features = tuple(Feature(name, bits=8, scale=40.0, offset=100) for name in moons.feature_names)
    encoder = Encoder(features, [0, 1], [90, 90], [110, 110])
    net = trilut.Netlist.of_gates(
        2, [NAMED_GATES["and"]], [0], [1], [2, 2, 0],
        encoder=encoder, head=trilut.Head(moons.class_names, (1, 2)),
        provenance={"data": {"name": "moons", "seed": moons.seed}},
    )  # fmt: skip
    path, output = tmp_path / "net.trilut", tmp_path / "out.trilut"
    trilut.save(net, path)
    assert main(["optimize", str(path), "-o", str(output), "--out-of-range", "unknown"]) == 0
    written = trilut.load(output)
    integers = encoder.quantize(moons.train.x).values
    assert [each.seen for each in written.encoder.features] == [
        (int(column.min()), int(column.max())) for column in integers.T
    ]
    assert written.provenance["changes"][0]["out_of_range"] == "unknown"
    assert main(["optimize", str(output), "-o", str(path), "--out-of-range", "clamp"]) == 0
    assert all(each.seen is None for each in trilut.load(path).encoder.features)
