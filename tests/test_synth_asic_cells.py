import json
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trilut.errors import FormatError
from trilut.synth.asic import sky130
from trilut.synth.asic.activity import Simulation
from trilut.synth.asic.behaviour import cell_models
from trilut.synth.asic.boolean import function_verilog, parse_function
from trilut.synth.asic.buffers import MAX_SINKS, buffer_nets
from trilut.synth.asic.figures import AsicDesign
from trilut.synth.asic.liberty import parse_liberty
from trilut.synth.asic.library import Library
from trilut.synth.asic.sources import load_library
from trilut.synth.asic.sta import loads, slowest_path
from trilut.synth.asic.wires import WireLoad, read_wire_loads
from trilut.synth.mapped import MappedDesign

GENERIC = load_library("generic")


def read(text):
    return Library(parse_liberty(text, "'x.lib'"), text.encode())


# Every flip-flop has a reset or a set, as in IHP's sg13g2.
RESETS = """
library (resets) {
  cell (NAND) { area : 1;
    pin (A, B) { direction : input; } pin (Y) { direction : output; function : "!(A*B)"; } }
  cell (BOTH) { area : 5;
    ff (IQ, IQN) { clocked_on : "CLK"; next_state : "D"; clear : "RESET_B'"; preset : "!SET_B"; }
    pin (CLK, D, RESET_B, SET_B) { direction : input; }
    pin (Q) { direction : output; function : "IQ"; }
    pin (Q_N) { direction : output; function : "IQN"; } }
  cell (CLEARED) { area : 4;
    ff (IQ, IQN) { clocked_on : "CLK"; next_state : "D"; clear : "(!RESET_B)"; }
    pin (CLK, D, RESET_B) { direction : input; }
    pin (Q) { direction : output; function : "IQ"; } }
  cell (PRESET) { area : 6;
    ff (IQ, IQN) { clocked_on : "!CLK_N"; next_state : "D"; preset : "SET"; }
    pin (CLK_N, D, SET) { direction : input; }
    pin (Q) { direction : output; function : "IQ"; } }
}
"""


def test_reset_and_set_of_a_register_at_a_port_are_tied_to_where_they_do_nothing():
    library = read(RESETS)
    assert library.cells["BOTH"].register.ties == {"RESET_B": "1", "SET_B": "1"}
    assert library.cells["PRESET"].register is None
    register = library.register
    assert (register.cell, register.d, register.q) == ("CLEARED", "D", "Q")
    assert register.ties == {"RESET_B": "1"}


def test_library_whose_flip_flops_cannot_stand_at_a_port():
    text = RESETS.replace('next_state : "D"', 'next_state : "D * RESET_B"')
    with pytest.raises(
        FormatError,
        match=r"^Library 'resets' has no flip-flop that takes its input at each rising edge$",
    ):
        _ = read(text).register


def test_pin_that_yosys_leaves_open(tmp_path):
    cell = {"type": "BOTH", "connections": {"CLK": [2], "D": [3], "Q": [4], "SET_B": ["1"]}}
    path = tmp_path / "x.json"
    path.write_text(json.dumps({"modules": {"top": {"cells": {"ff": cell}}}}))
    with pytest.raises(
        FormatError,
        match=r"^Yosys leaves pin 'RESET_B' of cell 'BOTH' of the library open, expected it to be "
        r"connected$",
    ):
        AsicDesign(MappedDesign(path, "top"), read(RESETS))


@given(st.data())
def test_verilog_of_a_function_means_the_same(data):
    leaf = st.sampled_from(["A", "B", "C", "0", "1", "A'", "!B", "!!C''"])
    text = data.draw(
        st.recursive(
            leaf,
            lambda inner: st.builds(
                lambda op, a, b: f"({a}{op}{b})",
                st.sampled_from(["*", "+", "^", " ", "&"]),
                inner,
                inner,
            ),
            max_leaves=8,
        )
    )
    pins = {"A": 0b00001111, "B": 0b00110011, "C": 0b01010101}
    # What Verilog writes is also an expression of Python, but for its constants.
    verilog = function_verilog(text).replace("1'b0", "0").replace("1'b1", "-1")
    assert eval(verilog, {}, pins) & 0xFF == parse_function(text)(pins) & 0xFF


