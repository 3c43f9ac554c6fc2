"""Projects for Tiny Tapeout: what is in them, and their own tests, run as users would."""

import json
import re
import runpy
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from circuits import random_netlist
from makefiles import SIMULATORS, make

import trilut
from trilut.app.tapeout import make_tinytapeout
from trilut.boards.shuttle import SHUTTLES, Block, choose_block
from trilut.boards.tinytapeout import project_top, write_project, write_sources
from trilut.circuit.interface import Interface
from trilut.cli import main
from trilut.errors import NetlistError, ToolError
from trilut.training import TrainingConfig, train

MOONS = Path(__file__).parent / "regression" / "ternary_two_classes.trilut"
SKY130 = SHUTTLES["sky130"]
BLOCK = Block("1x1", 17954.72, 0.25)
NASTY = "a \"b\" | <i>`c`</i> \\ # $x$ : é\N{GRINNING FACE} [d](e) ''' @TOP@ */ endmodule"


def write(net, directory, top="tt_um_x", **more):
    design = write_sources(net, directory / "src", top)
    write_project(design, directory, SKY130, BLOCK, top=top, **more)
    return design


def small_net(**changes):
    net = random_netlist(
        3, num_inputs=12, num_gates=30, num_outputs=9, num_classes=3, with_encoder=True
    )
    return replace(net, **changes)


def vectors(directory):
    lines = (directory / "test" / "vectors.csv").read_text().splitlines()
    assert lines[0] == "origin,packet,result"
    return [line.split(",") for line in lines[1:]]


@pytest.mark.sim
def test_moons_passes_its_own_test(tmp_path):
    write(trilut.load(MOONS), tmp_path / "chip")
    done = make(tmp_path / "chip" / "test", "verilator")
    assert done.returncode == 0, done.stdout + done.stderr
    count = len(vectors(tmp_path / "chip"))
    assert count > 100
    assert f"{count} vectors, all as the netlist says" in done.stdout
    assert "TESTS=3 PASS=3 FAIL=0 SKIP=0" in done.stdout


def test_files(tmp_path):
    write(small_net(), tmp_path, author="Ada", gates="// gates\n", cells="// cells\n")
    assert sorted(
        str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*") if path.is_file()
    ) == sorted(
        [
            *(f".github/workflows/{name}.yaml" for name in ("docs", "fpga", "gds", "test")),
            *(".gitignore", "README.md", "docs/info.md", "host/classifier.py", "info.yaml"),
            *(f"src/{name}" for name in ("config.json", "project.v", "trilut_top.json")),
            *("src/trilut_top.v", "test/Makefile", "test/cells.v", "test/gate_level_netlist.v"),
            *("test/requirements.txt", "test/tb.v", "test/test.py", "test/vectors.csv"),
        ]
    )
    assert not [path for path in tmp_path.rglob("*") if re.search(r"@[A-Z_]+@", read(path))]
    assert json.loads((tmp_path / "src" / "config.json").read_text())["CLOCK_PERIOD"] == 100
    gds = (tmp_path / ".github" / "workflows" / "gds.yaml").read_text()
    assert "TinyTapeout/tt-gds-action@ttsky26a\n        with:\n          pdk: sky130A\n" in gds


def read(path):
    return path.read_text() if path.is_file() else ""


def test_pins(tmp_path):
    write(small_net(), tmp_path)
    info = (tmp_path / "info.yaml").read_text()
    named = re.findall(r'^  (u\w+\[\d\]): "[^"]+"$', info, flags=re.MULTILINE)
    assert named == [f"{port}[{bit}]" for port in ("ui", "uo", "uio") for bit in range(8)]
    assert info.endswith("\nyaml_version: 6\n")


