# amaranth: UnusedElaboratable=no
from dataclasses import replace

import numpy as np
import pytest
from amaranth.sim import Simulator
from circuits import monotone_netlist, random_netlist

from trilut import FeatureVectors, Head
from trilut.circuit.interface import HeadOutput
from trilut.errors import NetlistError
from trilut.hdl import HardwareOptions, write_verilog
from trilut.hdl.argmax import Argmax, DifferenceArgmax
from trilut.sim import ENGINES, build_rtl, classify, verify_rtl
from trilut.synth import load_target
from trilut.verify import verify_design
from trilut.verify.mapped import map_design
from trilut.verify.proof.formal import prove_design

TRUST = {"certain": True, "prediction_set": True}


def circuit(num_classes, num_outputs=14, set_margin=2, seed=2):
    net = monotone_netlist(
        seed,
        num_inputs=10,
        num_gates=40,
        num_outputs=num_outputs,
        num_classes=num_classes,
        with_encoder=True,
    )
    return replace(net, head=replace(net.head, set_margin=set_margin))


def vectors(net, count, seed=0):
    rng = np.random.default_rng(seed)
    lowest = [feature.minimum for feature in net.encoder.features]
    highest = [feature.maximum for feature in net.encoder.features]
    values = rng.integers(lowest, highest, (count, len(lowest)), endpoint=True)
    valid = rng.random(values.shape) > 0.2
    return FeatureVectors(np.where(valid, values, 0), valid)


@pytest.mark.parametrize("num_classes", [2, 5])
def test_all_engines_say_the_same_of_what_is_certain(num_classes, monkeypatch):
    net = circuit(num_classes, num_outputs=31)
    samples = vectors(net, 2000)
    expected = net.classify(net.encoder.trits(samples), certain=True)
    assert 0 < expected.certain.sum() < len(samples)
    assert len(set(expected.members.sum(axis=1))) > 1
    for kernel in ("", "numpy"):
        monkeypatch.setenv("TRILUT_KERNEL", kernel)
        for engine in ENGINES:
            made = classify(net, samples, certain=True, engine=engine).arrays()
            for name, array in expected.arrays().items():
                assert np.array_equal(made[name], array), (engine, name)
    assert classify(net, samples).certain is None


@pytest.mark.slow
@pytest.mark.sim
@pytest.mark.parametrize(
    ("num_classes", "set_margin", "options"),
    [
        (2, 2, {"pipeline": 1}),
        (2, 0, {"scores": True, "sums": "ecp5"}),
        (3, 1, {"pipeline": 3, "scores": True}),
        (5, 1 << 40, {"pipeline": 1, "sums": "xilinx"}),
    ],
)
def test_the_design_says_what_the_reference_says(tmp_path, num_classes, set_margin, options):
    net = circuit(num_classes, set_margin=set_margin)
    design = write_verilog(net, tmp_path, HardwareOptions(**TRUST, **options))
    samples = vectors(net, 3000)
    expected = classify(net, samples, certain=True, engine="reference")
    results = build_rtl(net, design).results(samples)
    assert np.array_equal(results["certain"][:, 0], expected.certain)
    assert np.array_equal(results["set"], expected.members)
    assert np.array_equal(results["class"][:, 0], expected.chosen)


@pytest.mark.parametrize(
    ("num_classes", "pipeline", "set_margin"), [(2, 1, 3), (3, 1, 0), (5, 2, 1 << 40), (7, 3, 2)]
)
@pytest.mark.parametrize("scores", [True, False])
def test_the_decision_says_what_the_head_says(num_classes, pipeline, set_margin, scores):
    head = Head(
        tuple("abcdefg"[:num_classes]), (3, 6, 2, 5, 4, 6, 3)[:num_classes], set_margin=set_margin
    )
    is_difference = num_classes == 2 and not scores
    extra = [HeadOutput.CERTAIN, HeadOutput.SET, *[HeadOutput.SCORES] * scores]
    component = (
        DifferenceArgmax(head, extra) if is_difference else Argmax(head, extra, pipeline=pipeline)
    )
    rng = np.random.default_rng(num_classes)
    # One group far ahead, so that some answers are certain.
    outputs = rng.choice([-1, 0, 1], (200, head.num_outputs), p=[0.4, 0.2, 0.4])
    outputs[::2, :3], outputs[::2, 3:] = (
        1,
        rng.choice([-1, 0], outputs[::2, 3:].shape, p=[0.9, 0.1]),
    )
    totals, unknowns = head.scores(outputs), head.unknowns(outputs)
    expected = head.decide(totals, unknowns)
    assert 0 < expected.certain.sum() < 200
    sizes = np.array(head.group_sizes)
    # A sum of n trits with u UNKNOWN ones has (s + n − u) / 2 that are TRUE, and u more not FALSE.
    sure = (totals + sizes - unknowns) // 2
    numbers = np.concatenate([sure, sure + unknowns], axis=1)
    if is_difference:
        votes = sure[:, 0] + (sizes[1] - sure[:, 1] - unknowns[:, 1])
        numbers = np.stack([votes, votes + unknowns.sum(axis=1) - sizes.sum()], axis=1)

    async def run(ctx):
        ctx.set(component.en, 1)
        for cycle in range(200 + component.latency):
            if cycle >= component.latency:
                sample = cycle - component.latency
                assert ctx.get(component.o.certain) == expected.certain[sample]
                members = int(ctx.get(component.o.set))
                assert [members >> c & 1 for c in range(num_classes)] == (
                    expected.members[sample].tolist()
                )
                assert ctx.get(component.o.chosen) == expected.chosen[sample]
            for index, number in enumerate(numbers[min(cycle, 199)].tolist()):
                ctx.set(component.i[index], number)
            await ctx.tick()

    simulator = Simulator(component)
    simulator.add_clock(1e-6)
    simulator.add_testbench(run)
    simulator.run()


