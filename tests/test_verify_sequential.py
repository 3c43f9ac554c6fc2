# amaranth: UnusedElaboratable=no
"""Designs with state: simulated and proven, and wrong ones refused."""

import dataclasses
import re

import numpy as np
import pytest
from formulas import random_formula

from trilut.circuit.format import save
from trilut.circuit.netlist import Netlist
from trilut.circuit.sequential import SequentialNetlist
from trilut.cli import main
from trilut.errors import NetlistError, ToolError
from trilut.hdl import Fabric, HardwareOptions, write_verilog
from trilut.sim import step_stimulus, verify_rtl
from trilut.sim.sequences import run_steps
from trilut.temporal import Mode, compile_formula, parse, parse_features
from trilut.verify import verify
from trilut.verify.proof.claim import Finding
from trilut.verify.proof.formal import prove_design

FEATURES = parse_features("p:2,q:2")
FORMULA = "(p >= 0.5) since[0,20] q >= 0.5"


@pytest.fixture(scope="module")
def monitor():
    return compile_formula(parse(FORMULA), FEATURES).netlist


@pytest.fixture(scope="module")
def design(monitor, tmp_path_factory):
    return write_verilog(monitor, tmp_path_factory.mktemp("rtl"))


def prove(design, work):
    work.mkdir(exist_ok=True)
    return prove_design(design.specification, design, work)


def simulate(design, work, num_random=600, seed=0):
    netlist = design.specification
    steps = step_stimulus(netlist, None, np.random.default_rng(seed), num_random=num_random)
    return verify_rtl(netlist, design, steps, out=work)


def changed(design, path, *edits):
    """Return a design with other text, by pairs of what occurs once and what comes there."""
    text = design.path.read_text()
    for pattern, other in edits:
        text, count = re.subn(pattern, other, text, flags=re.DOTALL)
        assert count == 1, (pattern, count)
    path.write_text(text)
    return dataclasses.replace(design, path=path)


def test_design_with_state_is_proven(design, tmp_path):
    proof = prove(design, tmp_path)
    assert proof.passed
    assert list(proof.proven) == ["structure", "handshake", "state", "step"]
    states = design.specification.num_states
    flip_flops = design.specification.num_flip_flops
    assert proof.proven["state"].startswith(f"{states} states in {flip_flops} registers take ")


@pytest.mark.sim
def test_design_with_state_is_simulated(design, tmp_path):
    result = simulate(design, tmp_path)
    assert result.passed
    assert result.resets > 2
    assert set(result.num_checked) == {"random", "threshold", "missing", "corner", "slow"}


SEEDS = [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(1, 20))]
OPTIONS = [
    {"input_kind": "trits"},
    {"pipeline": 1},
    {"axi_beat_bits": 8},
    pytest.param({"axi_beat_bits": 8, "input_kind": "trits"}, marks=pytest.mark.slow),
    pytest.param({"fabric": Fabric.AMARANTH}, marks=pytest.mark.slow),
    pytest.param({"presence_bits": False, "optimized": False}, marks=pytest.mark.slow),
]


@pytest.mark.parametrize("given", OPTIONS)
def test_options(given, monitor, tmp_path):
    design = write_verilog(monitor, tmp_path, HardwareOptions(**given))
    assert prove(design, tmp_path).passed


@pytest.mark.slow
@pytest.mark.sim
@pytest.mark.parametrize("given", OPTIONS)
def test_options_simulated(given, monitor, tmp_path):
    design = write_verilog(monitor, tmp_path, HardwareOptions(**given))
    assert simulate(design, tmp_path).passed


@pytest.mark.parametrize("mode", Mode)
@pytest.mark.parametrize(
    "seed", [0, *(pytest.param(n, marks=pytest.mark.slow) for n in range(1, 20))]
)
def test_monitors_are_proven(seed, mode, tmp_path):
    monitor = compile_formula(random_formula(seed), FEATURES, mode)
    assert prove(write_verilog(monitor.netlist, tmp_path), tmp_path).passed


def test_circuit_without_any_state_has_sequences_all_the_same(tmp_path):
    monitor = compile_formula(parse("p >= 0.5 and not q >= 0.5"), FEATURES)
    assert monitor.netlist.num_states == 0
    design = write_verilog(monitor.netlist, tmp_path)
    assert design.interface.has_port("in_last")
    assert list(prove(design, tmp_path).proven) == ["structure", "handshake", "step"]


def mixed():
    """Return a circuit of which one state is a bit and the other one a trit."""
    table = np.zeros((2, 6), dtype=np.int8)
    table[0] = [-1, 1, -1, 1, 1, -1]
    table[1] = [-1, 0, 1, -1, 0, 1]
    core = Netlist(3, table, [[0, 1], [2, 3]], [4, 3, 4], np.array([3, 2, 3, 2, 3]))
    return SequentialNetlist(core, np.array([1, 0]))


def test_states_of_different_kinds(tmp_path):
    netlist = mixed()
    assert netlist.num_flip_flops == 3
    assert prove(write_verilog(netlist, tmp_path), tmp_path).passed


@pytest.mark.slow
@pytest.mark.sim
def test_states_of_different_kinds_simulated(tmp_path):
    assert simulate(write_verilog(mixed(), tmp_path), tmp_path).passed


def other_operator(found):
    return found[1] + {"|": "&", "&": "|"}[found[2]]