def test_models_of_cells():
    library = read(RESETS)
    text = cell_models(library, ["NAND", "BOTH", "PRESET", "$scopeinfo"])
    assert (
        text
        == """\
module BOTH (CLK, D, RESET_B, SET_B, Q, Q_N);
  input CLK;
  input D;
  input RESET_B;
  input SET_B;
  output Q;
  output Q_N;
  reg IQ;
  wire IQN = ~IQ;
  wire clocked = CLK;
  wire cleared = ~RESET_B;
  wire preseted = ~SET_B;
  always @(posedge clocked or posedge cleared or posedge preseted)
    if (cleared) IQ <= 1'b0; else
    if (preseted) IQ <= 1'b1; else
    IQ <= D;
  assign Q = IQ;
  assign Q_N = IQN;
endmodule

module NAND (A, B, Y);
  input A;
  input B;
  output Y;
  assign Y = ~(A & B);
endmodule

module PRESET (CLK_N, D, SET, Q);
  input CLK_N;
  input D;
  input SET;
  output Q;
  reg IQ;
  wire IQN = ~IQ;
  wire clocked = ~CLK_N;
  wire preseted = SET;
  always @(posedge clocked or posedge preseted)
    if (preseted) IQ <= 1'b1; else
    IQ <= D;
  assign Q = IQ;
endmodule
"""
    )


@pytest.mark.parametrize(
    "cell",
    [
        "cell (wire) { pin (A) { direction : input; } }",
        "cell (LATCH) { latch (IQ, IQN) { } pin (D) { direction : input; } }",
        "cell (MACRO) { pin (A) { direction : input; } pin (Y) { direction : output; } }",
    ],
)
def test_cell_without_a_model(cell):
    library = read(f"library (x) {{ {cell} }}")
    (name,) = library.cells
    with pytest.raises(
        FormatError, match=rf"^Cell '{name}' of the library has no model that Verilog can take$"
    ):
        cell_models(library, [name])


def fan_out(num_sinks):
    """A register whose output enables others, through a NAND each."""

    def cell(cell_type, **pins):
        directions = {pin: "output" if pin in ("Y", "Q") else "input" for pin in pins}
        return {
            "type": cell_type,
            "connections": {pin: [bit] for pin, bit in pins.items()},
            "port_directions": directions,
            "parameters": {},
        }

    cells = {"enable": cell("DFF", C=2, D=4, Q=3)}
    for index in range(num_sinks):
        cells[f"gate_{index}"] = cell("NAND2", A=3, B=5, Y=10 + 2 * index)
        cells[f"ff_{index}"] = cell("DFF", C=2, D=10 + 2 * index, Q=11 + 2 * index)
    bits = {"clk": [2], "enable": [3], "d": [4], "x": [5]}
    bits["q"] = [11 + 2 * index for index in range(num_sinks)]
    ports = {"clk": "input", "d": "input", "x": "input", "q": "output"}
    return {
        "ports": {name: {"direction": ports[name], "bits": bits[name]} for name in ports},
        "cells": cells,
        "netnames": {name: {"bits": each} for name, each in bits.items()},
    }


def sinks(module):
    """The number of pins that each bit drives."""
    count = {}
    for cell in module["cells"].values():
        for pin, (bit,) in cell["connections"].items():
            if cell["port_directions"][pin] == "input":
                count[bit] = count.get(bit, 0) + 1
    return count


@pytest.mark.parametrize("num_sinks", [MAX_SINKS, MAX_SINKS + 1])
def test_net_that_drives_little_or_is_no_faster_with_a_tree_stays(num_sinks):
    module = fan_out(num_sinks)
    before = json.dumps(module)
    assert buffer_nets(module, GENERIC) == 0
    assert json.dumps(module) == before