@pytest.mark.sim
def test_the_bench_sees_a_wrong_certain_and_a_wrong_set(tmp_path):
    net = circuit(3)
    design = write_verilog(net, tmp_path, HardwareOptions(**TRUST))
    text = design.path.read_text().replace("assign out_certain = ", "assign out_certain = !", 1)
    design.path.write_text(text.replace("assign out_set = ", "assign out_set = ~", 1))
    result = verify_rtl(net, design, vectors(net, 99), out=tmp_path)
    assert result.num_mismatches == 99
    expected, got = result.mismatches[0].expected, result.mismatches[0].got
    assert [name for name in expected if expected[name] != got[name]] == ["certain", "set"]


@pytest.mark.synth
@pytest.mark.parametrize(
    ("num_classes", "options"),
    [(2, {"sums": "ecp5"}), (3, {"scores": True}), (3, {"margin_port": True, "pipeline": 1})],
)
def test_certain_and_sets_are_proven(tmp_path, num_classes, options):
    net = circuit(num_classes)
    options = HardwareOptions(**TRUST, **options)
    result = prove_design(net, write_verilog(net, tmp_path, options), tmp_path)
    assert result.objection == ""
    assert "margin, certain, prediction set, and abstention below" in result.proven["decision"]
    assert result.proven["sums"].endswith("of those that are TRUE, and of those that are not FALSE")


@pytest.mark.synth
@pytest.mark.parametrize(
    ("old", "new", "objection"),
    [
        ("assign out_certain = ", "assign out_certain = !", "What is certain is wrong for "),
        ("assign out_set = ", "assign out_set = ~", "Class 0 in the prediction set is wrong for "),
        ("if (en) is_certain <=", "if (en) is_certain <= 1'b0 &", "What is certain is wrong for "),
    ],
)
def test_a_wrong_certain_or_set_is_refuted(tmp_path, old, new, objection):
    # One with certain answers: where there are none, a design that never says so is right.
    net = circuit(2, num_outputs=31)
    assert classify(net, vectors(net, 2000), certain=True).certain.any()
    design = write_verilog(net, tmp_path, HardwareOptions(**TRUST))
    text = design.path.read_text()
    assert old in text
    design.path.write_text(text.replace(old, new, 1))
    result = prove_design(net, design, tmp_path)
    assert not result.passed
    assert result.objection.startswith(objection)


@pytest.mark.slow
@pytest.mark.synth
@pytest.mark.sim
@pytest.mark.parametrize(("target", "num_classes"), [("ecp5", 2), ("ice40", 3), ("asic", 3)])
def test_mapped_designs_say_what_is_certain_and_sets(tmp_path, target, num_classes):
    net = circuit(num_classes, num_outputs=31)
    options = HardwareOptions(**TRUST, sums=load_target(target).sums)
    design = write_verilog(net, tmp_path, options)
    samples = vectors(net, 300)
    decisions = classify(net, samples, certain=True)
    assert decisions.certain.any()
    assert len(set(decisions.members.sum(axis=1))) > 1
    result = verify_design(
        design, work=tmp_path, levels=["rtl", "mapped"], target=target, num_random=300
    )
    assert result.passed
    mapped = result.levels[1].finding
    assert mapped.target == target
    assert mapped.cells.startswith("proven equal to the RTL in every cycle: ")
    # The ports of the cells themselves, in a model of its own.
    cells = map_design(design, load_target(target), tmp_path / "cells")
    results = build_rtl(net, cells, out=tmp_path / "model").results(samples)
    assert np.array_equal(results["certain"][:, 0], decisions.certain)
    assert np.array_equal(results["set"], decisions.members)


def test_what_a_netlist_cannot_tell_is_refused(tmp_path):
    free = random_netlist(1, num_inputs=6, num_gates=9, num_outputs=4, num_classes=2)
    message = (
        "^Netlist 'net' has 9 gates of 9 that are not information-monotone, gate 0 first, "
        "so nothing in it can be certain$"
    )
    with pytest.raises(NetlistError, match=message):
        write_verilog(free, tmp_path, HardwareOptions(certain=True))
    with pytest.raises(NetlistError, match=message):
        classify(free, np.zeros((1, 6), np.int8), certain=True)
    message = "^Netlist 'net' has no margin for prediction sets; trilut calibrate finds one$"
    with pytest.raises(NetlistError, match=message):
        write_verilog(free, tmp_path, HardwareOptions(prediction_set=True))
    message = (
        "^Netlist 'net' has no head, which alone can tell what is certain, or a prediction set$"
    )
    with pytest.raises(NetlistError, match=message):
        write_verilog(replace(free, head=None), tmp_path, HardwareOptions(certain=True))
    assert list(tmp_path.iterdir()) == []


def test_wrong_calls_are_refused():
    head = circuit(2).head
    with pytest.raises(ValueError, match=r"^Scores cannot come out of their difference$"):
        DifferenceArgmax(head, [HeadOutput.SCORES])
    assert Argmax(head, []).latency + 1 == Argmax(head, list(HeadOutput)).latency


def test_options_are_written_as_they_are_given():
    options = HardwareOptions(scores=True, **TRUST)
    assert options.command_line == (
        "--top trilut_top --pipeline 2 --scores --certain --prediction-set"
    )
