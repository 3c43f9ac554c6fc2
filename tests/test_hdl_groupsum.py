# amaranth: UnusedElaboratable=no
import itertools
import random

import numpy as np
import pytest
from amaranth.sim import Simulator

from trilut import Head
from trilut.circuit.trit import CODES
from trilut.hdl.argmax import Argmax, DifferenceArgmax
from trilut.hdl.conversion import convert
from trilut.hdl.sums.compressor import TRUE, Chain, Plane
from trilut.hdl.sums.groupsum import SUM_TARGETS, GroupSum, ScoreDifference, TritSum
from trilut.hdl.sums.models import PRIMITIVE_MODELS
from trilut.hdl.sums.plan import plan_sum
from trilut.tools import find_tool, run

ALL = (-1, 0, 1)
CHOICES = (ALL, (-1, 1), (0, 1), (-1, 0), (1,), (0,), (-1,))
PLANS = [(target, recoded) for target in SUM_TARGETS for recoded in (False, True)]


def random_values(rng, num_trits, choices=CHOICES):
    return [choices[rng.integers(len(choices))] for _ in range(num_trits)]


def random_trits(rng, values, num_samples):
    trits = np.stack([rng.choice(choice, num_samples) for choice in values], axis=1)
    trits[0] = [max(choice) for choice in values]
    trits[1] = [min(choice) for choice in values]
    trits[2] = [min(choice, key=abs) for choice in values]
    return trits.astype(np.int8)


def pack(trits):
    return sum(CODES[int(trit)] << 2 * index for index, trit in enumerate(trits))


@pytest.mark.parametrize(("target", "recoded"), PLANS)
@pytest.mark.parametrize("num_trits", range(1, 9))
def test_plan_of_every_vector(target, recoded, num_trits):
    trits = np.array(list(itertools.product(ALL, repeat=num_trits)), dtype=np.int8)
    plan = plan_sum([ALL] * num_trits, target, recoded=recoded)
    assert np.array_equal(plan.evaluate(trits), trits.sum(axis=1))


@pytest.mark.parametrize(("target", "recoded"), PLANS)
@pytest.mark.parametrize("num_trits", [2, 3, 4])
def test_plan_of_every_mixture(target, recoded, num_trits):
    for values in itertools.combinations_with_replacement(CHOICES, num_trits):
        trits = np.array(list(itertools.product(*values)), dtype=np.int8)
        plan = plan_sum(values, target, recoded=recoded)
        assert np.array_equal(plan.evaluate(trits), trits.sum(axis=1))


@pytest.mark.parametrize(("target", "recoded"), PLANS)
@pytest.mark.parametrize("choices", [(ALL,), ((-1, 1),), ((-1, 0),), CHOICES])
@pytest.mark.parametrize("num_trits", [10, 37, 100, 257, 400])
def test_plan_of_many_trits(target, recoded, choices, num_trits):
    rng = np.random.default_rng(num_trits)
    values = random_values(rng, num_trits, choices)
    trits = random_trits(rng, values, 100)
    plan = plan_sum(values, target, recoded=recoded)
    assert np.array_equal(plan.evaluate(trits), trits.sum(axis=1))


@pytest.mark.parametrize("target", SUM_TARGETS)
def test_constants_are_not_read_and_two_values_take_one_wire(target):
    plan = plan_sum([(1,), (0, 1), (-1, 1), (-1, 0), (-1,)], target)
    assert {source.trit: source.plane for source in plan.inputs.values()} == {
        1: Plane.PLUS,
        2: Plane.PLUS,
        3: Plane.MINUS,
    }
    assert len(plan.inputs) == 3


@pytest.mark.parametrize(
    ("values", "width"),
    [([ALL], 2), ([(0, 1)] * 3, 3), ([(-1, 0)] * 4, 3), ([ALL] * 7, 4), ([ALL] * 8, 5)],
)
def test_sum_is_as_wide_as_its_range(values, width):
    assert len(plan_sum(values).result) == width


def stall_and_check(component, outputs, expected, seed=0):
    """Drive vectors with random stalls; expected results come latency enabled cycles later."""
    rng = random.Random(seed)

    async def check(ctx):
        for cycle in range(len(outputs) + component.latency):
            if cycle < len(outputs):
                ctx.set(component.i.as_value(), pack(outputs[cycle]))
            ctx.set(component.en, 1)
            if cycle >= component.latency:
                sums = [ctx.get(component.o[index]) for index in range(len(expected[0]))]
                assert sums == expected[cycle - component.latency].tolist()
            await ctx.tick()
            ctx.set(component.en, 0)
            while rng.random() < 0.3:
                ctx.set(component.i.as_value(), 0)
                await ctx.tick()

    simulator = Simulator(component)
    simulator.add_clock(1e-6)
    simulator.add_testbench(check)
    simulator.run()