@pytest.mark.parametrize("num_sinks", [60, 200, 1000])
def test_net_that_drives_much_gets_a_tree(num_sinks):
    module = fan_out(num_sinks)
    slow = slowest_path(module, GENERIC)[-1].time
    added = buffer_nets(module, GENERIC)
    assert added == sum(cell["type"].startswith("BUF") for cell in module["cells"].values()) > 0
    clock = 2
    assert max(count for bit, count in sinks(module).items() if bit != clock) <= 32
    assert slowest_path(module, GENERIC)[-1].time < slow
    assert max(loads(module, GENERIC)[bit] for bit in (3, 5)) <= GENERIC.cells["DFF"].max_load
    # The outputs are the same registers, and hold what they held.
    assert module["ports"] == fan_out(num_sinks)["ports"]
    plain, treed = (Simulation(each, GENERIC, 8) for each in (fan_out(num_sinks), module))
    for d, x in product((0, 1), repeat=2):
        inputs = {"d": [[d]] * 8, "x": [[x]] * 8}
        values = [each.cycle(inputs) for each in (plain, treed)]
        assert [values[0][bit] for bit in module["ports"]["q"]["bits"]] == [
            values[1][bit] for bit in module["ports"]["q"]["bits"]
        ]


def test_sink_with_a_long_way_behind_it_is_nearest_to_the_root():
    module = fan_out(200)
    bit = module["cells"]["gate_77"]["connections"]["Y"][0]
    for index in range(6):
        inverter = {
            "type": "INV",
            "connections": {"A": [bit], "Y": [1000 + index]},
            "port_directions": {"A": "input", "Y": "output"},
            "parameters": {},
        }
        module["cells"][f"inv_{index}"] = inverter
        bit = 1000 + index
    module["cells"]["ff_77"]["connections"]["D"] = [bit]
    module["netnames"]["chain"] = {"bits": list(range(1000, 1006))}
    buffer_nets(module, GENERIC)
    direct = [
        name
        for name, cell in module["cells"].items()
        if cell["connections"].get("A") == [3] and cell["type"] == "NAND2"
    ]
    assert "gate_77" in direct
    assert len(direct) < 10


def test_net_with_a_load_beyond_the_tables_gets_a_tree():
    limit = 'function : "IQ";\n      max_capacitance : '
    text = GENERIC.text.decode().replace(f"{limit}0.1", f"{limit}0.004")
    module = fan_out(4)
    assert buffer_nets(module, read(text)) > 0
    assert loads(module, GENERIC)[3] <= 0.004


def test_library_without_buffers_leaves_nets_alone():
    text = GENERIC.text.decode().replace('function : "A";', 'function : "!A";')
    assert buffer_nets(fan_out(100), read(text)) == 0


WIRES = """
library (wires) {
  wire_load (small) { capacitance : 2; slope : 3; fanout_length (1, 1.5); fanout_length (3, 4); }
  wire_load (large) { capacitance : 2; slope : 5; }
  wire_load_selection (by_area) {
    wire_load_from_area (0, 10, "small"); wire_load_from_area (10, 20, "large");
  }
  default_wire_load : "large";
  @selection
}
"""


def wire_loads(selection):
    return read_wire_loads(parse_liberty(WIRES.replace("@selection", selection), "'x.lib'"))


def test_wire_load_of_an_area():
    choose = wire_loads('default_wire_load_selection : "by_area";')
    assert [choose(area).name for area in (5, 10, 25)] == ["small", "large", "large"]
    assert wire_loads("")(5).name == "large"
    assert read_wire_loads(parse_liberty("library (x) { }", "'x.lib'"))(5) is None


