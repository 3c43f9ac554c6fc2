import re
from dataclasses import replace
from pathlib import Path

import pytest

from trilut.errors import FormatError, ToolError
from trilut.synth import load_target, target_names
from trilut.synth.target import ClockSource

ECP5 = (Path(__file__).parent.parent / "synth" / "targets" / "ecp5.toml").read_text()


NAMES = (
    "asic, cyclonev, ecp5, gatemate, gowin, ice40, ice40-hx8k, ice40-up5k, machxo2, machxo3, "
    "nexus, xc7, xcup"
)


def write(folder: Path, text: str) -> str:
    path = folder / "mine.toml"
    path.write_text(text)
    return str(path)


def replaced(old: str, new: str) -> str:
    assert ECP5.count(old) == 1
    return ECP5.replace(old, new)


def test_names():
    assert target_names() == tuple(NAMES.split(", "))


@pytest.mark.parametrize("name", target_names())
def test_every_target_loads(name):
    target = load_target(name)
    assert target.name == name
    assert target.capacity.get("ff", 0) > 0 or target.library == "generic"
    assert target.models or target.library
    assert (target.timing == "post-route") == (len(target.programs) == 2)


def test_ecp5():
    target = load_target("ecp5")
    assert target.device == "LFE5U-25F-6BG381C"
    assert target.synthesis == ("synth_ecp5", "-nowidelut", "-cmp2softlogic")
    assert target.equivalents == {"carry": 2}
    assert target.place_and_route.program == "nextpnr-ecp5"
    assert target.place_and_route.options == (
        "--25k",
        "--package=CABGA381",
        "--speed=6",
        "--lpf-allow-unconstrained",
    )


@pytest.mark.parametrize(
    ("cell_type", "kind"),
    [
        ("SB_LUT4", "lut4"),
        ("SB_DFF", "ff"),
        ("SB_DFFESR", "ff"),
        ("SB_CARRY", "carry"),
        ("SB_RAM40_4KNR", "bram"),
        ("SB_IO", None),
    ],
)
def test_kind_of_cell(cell_type, kind):
    assert load_target("ice40").kind(cell_type) == kind


def test_unknown_target_with_a_hint():
    with pytest.raises(
        ToolError,
        match=rf"^Unknown target 'epc5', expected one of {NAMES} or a file NAME\.toml; "
        r"did you mean 'ecp5'\?$",
    ):
        load_target("epc5")


def test_unknown_target_like_no_other():
    with pytest.raises(
        ToolError,
        match=rf"^Unknown target '\.\./etc\\n', expected one of {NAMES} or a file NAME\.toml$",
    ):
        load_target("../etc\n")


def test_target_file_of_the_user(tmp_path):
    target = load_target(write(tmp_path, replaced("25k = true", "85k = true")))
    assert target.name == "mine"
    assert target.place_and_route.options[0] == "--85k"


def test_target_without_place_and_route(tmp_path):
    text = ECP5[: ECP5.index("[nextpnr]")]
    assert load_target(write(tmp_path, text)).place_and_route is None


def test_short_name_of_a_target():
    assert load_target("ice40") == replace(load_target("ice40-hx8k"), name="ice40")


def test_alias_leads_to_our_targets_only(tmp_path):
    check_refused(
        tmp_path,
        'alias = "mine.toml"',
        ": 'alias' is 'mine.toml', expected the name of a target",
    )


def test_library_of_an_asic():
    target = load_target("asic:osu018")
    assert (target.name, target.library) == ("asic-osu018", "osu018")
    assert target.timing == "static, with the library's wire load if it has one"


@pytest.mark.parametrize("name", ["ecp5:osu018", "asic:../x"])
def test_library_that_cannot_be(name):
    base, _, library = name.partition(":")
    with pytest.raises(
        ToolError, match=rf"^Target {base!r} takes no library {re.escape(repr(library))}$"
    ):
        load_target(name)


def test_options_of_gowin():
    settings = load_target("gowin").place_and_route
    assert settings.options == ("--device=GW1NR-LV9QN88PC6/I5", "--vopt=family=GW1N-9C")
    assert settings.clock == ClockSource("IBUF", "O", "I", {}, {"BEL": "X46Y16/IOBA"})
    assert settings.register.tied


def test_registers_at_the_ports_of_gatemate_are_kept():
    settings = load_target("gatemate").place_and_route
    assert settings.register.attributes == {"keep": "1"}
    assert settings.register.parameters == {"EN_INV": "1"}
    assert settings.clock == ClockSource("CC_IBUF", "Y", "I", {"PIN_NAME": "IO_SB_A8"}, {})


def test_missing_file(tmp_path):
    path = str(tmp_path / "none.toml")
    with pytest.raises(
        FormatError, match=rf"^Cannot read {re.escape(repr(path))}: No such file or directory$"
    ):
        load_target(path)


def test_odd_file_name(tmp_path):
    path = tmp_path / "a b;c.toml"
    path.write_text(ECP5)
    with pytest.raises(
        FormatError,
        match=rf"^Target file {re.escape(repr(str(path)))} is not named by a plain word$",
    ):
        load_target(str(path))