@pytest.mark.parametrize("target", SUM_TARGETS)
@pytest.mark.parametrize(
    ("sizes", "pipeline", "input_register"),
    [((1, 1), 1, False), ((2, 3, 40), 2, True), ((31, 1, 8), 4, False), ((60, 60), 5, True)],
)
def test_groupsum_with_stalls(target, sizes, pipeline, input_register):
    head = Head(tuple(map(str, range(len(sizes)))), sizes)
    rng = np.random.default_rng(sum(sizes))
    values = random_values(rng, head.num_outputs)
    component = GroupSum(
        head,
        pipeline,
        values=values,
        target=target,
        input_register=input_register,
        behavioural=True,
    )
    outputs = random_trits(rng, values, 30)
    stall_and_check(component, outputs, head.scores(outputs))


@pytest.mark.parametrize("choices", [(ALL,), CHOICES])
@pytest.mark.parametrize("sizes", [(20, 20, 20), (9, 31, 2), (1, 1), (63, 64)])
def test_inexact_scores_differ_by_one_offset(sizes, choices):
    head = Head(tuple(map(str, range(len(sizes)))), sizes)
    rng = np.random.default_rng(sum(sizes))
    values = random_values(rng, head.num_outputs, choices)
    component = GroupSum(head, 2, values=values, exact=False)
    outputs = random_trits(rng, values, 30)
    stall_and_check(component, outputs, head.scores(outputs) + component.offset)


def test_inexact_scores_of_equal_classes_have_no_constant_to_add():
    head = Head(("a", "b", "c"), (20, 20, 20))
    for plan in GroupSum(head, 2, exact=False, target="ecp5").plans:
        pins = [bit for level in plan.levels for cell in level.cells for bit in cell.inputs]
        assert pins.count(TRUE) == 1


@pytest.mark.parametrize("target", SUM_TARGETS)
@pytest.mark.parametrize("num_trits", [100, 400])
def test_groupsum_of_many_trits(target, num_trits):
    head = Head(("a", "b"), (num_trits, 3))
    rng = np.random.default_rng(num_trits)
    component = GroupSum(head, 2, target=target, behavioural=True)
    outputs = random_trits(rng, [ALL] * head.num_outputs, 6)
    stall_and_check(component, outputs, head.scores(outputs))


@pytest.mark.parametrize("target", SUM_TARGETS)
def test_difference_of_scores_with_stalls(target):
    head = Head(("a", "b"), (21, 14))
    rng = np.random.default_rng(0)
    values = random_values(rng, head.num_outputs)
    component = ScoreDifference(head, 2, values=values, target=target, behavioural=True)
    outputs = random_trits(rng, values, 30)
    scores = head.scores(outputs)
    stall_and_check(component, outputs, scores[:, :1] - scores[:, 1:])


@pytest.mark.parametrize("margin_port", [False, True])
@pytest.mark.parametrize("sizes", [(1, 1), (3, 3), (2, 6)])
def test_difference_is_the_decision(sizes, margin_port):
    head = Head(("a", "b"), sizes, abstain_margin=2)
    component = DifferenceArgmax(head, margin_port=margin_port)
    pairs = itertools.product(*(range(-size, size + 1) for size in sizes))
    scores = np.array(list(pairs))

    async def check(ctx):
        ctx.set(component.en, 1)
        for abstain in range(4) if margin_port else [2]:
            # A tie abstains even if the port says that nothing does.
            expected = Head(("a", "b"), sizes, abstain_margin=max(abstain, 1)).decide(scores)
            if margin_port:
                ctx.set(component.abstain_margin, abstain)
            for sample, (first, second) in enumerate(scores.tolist()):
                ctx.set(component.i[0], first - second)
                await ctx.tick().repeat(component.latency)
                assert ctx.get(component.o.chosen) == expected.chosen[sample]
                assert ctx.get(component.o.margin) == expected.margin[sample]
                assert ctx.get(component.o.unknown) == expected.unknown[sample]

    simulator = Simulator(component)
    simulator.add_clock(1e-6)
    simulator.add_testbench(check)
    simulator.run()


@pytest.mark.parametrize("pipeline", [1, 4])
@pytest.mark.parametrize("num_classes", [2, 3, 5, 6, 9])
def test_argmax_without_scores_and_with_a_margin_port(num_classes, pipeline):
    head = Head(tuple(map(str, range(num_classes))), (3,) * num_classes)
    component = Argmax(head, (), margin_port=True, pipeline=pipeline)
    assert "scores" not in component.o.shape().members
    rng = np.random.default_rng(num_classes)
    scores = rng.integers(-3, 4, (60, num_classes))
    decisions = head.decide(scores)

    async def check(ctx):
        ctx.set(component.en, 1)
        for sample, row in enumerate(scores.tolist()):
            for index, score in enumerate(row):
                ctx.set(component.i[index], score)
            abstain = sample % 5
            ctx.set(component.abstain_margin, abstain)
            await ctx.tick().repeat(component.latency)
            margin = decisions.margin[sample]
            assert ctx.get(component.o.chosen) == decisions.chosen[sample]
            assert ctx.get(component.o.margin) == margin
            assert ctx.get(component.o.unknown) == (margin < max(abstain, 1))

    simulator = Simulator(component)
    simulator.add_clock(1e-6)
    simulator.add_testbench(check)
    simulator.run()


