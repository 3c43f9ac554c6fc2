"""The bench of designs between AXI4-Streams, with a port for the abstention margin."""

import dataclasses
import re

import numpy as np
import pytest
from circuits import random_netlist
from prebuilt import Prebuilt

from trilut import sim
from trilut.errors import ToolError
from trilut.hdl import HardwareOptions, write_verilog
from trilut.sim import ViolationKind, stimulus, verify_rtl
from trilut.sim.bench.drivers import two_drivers

pytestmark = pytest.mark.sim

NET = random_netlist(4, num_inputs=8, num_gates=10, num_outputs=6, num_classes=2, with_encoder=True)
# What replaces what in the Verilog while a fault acts, and what the bench must see of it.
FAULTS = {
    "ends a beat early": (r"(assign _\d+_ = )(count == )(\d'h\w+);", r"\g<1>count == (@ ? 0 : \3);",
                          {ViolationKind.FRAMING}),
    "count is not reset": (r"(if \()(rst)(\) count)", r"\1(rst & !@)\3", {ViolationKind.FRAMING}),
    "a vector does not wait": (r"(assign beat_ready = )(.*?);", r"\1@ | (\2);",
                               {ViolationKind.LOST}),
    "two bits swapped": (r"(register <= \{ )beat,",
                         r"\1@ ? { beat[7:2], beat[0], beat[1] } : beat,", set()),
    "no framing error": (r"(else framing_error <= )(\w+);", r"\1\2 & !@;",
                         {ViolationKind.FRAMING}),
    "vector not reset": (r"(if \()(rst)(\) vector_valid)", r"\1(rst & !@)\3",
                         {ViolationKind.LEFTOVER, ViolationKind.EXTRA}),
    "margin is ignored": (r"(margin < )abstain_margin", r"\1(@ ? 3'h2 : abstain_margin)", set()),
    "result is not held": (r"(assign m_axis_tlast = )1'h1",
                           r"\1!(@ & !m_axis_tready)", {ViolationKind.UNSTABLE}),
}  # fmt: skip


def with_faults(text):
    for number, (pattern, by, _) in enumerate(FAULTS.values(), start=1):
        text, count = re.subn(pattern, by.replace("@", f"(fault == {number})"), text)
        assert count
    declared = 'reg [31:0] fault = 0; initial if (!$value$plusargs("fault=%d", fault)) fault = 0;'
    return re.sub(r"(\nmodule [^;]*;)", rf"\1 {declared}", text)


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    out = tmp_path_factory.mktemp("axi")
    options = HardwareOptions(axi_beat_bits=8, margin_port=True)
    design = write_verilog(NET, out, options)
    header, start, text = design.path.read_text().partition("\nmodule ")
    design.path.write_text(header + with_faults(start + text))
    simulator = sim.find_simulator("verilator")
    directory = out / "build"
    directory.mkdir()
    simulator.build(design, directory, timeout=600.0)
    return design, Prebuilt(simulator, directory)


def regression(built, fault, out, seed=0):
    design, simulator = built
    vectors = stimulus(NET, None, np.random.default_rng(seed), num_random=600)
    chosen = dataclasses.replace(simulator, fault=fault)
    return verify_rtl(NET, design, vectors, out=out, seed=seed, simulator=chosen)


def test_right_design_passes(built, tmp_path):
    result = regression(built, 0, tmp_path)
    assert result.passed
    assert result.resets > 5
    assert result.cycles > design_beats(built) * sum(result.num_checked.values())


def design_beats(built):
    assert built[0].interface.num_beats > 1
    return built[0].interface.num_beats


@pytest.mark.parametrize("name", FAULTS)
@pytest.mark.parametrize(
    "seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(1, 5))]
)
def test_wrong_designs_are_seen(built, tmp_path, name, seed):
    result = regression(built, list(FAULTS).index(name) + 1, tmp_path, seed)
    assert not result.passed
    kinds = FAULTS[name][2]
    assert set(result.num_violations) & kinds if kinds else result.num_mismatches


def with_a_second_driver(tmp_path, wire):
    design = write_verilog(NET, tmp_path)
    path = tmp_path / "two.v"
    more = rf"\1 assign {wire} = 1'b0;"
    path.write_text(re.sub(r"(\nmodule trilut_top\([^;]*;)", more, design.path.read_text()))
    return dataclasses.replace(design, path=path)


def test_two_drivers_that_the_text_alone_does_not_show_are_an_error(tmp_path):
    path = tmp_path / "two.v"
    path.write_text(
        "module m(input a, b, output [1:0] y); localparam P = 0; assign y[0] = a; assign y[P] = b; "
        "assign y[1] = a; endmodule"
    )
    log = re.escape(str(tmp_path / "verilate.log"))
    with pytest.raises(
        ToolError,
        match=r"^verilator warns in step 'verilate': design.v:\d+:\d+: Bit \[0\] of signal "
        rf"'(m\.)?y' have multiple combinational drivers; log: '{log}'$",
    ):
        sim.find_simulator("verilator").translate(path, "m", tmp_path, timeout=60.0)


@pytest.mark.parametrize("wire", ["out_unknown", "out_valid", "out_margin[0]"])
def test_a_constant_beside_another_driver_is_an_error(tmp_path, wire):
    # Verilator would take the constant alone, and say nothing.
    design = with_a_second_driver(tmp_path, wire)
    vectors = stimulus(NET, None, np.random.default_rng(0), num_random=10)
    with pytest.raises(
        ToolError,
        match=f"^Wire '{wire.removesuffix('[0]')}' of module 'trilut_top' has two drivers, of "
        "which verilator would take one$",
    ):
        verify_rtl(NET, design, vectors, out=tmp_path)


INVERTER = "module inverter(input i, output o); assign o = ~i; endmodule\n"


@pytest.mark.parametrize(
    ("text", "objection"),
    [
        ("assign y = 1'b0; assign y = a;", "Wire 'y' of module 'm' has two drivers"),
        ("assign y = a; assign {y, z} = 2'd0;", "Wire 'y' of module 'm' has two drivers"),
        ("wire w = 1'b0; inverter u (.i(a), .o(w));", "Wire 'w' of module 'm' has two drivers"),
        ("inverter u (.i(a), .o(y)); assign y = 1'b1;", "Wire 'y' of module 'm' has two drivers"),
        (
            "wire [3:0] w; inverter u (.i(a), .o({w[3], w[1:0]})); assign w[1] = 1'b0;",
            "Wire 'w' of module 'm' has two drivers",
        ),
        (
            "wire [3:0] w; assign w[0:2] = 3'd0; assign {y, w[3:2]} = 3'd0;",
            "Wire 'w' of module 'm' has two drivers",
        ),
        ("wire [3:0] w; assign w[3:2] = 2'd0; assign {y, w[1], w[0]} = 3'd0;", ""),
        # Each of these has one.
        ("assign y = a; inverter u (.i(y), .o(z));", ""),
        ("assign y = a; // assign y = 1'b0;\n", ""),
        ("if (A) begin assign y = a; end else begin assign y = 1'b0; end", ""),
        ("generate if (A) assign y = a; else assign y = 1'b0; endgenerate", ""),
    ],
)
def test_wires_with_two_drivers(text, objection):
    assert two_drivers(f"{INVERTER}module m(input a, output y, output z); {text} endmodule") == (
        objection
    )