def check_refused(folder: Path, text: str, complaint: str) -> None:
    path = write(folder, text)
    with pytest.raises(FormatError) as caught:
        load_target(path)
    assert str(caught.value) == f"Target file {path!r}{complaint}"


def test_not_toml(tmp_path):
    check_refused(
        tmp_path,
        "title: ECP5",
        " is not TOML: Expected '=' after a key in a key/value pair (at line 1, column 6)",
    )


@pytest.mark.parametrize(
    ("old", "new", "complaint"),
    [
        (
            'device = "LFE5U-25F-6BG381C"\n',
            "",
            "'device' is missing, expected a plain word",
        ),
        (
            'title = "Lattice ECP5, 24k LUT4, speed grade 6"',
            'title = "two\\nlines"',
            "'title' is 'two\\nlines', expected a line of text",
        ),
        (
            'command = "synth_ecp5"',
            'command = "exec -- touch x"',
            "[yosys] 'command' is 'exec -- touch x', expected a command synth_…",
        ),
        (
            'command = "synth_ecp5"',
            'command = "synth_ecp5\\n!touch x"',
            "[yosys] 'command' is 'synth_ecp5\\n!touch x', expected a command synth_…",
        ),
        (
            "nowidelut = true",
            'nowidelut = "4; exec -- touch x"',
            "[yosys.options] 'nowidelut' is '4; exec -- touch x', "
            "expected true, a number or a plain word",
        ),
        (
            "nowidelut = true",
            "nowidelut = false",
            "[yosys.options] 'nowidelut' is False, expected true, a number or a plain word",
        ),
        (
            "nowidelut = true",
            'json = "design.v"',
            "[yosys.options] 'json' is unknown, expected an option of Yosys that a target may set",
        ),
        (
            "nowidelut = true",
            '"x;y" = true',
            "[yosys.options] 'x;y' is unknown, expected an option of Yosys that a target may set",
        ),
        (
            'program = "nextpnr-ecp5"',
            'program = "/bin/sh"',
            "[nextpnr] 'program' is '/bin/sh', expected a program nextpnr-…",
        ),
        (
            "25k = true",
            'pre-pack = "evil.py"',
            "[nextpnr.options] 'pre-pack' is unknown, "
            "expected an option of nextpnr that a target may set",
        ),
        (
            "speed = 6",
            'speed = "--run=evil.py"',
            "[nextpnr.options] 'speed' is '--run=evil.py', expected true, a number or a plain word",
        ),
        (
            'lut4 = ["LUT4"]',
            'lut4 = "LUT4"',
            "[cells] 'lut4' is 'LUT4', expected a list of cell types",
        ),
        (
            'carry = ["CCU2C"]',
            'latch = ["CCU2C"]',
            "[cells] 'latch' is unknown, "
            "expected 'lut4', 'lut6', 'ff', 'carry', 'mux', 'bram', 'dsp', 'free'",
        ),
        (
            "lut4 = 24288",
            "lut4 = -1",
            "[capacity] 'lut4' is -1, expected a number of cells",
        ),
        (
            "[register]",
            "[registers]",
            "'registers' is unknown, expected 'title', 'device', 'sums', 'pairs_tables', 'yosys', "
            "'cells', 'equivalents', 'capacity', 'asic', 'nextpnr', 'register', 'clock'",
        ),
        (
            'models = ["ecp5/cells_sim.v"]',
            'models = ["../../etc/x.v"]',
            "[yosys] 'models' is ['../../etc/x.v'], expected a list of files of Yosys",
        ),
        (
            'models = ["ecp5/cells_sim.v"]',
            "keeps_hierarchy = 1",
            "[yosys] 'keeps_hierarchy' is 1, expected true or false",
        ),
        (
            'package = "CABGA381"',
            'package = "a/b"',
            "[nextpnr.options] 'package' is 'a/b', expected true, a number or a plain word",
        ),
        (
            'program = "nextpnr-ecp5"',
            'program = "nextpnr-ecp5"\nseed = 1',
            "[nextpnr] 'seed' is unknown, expected 'program', 'options', 'resources'",
        ),
        (
            'GSR = "DISABLED"',
            "GSR = 1",
            "[register.parameters] 'GSR' is 1, expected a word",
        ),
    ],
)
def test_wrong_value(tmp_path, old, new, complaint):
    check_refused(tmp_path, replaced(old, new), f": {complaint}")


def test_a_table_must_be_one(tmp_path):
    check_refused(tmp_path, 'title = "T"\ncells = 1\n', ": 'cells' is 1, expected a table")
    check_refused(tmp_path, 'title = "T"\n', ": 'cells' is missing, expected a table")


def test_what_only_place_and_route_reads(tmp_path):
    check_refused(
        tmp_path,
        "register = 1\n" + ECP5.partition("[nextpnr]")[0],
        ": 'register' is unknown, expected 'title', 'device', 'sums', 'pairs_tables', 'yosys', "
        "'cells', 'equivalents', 'capacity', 'asic', 'nextpnr'",
    )