def test_unknown_target():
    with pytest.raises(ValueError) as caught:  # noqa: PT011 - the whole message is compared
        GroupSum(Head(("a", "b"), (1, 1)), 1, target="abacus")
    names = ", ".join(map(repr, SUM_TARGETS))
    assert str(caught.value) == f"Sums can be made for {names}, not for 'abacus'"


def test_no_levels_between_registers():
    with pytest.raises(ValueError, match=r"^There is a register every 1 or more levels, not 0$"):
        TritSum([[ALL]], 2, levels=0)


def test_values_of_too_few_outputs():
    with pytest.raises(ValueError, match=r"^Values are given for 1 outputs, but the head has 2$"):
        GroupSum(Head(("a", "b"), (1, 1)), 1, values=[ALL])


@pytest.mark.parametrize("choice", [(), (2,)])
def test_values_that_no_trit_has(choice):
    with pytest.raises(ValueError) as caught:  # noqa: PT011 - the whole message is compared
        GroupSum(Head(("a", "b"), (1, 1)), 1, values=[ALL, choice])
    assert str(caught.value) == f"Output 1 takes the values {choice}, expected some of -1, 0 and 1"


@pytest.mark.parametrize("component", [ScoreDifference, DifferenceArgmax])
def test_difference_of_three_classes(component):
    head = Head(("a", "b", "c"), (1, 1, 1))
    arguments = (head, 1) if component is ScoreDifference else (head,)
    with pytest.raises(ValueError, match=r"^A difference of scores needs 2 classes, not 3$"):
        component(*arguments)


# Free bits become legal trits: the illegal code needs no answer.
_MITER = """
module miter (input wire clk, input wire [{last}:0] free, output wire differ);
  wire [{last}:0] trits;
  genvar k;
  generate
    for (k = 0; k <= {last}; k = k + 2) begin : legal
      assign trits[k] = free[k] & ~free[k + 1];
      assign trits[k + 1] = free[k] & free[k + 1];
    end
  endgenerate
  wire [{width}-1:0] a, b;
  generic generic (.clk(clk), .en(1'b1), .i(trits), .o(a));
  special special (.clk(clk), .en(1'b1), .i(trits), .o(b));
  assign differ = a != b;
endmodule
"""


def prove_equal(values, target, models, work):
    """Prove that a target's cells, by their models, compute what plain logic computes."""
    width = len(values).bit_length() + 1
    texts = []
    for name, kind in (("generic", "generic"), ("special", target)):
        component = TritSum([values], width, levels=99, target=kind)
        texts.append(convert(component, name, work))
    texts.append(_MITER.format(last=2 * len(values) - 1, width=width))
    (work / "all.v").write_text("\n".join(texts))
    (work / "models.v").write_text(PRIMITIVE_MODELS[target])
    script = f"""
        read_verilog all.v
        read_verilog -overwrite {models}
        hierarchy -check -top miter
        proc
        flatten
        opt -full
        sat -verify -seq 2 -prove-skip 1 -prove differ 0 miter
    """
    yosys = find_tool("yosys")
    (work / "prove.ys").write_text(script)
    log = work / "prove.log"
    run(yosys, ["-s", "prove.ys"], step="prove", log=log, cwd=work, timeout=300)
    assert "SAT proof finished - no model found: SUCCESS!" in log.read_text()


CELLS = {"ecp5": "+/ecp5/cells_sim.v", "xilinx": "+/xilinx/cells_sim.v"}


@pytest.mark.synth
@pytest.mark.parametrize("own_model", [True, False])
@pytest.mark.parametrize("target", sorted(PRIMITIVE_MODELS))
@pytest.mark.parametrize(
    "values",
    [
        [ALL] * 8,
        [(-1, 1)] * 13 + [(0, 1)],
        [ALL, (-1, 0), (-1, 1), ALL, (0, 1), (-1, 0), (-1, 0), (1,), ALL, (-1, 0), (-1, 0)],
    ],
)
def test_cells_are_proven_against_plain_logic(values, target, own_model, tmp_path):
    prove_equal(values, target, "models.v" if own_model else CELLS[target], tmp_path)


def test_chains_are_cheap_on_ecp5():
    plan = plan_sum([ALL] * 200, "ecp5")
    chains = [cell for level in plan.levels for cell in level.cells]
    assert all(isinstance(cell, Chain) for cell in chains)
    # A CCU2C has two positions and takes two LUT4.
    assert sum(len(cell.positions) + 1 & ~1 for cell in chains) <= 2.5 * 200