@pytest.mark.parametrize(("sinks", "length"), [(0, 0), (1, 1.5), (2, 2.75), (3, 4), (5, 10)])
def test_length_of_wires(sinks, length):
    model = wire_loads('default_wire_load_selection : "by_area";')(5)
    assert model.length(sinks) == pytest.approx(length)
    assert model.capacitance(sinks) == pytest.approx(2 * length)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("wire_load (w) { slope : x; }", "Wire load 'w' is damaged"),
        ("wire_load (w) { fanout_length (1); }", "Wire load 'w' is damaged"),
        (
            "wire_load (w) { fanout_length (1, 2); fanout_length (1, 3); }",
            "Wire load 'w' has two lengths for one number of sinks",
        ),
        (
            "default_wire_load_selection : s; wire_load_selection (s) "
            "{ wire_load_from_area (0, x, w); }",
            "Selection of wire loads '0, x, w' is damaged",
        ),
    ],
)
def test_wrong_wire_loads(text, message):
    with pytest.raises(FormatError) as caught:
        read(f"library (x) {{ cell (A) {{ }} {text} }}")
    assert str(caught.value) == message


def test_wires_make_a_net_slower():
    module = fan_out(3)
    wires = WireLoad("w", 0.001, 1.0, ((1, 1.0),))
    assert loads(module, GENERIC, wires)[3] == pytest.approx(loads(module, GENERIC)[3] + 0.003)
    slow, fast = (slowest_path(module, GENERIC, each)[-1].time for each in (wires, None))
    assert slow > fast


PREFIX = f"{sky130.NAME}__"


def sky_files(**bodies):
    """Files of cells as the package has them, by the body of their modules."""
    files = {}
    for name, body in bodies.items():
        ports = "\n".join(
            f"    {word} {port};"
            for word, names in (("input", "A B C S CLK D R"), ("output", "X Y Q"))
            for port in names.split()
            if f" {port}," in body or f" {port})" in body or f"({port}," in body
        )
        files[f"{PREFIX}{name}.functional.v"] = (
            f"/* (c) */\n`celldefine\nmodule {PREFIX}{name} (\n  X\n);\n{ports}\n{body}\n"
            "endmodule\n"
        )
        files[f"{PREFIX}{name}.lef"] = f"MACRO {name}\n  SIZE  1.500 BY  2.000 ;\n"
    return files


def test_sky130_library_from_lef_and_verilog():
    files = sky_files(
        a21oi_1="and and0 (t, A, B);\nnor nor0 (u, C, t); buf buf0 (Y, u);",
        mux2_1=f"{PREFIX}udp_mux_2to1 mux0 (t, A, B, S); buf b (X, t);",
        dfrtp_1=f"not n (r, R); {PREFIX}udp_dff$PR `UNIT_DELAY dff0 (t, D, CLK, r); buf b (Q, t);",
        dlxtp_1=f"{PREFIX}udp_dlatch$P `UNIT_DELAY l (t, D, CLK); buf b (Q, t);",
        clkbuf_1="buf b (X, A);",
        and2_0="and a (X, A, B);",
        sdfxtp_1="buf b (X, A);",
    )
    library = read(sky130.make_liberty(files))
    assert library.name == sky130.NAME
    assert [name.removeprefix(PREFIX) for name in library.cells] == ["a21oi_1", "dfrtp_1", "mux2_1"]
    assert {cell.area for cell in library.cells.values()} == {3.0}
    gate = library.cells[f"{PREFIX}a21oi_1"].functions["Y"]
    mux = library.cells[f"{PREFIX}mux2_1"].functions["X"]
    for a, b, c in product((0, 1), repeat=3):
        assert gate({"A": a, "B": b, "C": c}) & 1 == (not ((a and b) or c))
        assert mux({"A": a, "B": b, "S": c}) & 1 == (b if c else a)
    assert library.register.ties == {"R": "1"}
    assert not library.has_delays
    assert library.voltage is None


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {f"{PREFIX}inv_1.lef": "MACRO inv"},
            f"LEF of cell '{PREFIX}inv_1' has no size",
        ),
        (
            {f"{PREFIX}inv_1.functional.v": "module other (Y);"},
            f"Verilog of cell '{PREFIX}inv_1' has no module of that name",
        ),
    ],
)
def test_sky130_files_that_are_not_as_expected(change, message):
    files = sky_files(inv_1="not n (Y, A);") | change
    with pytest.raises(FormatError) as caught:
        sky130.make_liberty(files)
    assert str(caught.value) == message
