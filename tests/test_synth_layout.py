"""Layouts: what is read from them, what is said when the tools are missing, and one of Moons."""

import re
import shutil
from pathlib import Path

import pytest

from trilut.cli import main
from trilut.errors import FormatError, ToolError
from trilut.report.layout import draw_layout
from trilut.synth.asic import layout
from trilut.synth.asic.layout import enlarge_lone_pins, lay_out, measure_wires

MOONS = Path(__file__).parent / "regression" / "ternary_two_classes.trilut"
DEF = """\
VERSION 5.6 ;
UNITS DISTANCE MICRONS 100 ;
DIEAREA ( -100 -100 ) ( 900 500 ) ;
COMPONENTS 3 ;
- INVX1_1 INVX1 + PLACED ( 0 0 ) N ;
- INVX1_2 INVX1 + PLACED ( 400 0 ) N ;
- FILL_1 FILL + PLACED ( 200 0 ) N ;
END COMPONENTS
SPECIALNETS 1 ;
- a
+ ROUTED metal1 40 ( 0 0 ) ( 1000 * ) ;
END SPECIALNETS
NETS 2 ;
- a
  ( INVX1_1 Y )
  ( INVX1_2 A )
+ ROUTED metal1 ( 0 0 ) ( 300 * ) ( * 50 ) M2_M1
  NEW metal2 ( 300 50 ) ( * 250 ) ;
- b
  ( INVX1_2 Y )
+ ROUTED metal1 ( 500 100 ) M2_M1 ;
END NETS
"""
INVERTER = """\
VERSION 5.6 ;
UNITS DATABASE MICRONS 100 ; END UNITS
LAYER metal1 TYPE ROUTING ; WIDTH 0.3 ; END metal1
LAYER metal2 TYPE ROUTING ; WIDTH 0.4 ; END metal2
MACRO INVX1 CLASS CORE ; SIZE 1.6 BY 2 ; END INVX1
MACRO FILL CLASS CORE ; SIZE 0.8 BY 2 ; END FILL
END LIBRARY
"""


def test_length_of_wires():
    assert measure_wires(DEF) == {"metal1": 3.5, "metal2": 2.0}


@pytest.mark.parametrize(
    ("old", "message"),
    [("NETS 2", "The layout has no section NETS"), ("UNITS", "The layout has no unit of length")],
)
def test_a_layout_that_is_none(old, message):
    with pytest.raises(FormatError, match=f"^{re.escape(message)}$"):
        measure_wires(DEF.replace(f"\n{old}", "\n#"))


def test_only_pins_without_a_wire_grow():
    pin = "- {0} + NET {0}\n  + LAYER metal2 ( -{1} -{1} ) ( {1} {1} )\n  + PLACED ( 0 0 ) N ;\n"
    nets = DEF.replace("END NETS", "- lone\n  ( PIN lone ) ;\nEND NETS")
    supply = pin.format("vdd", 80)
    before = pin.format("a", 15) + pin.format("lone", 15) + supply
    after = pin.format("a", 15) + pin.format("lone", 25) + supply
    assert enlarge_lone_pins(f"{nets}PINS 3 ;\n{before}END PINS\n") == (
        f"{nets}PINS 3 ;\n{after}END PINS\n"
    )


def test_a_picture(tmp_path):
    (tmp_path / "layout.def").write_text(DEF.replace(" M2_M1", ""))
    (tmp_path / "cells.lef").write_text(INVERTER)
    draw_layout(tmp_path / "layout.def", tmp_path / "cells.lef", tmp_path / "a b.png", width=200)
    picture = (tmp_path / "a b.png").read_bytes()
    assert picture.startswith(b"\x89PNG")
    assert int.from_bytes(picture[16:20], "big") == 200


def test_tools_that_are_missing_are_said_in_one_line(tmp_path, monkeypatch, capsys):
    missing = tmp_path / "none"
    monkeypatch.setattr(layout, "_SCRIPTS", missing)
    assert main(["layout", str(MOONS), "-o", str(tmp_path / "out")]) == 1
    assert capsys.readouterr().err == (
        f"trilut: error: A layout needs {str(missing / 'placement.sh')!r}, which is not there; "
        "install the Debian packages with: apt-get install --no-install-recommends qflow "
        "qflow-tech-osu018 graywolf qrouter magic netgen-lvs tcsh\n"
    )
    assert not (tmp_path / "out").exists()


with_tools = [
    pytest.mark.slow,
    pytest.mark.synth,
    pytest.mark.skipif(shutil.which("qflow") is None, reason="qflow is not installed"),
]


class TestTools:
    pytestmark = with_tools

    def test_moons(self, tmp_path, capsys):
        out = tmp_path / "a directory; with $(odd) name"
        assert main(["layout", str(MOONS), "-o", str(out), "--pipeline", "16"]) == 0
        printed = capsys.readouterr().out
        assert "as abstracts: outlines and pins, no transistors" in printed
        assert re.search(r"DRC of wires and pins +│ clean ", printed), printed
        assert "the circuit read back matches the netlist" in printed
        assert {"layout.def", "layout.json", "layout.mag", "layout.png", "lvs.txt"} <= {
            path.name for path in out.iterdir()
        }
        lengths = measure_wires((out / "layout.def").read_text())
        assert sum(lengths.values()) > 1000

    def test_constants(self, tmp_path):
        (tmp_path / "mapped.v").write_text(
            "module top(a, y, z); input a; output y, z;\n"
            "INVX1 u(.A(a), .Y(y)); assign z = 1'b1; endmodule\n"
        )
        with pytest.raises(
            ToolError,
            match=r"^Library 'osu018' has no cell for the constant 'true', which the design needs "
            r"at a port or a pin$",
        ):
            lay_out(tmp_path / "mapped.v", "top", tmp_path / "out")