RESET = r"(if \(rst \| \(step & last\)\) state <= \d+'h)(\w+);"
MUTATIONS = {
    "reset": [(RESET, lambda found: f"{found[1]}{int(found[2], 16) ^ 2:x};")],
    "start": [(r"(reg \[\d+:0\] state = \d+'h)\w+;", r"\g<1>1;")],
    "no start": [(r"(reg \[\d+:0\] state) = \d+'h\w+;", r"\1;")],
    "last": [(r"rst \| \(step & last\)", "rst")],
    "rst": [(r"rst \| \(step & last\)", "step & last")],
    "last without a step": [(r"rst \| \(step & last\)", "rst | last")],
    "present": [(r"step = advance & present", "step = advance")],
    "advance": [(r"step = advance & present", "step = present")],
    "enable": [(r"else if \(step\) state", "else state")],
    "clock": [(r"posedge clk\)\n    if \(rst \|", "negedge clk)\n    if (rst |")],
    "earlier last": [(r"\.last\(\w+\)", ".last(in_last)")],
    "earlier present": [(r"\.present\(\\present[^)]*\)", ".present(in_valid)")],
    "other state": [(r"(else if \(step\) state <= \{\n +i\[)\d+", r"\g<1>0")],
    "inverted": [(r"(assign o = \{\n +)(~?)state\[(\d+)\]", r"\g<1>~state[\3]")],
    "shown too early": [(r"(assign o = \{\n +)~?state\[\d+\]", r"\g<1>i[0]")],
    "gate": [(r"(module \w+_layer_1 .*?neuron_0 = \{[^;]*?)([&|])", other_operator)],
    "output": [(r"\.i\(i\),\n    \.in_valid", ".i(~i),\n    .in_valid")],
}
TAKES = "Wire {} of the states does not take what it should"
OBJECTIONS = {
    "reset": TAKES.format(2),
    "start": "The states may not be the resets at first",
    "no start": "The states may not be the resets at first",
    "last": TAKES.format(0),
    "rst": TAKES.format(0),
    "last without a step": TAKES.format(0),
    "present": TAKES.format(0),
    "advance": TAKES.format(0),
    "enable": TAKES.format(0),
    "clock": "Line 453 of the Verilog has a process that does not start with 'always @(posedge …)'",
    "earlier last": "Block 'state' is not told which vector is the last one",
    "earlier present": "Block 'state' is not told whether its stage holds a vector",
    "other state": TAKES.format(22),
    "inverted": TAKES.format(23),
    "shown too early": "Block 'state' shows more than its registers",
    "gate": "Wire 3 of the next states is wrong for states that may never occur together",
    "output": "Output 0 of a step is wrong",
}
UNCLEAR = ("clock", "gate")


@pytest.mark.parametrize("name", MUTATIONS)
def test_wrong_designs_are_refused(name, design, tmp_path):
    proof = prove(changed(design, tmp_path / "wrong.v", *MUTATIONS[name]), tmp_path / "proof")
    assert proof.objection == OBJECTIONS[name]
    assert proof.claims[-1].outcome is (Finding.OPEN if name in UNCLEAR else Finding.REFUTED)


def test_counterexample_is_a_step_of_a_sequence(design, tmp_path):
    proof = prove(changed(design, tmp_path / "wrong.v", *MUTATIONS["output"]), tmp_path / "proof")
    assert re.fullmatch(
        r"for step \d+, p (\d|missing), q (\d|missing): trits is \[-?\d\] and not \[-?\d\]",
        proof.counterexample.text,
    )


@pytest.mark.parametrize("wrong", [[1, 0, 0], [0, 0, 1], [1, 1, 0]])
def test_values_of_states_are_not_believed(wrong, design, tmp_path, monkeypatch):
    values = design.specification.state_values()
    values[-1] = wrong
    monkeypatch.setattr(SequentialNetlist, "state_values", lambda netlist: values)
    assert not prove(design, tmp_path).passed


@pytest.mark.slow
@pytest.mark.sim
@pytest.mark.parametrize("name", [name for name in MUTATIONS if name not in ("start", "no start")])
def test_wrong_designs_show_in_simulation(name, design, tmp_path):
    wrong = changed(design, tmp_path / "wrong.v", *MUTATIONS[name])
    assert not simulate(wrong, tmp_path / "simulation", num_random=3000).passed


def test_steps_of_sequences(monitor):
    rng = np.random.default_rng(0)
    trits = rng.integers(-1, 2, (30, monitor.num_inputs)).astype(np.int8)
    last = np.zeros(30, dtype=np.bool_)
    last[[0, 9, 29]] = True
    parts = [monitor.run(part[None])[0] for part in np.split(trits, [1, 10])]
    assert np.array_equal(run_steps(monitor, trits, last), np.concatenate(parts))


def test_verify_says_what_was_proven(monitor):
    result = verify(monitor, levels=["formal"])
    assert result.passed


def test_bitstream_takes_no_state(monitor):
    with pytest.raises(ToolError, match=r"^Level 'bitstream' takes a circuit without state$"):
        verify(monitor, levels=["bitstream"])


def test_gates_alone_cannot_keep_state(monitor, tmp_path):
    with pytest.raises(
        NetlistError, match=r"^Netlist 'monitor' has state, which gates alone cannot keep$"
    ):
        write_verilog(monitor, tmp_path, HardwareOptions(logic_only=True))


@pytest.mark.parametrize("option", [["--with-testbench"], ["--bus", "wishbone"]])
def test_what_takes_no_state_says_so(option, monitor, tmp_path, capsys):
    save(monitor, tmp_path / "net.trilut")
    assert (
        main(["verilog", str(tmp_path / "net.trilut"), "-o", str(tmp_path / "rtl"), *option]) == 1
    )
    error = capsys.readouterr().err
    assert error == "trilut: error: Netlist 'monitor' has state, expected one without\n"