def test_names_from_files_are_only_names(tmp_path):
    net = small_net(name=NASTY)
    head = replace(net.head, classes=(NASTY, "b", "c"))
    features = (replace(net.encoder.features[0], name=NASTY), *net.encoder.features[1:])
    net = replace(net, head=head, encoder=replace(net.encoder, features=features))
    write(net, tmp_path, author=f"x\n  evil: {NASTY}")
    info = (tmp_path / "info.yaml").read_text()
    assert info.isascii()
    plain = (
        r"#.*|\w+:|  source_files:|    - \"\w+\.v\"|  [\w\[\]]+: (\"[^\"]*\"|\d+)|yaml_version: 6|"
    )
    assert [line for line in info.splitlines() if not re.fullmatch(plain, line)] == []
    host = runpy.run_path(str(tmp_path / "host" / "classifier.py"))
    assert host["CLASSES"] == [NASTY, "b", "c"]
    assert host["FEATURES"][0][0] == NASTY
    assert host["PROJECT"] == "tt_um_x"
    sheet = (tmp_path / "docs" / "info.md").read_text()
    assert r"| 0 | a \"b\"".replace(r"\"", '"') + r" \| \<i\>\`c\`\</i\> \\ \# \$x\$" in sheet


def test_the_host_packs_what_the_encoder_says(tmp_path):
    net = small_net()
    design = write(net, tmp_path)
    host = runpy.run_path(str(tmp_path / "host" / "classifier.py"))
    samples = np.random.default_rng(0).normal(0, 40, (50, len(net.encoder.features)))
    interface: Interface = design.interface
    bits = interface.pack_vectors(net.encoder.quantize(samples))["in_features"]
    packets = np.packbits(bits, axis=1, bitorder="little")
    assert [host["pack"](row) for row in samples] == [row.tobytes() for row in packets]
    decisions = net.head.decide(net.scores(samples))
    results = interface.pack_results(decisions)
    parts = [np.packbits(bits, axis=1, bitorder="little") for bits in results.values()]
    answers = [host["decide"](row.tobytes()) for row in np.concatenate(parts, axis=1)]
    assert answers == [
        (None if unknown else net.head.classes[chosen], margin)
        for chosen, margin, unknown in zip(
            decisions.chosen, decisions.margin, decisions.unknown, strict=True
        )
    ]
    assert None in [answer for answer, _ in answers]
    with pytest.raises(ValueError, match=r"^expected 6 values, not 1$"):
        host["pack"]([0.0])


@pytest.mark.parametrize(
    ("area", "tiles", "utilization"),
    [(100, "1x1", 0.0056), (7000, "1x1", 0.39), (7500, "1x2", 0.206), (150_000, "8x2", 0.482)],
)
def test_the_smallest_block_that_fits(area, tiles, utilization):
    block = choose_block(SKY130, area)
    assert block.tiles == tiles
    assert block.utilization == pytest.approx(utilization, abs=0.001)
    assert block.is_doubtful == (utilization > 0.4)


def test_a_block_of_choice():
    assert choose_block(SKY130, 9000, "1x1").is_doubtful
    assert choose_block(SHUTTLES["ihp"], 9000, "2x2").area == pytest.approx(131_620.2, abs=0.1)


@pytest.mark.parametrize(
    ("area", "tiles", "message"),
    [
        (
            200_000,
            None,
            "The cells take 200,000 µm², 64% of the largest block, 8x2 tiles (311,133 µm²); "
            "above 60% it cannot be routed",
        ),
        (
            12_000,
            "1x1",
            "The cells take 12,000 µm², 67% of a block of 1x1 tiles (17,955 µm²); "
            "above 60% it cannot be routed",
        ),
        (
            1,
            "5x5",
            "There is no block of '5x5' tiles on sky130, "
            "expected one of 1x1, 1x2, 2x2, 3x2, 4x2, 6x2, 8x2",
        ),
    ],
)
def test_a_block_that_cannot_be(area, tiles, message):
    with pytest.raises(ToolError, match=f"^{re.escape(message)}$"):
        choose_block(SKY130, area, tiles)


def test_top_modules():
    assert project_top(small_net(name="My net: 2.0")) == "tt_um_trilut_my_net_2_0"
    assert project_top(small_net(), "tt_um_ada") == "tt_um_ada"
    with pytest.raises(NetlistError, match=r"^Top module name 'top' does not begin with 'tt_um_'$"):
        project_top(small_net(), "top")


def test_a_netlist_that_cannot_classify(tmp_path):
    with pytest.raises(NetlistError, match=r"^Netlist 'net' has no encoder or no head$"):
        write_sources(small_net(encoder=None), tmp_path, "tt_um_x")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["sim", "--tiles", "1x1"], "Only the board 'tinytapeout' takes --tiles"),
        (["icebreaker", "--author", "x"], "Only the board 'tinytapeout' takes --author"),
        (
            ["tinytapeout", "--program"],
            "A chip is made and not programmed; leave out --program",
        ),
        (
            ["tinytapeout", "--shuttle", "ihp"],
            "No package has the cells of ihp-sg13g2; give them with "
            "--liberty sg13g2_stdcell_typ_1p20V_25C.lib, from its process kit",
        ),
        (
            ["tinytapeout", "--top", "x"],
            "Top module name 'x' does not begin with 'tt_um_'",
        ),
    ],
)
def test_options_that_do_not_go_together(arguments, message, tmp_path, capsys):
    name, *options = arguments
    assert main(["board", name, str(MOONS), "-o", str(tmp_path / "chip"), *options]) == 1
    assert capsys.readouterr().err.splitlines()[-1] == f"trilut: error: {message}"


@pytest.mark.synth
def test_cells_of_a_liberty_file(tmp_path, capsys):
    # The invented cells have areas of a few units and delays.
    liberty = Path(__file__).parent.parent / "synth" / "asic" / "libraries" / "generic.lib"
    arguments = ["board", "tinytapeout", str(MOONS), "-o", str(tmp_path / "chip"), "--json"]
    arguments += ["--shuttle", "ihp", "--liberty", str(liberty), "--clock", "20"]
    assert main(arguments) == 0
    project = json.loads(capsys.readouterr().out)
    assert project["block"]["tiles"] == "1x1"
    assert project["fmax_mhz"] > 20
    assert "clock_hz: 20000000\n" in (tmp_path / "chip" / "info.yaml").read_text()
    gates = (tmp_path / "chip" / "test" / "gate_level_netlist.v").read_text()
    assert "module tt_um_trilut_moons(" in gates
    assert main([*arguments[:-1], "100000"]) == 1
    assert re.fullmatch(
        r"trilut: error: The cells reach [0-9.]+ MHz before wires, but the clock has 100000 MHz; "
        r"lower it with --clock",
        capsys.readouterr().err.splitlines()[-1],
    )


def digits():
    data = trilut.load_dataset("digits")
    settings = {"wiring": "learned", "layers": (800,), "bits": 4, "steps": 500}
    return train(data, TrainingConfig.for_dataset(data, **settings)).netlist


@pytest.fixture(scope="module")
def chips(tmp_path_factory):
    made = {}

    def chip(name):
        if name not in made:
            net = trilut.load(MOONS) if name == "moons" else digits()
            directory = tmp_path_factory.mktemp(name) / "chip"
            made[name] = make_tinytapeout(net, directory, author="Ada")
        return made[name]

    return chip


@pytest.mark.slow
@pytest.mark.sim
@pytest.mark.synth
@pytest.mark.parametrize("simulator", ["verilator", "icarus"])
@pytest.mark.parametrize(("name", "tiles"), [("moons", "1x1"), ("digits", "8x2")])
def test_chips_pass_their_own_tests_as_verilog_and_as_gates(chips, name, tiles, simulator):
    if simulator not in SIMULATORS:
        pytest.skip("iverilog is not on PATH")
    project = chips(name)
    assert project.block.tiles == tiles
    count = len(vectors(project.directory))
    for arguments in ([], ["GATES=yes"]):
        done = make(project.directory / "test", simulator, *arguments)
        assert done.returncode == 0, done.stdout + done.stderr
        assert f"{count} vectors, all as the netlist says" in done.stdout
        assert "TESTS=3 PASS=3 FAIL=0 SKIP=0" in done.stdout


@pytest.mark.slow
@pytest.mark.sim
@pytest.mark.synth
def test_a_wrong_gate_is_seen(chips, tmp_path):
    shutil.copytree(chips("moons").directory, tmp_path / "chip")
    test = tmp_path / "chip" / "test"
    netlist = (test / "gate_level_netlist.v").read_text()
    wrong = netlist.replace("sky130_fd_sc_hd__nor2_1 ", "sky130_fd_sc_hd__nand2_1 ", 1)
    assert wrong != netlist
    (test / "gate_level_netlist.v").write_text(wrong)
    done = make(test, SIMULATORS[-1], "GATES=yes")
    assert done.returncode != 0
    assert re.search(r"\*\* test\.every_vector +FAIL ", done.stdout), done.stdout + done.stderr
