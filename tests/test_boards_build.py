# amaranth: UnusedElaboratable=no
import dataclasses
import json
import re
import shutil
import struct
import zlib
from pathlib import Path

import numpy as np
import pytest
from amaranth.sim import Simulator
from boardlink import small_net
from circuits import random_netlist

from trilut import Encoder, save
from trilut.boards import BOARDS, BoardDesign, build_board, find_board, program_board
from trilut.boards.selftest import SelfTest, self_test_vectors
from trilut.cli import main
from trilut.errors import FormatError, NetlistError, ToolError, TrilutError

OWN_BOARD = """\
title = "Our board"
family = "ice40"
device = "iCE40UP5K"
package = "SG48"
program = "iceprog"

[clock]
pin = "35"
mhz = 12

[uart]
rx = "6"
tx = "9"

[leds]
pins = ["11", "37"]
active_low = true

[attributes]
IO_STANDARD = "SB_LVCMOS"
"""


NAMES = (
    *("title", "family", "device", "package", "speed", "gowin_family", "program", "program_board"),
    *("clock", "uart", "leds", "attributes"),
)


def own_board(tmp_path, old="", new=""):
    assert old in OWN_BOARD
    path = tmp_path / "own.toml"
    path.write_text(OWN_BOARD.replace(old, new))
    return path


@pytest.mark.synth
def test_icebreaker_bitstream(tmp_path, capsys, monkeypatch):
    save(small_net(), tmp_path / "net.trilut")
    which = shutil.which
    # As on a machine that has no programmer.
    monkeypatch.setattr(
        shutil, "which", lambda name, **more: None if name == "iceprog" else which(name, **more)
    )
    out = tmp_path / "out"
    command = ["board", "icebreaker", str(tmp_path / "net.trilut"), "-o", str(out), "--json"]
    assert main([*command, "--program"]) == 1
    captured = capsys.readouterr()
    bitstream = out / "top.bin"
    assert captured.err.splitlines()[-1] == (
        "trilut: error: Cannot find iceprog in PATH; install it and run: "
        f"iceprog {bitstream} or set ICEPROG"
    )
    build = json.loads(captured.out)
    assert build["program"] == ["iceprog", str(bitstream)]
    assert build["fmax_mhz"] >= build["clock_mhz"] == 12
    assert 0 < build["used"]["ICESTORM_LC"] < build["available"]["ICESTORM_LC"] == 5280
    # A bitstream begins with this, after a comment; the text and the pins stand beside it.
    assert b"\x7e\xaa\x99\x7e" in bitstream.read_bytes()[:64]
    assert (out / "top.asc").read_text().startswith(".comment")
    pins = dict(re.findall(r"set_io (\S+) (\S+)", (out / "top.pcf").read_text()))
    assert pins["uart_0__rx__io"] == "6"
    assert pins["uart_0__tx__io"] == "9"


@pytest.mark.slow
@pytest.mark.synth
@pytest.mark.parametrize("name", ["ulx3s-12f", "orangecrab", "tangnano9k"])
def test_bitstreams_of_the_other_boards(name, tmp_path):
    build = build_board(small_net(), find_board(name), tmp_path)
    assert build.fmax_mhz >= build.clock_mhz
    assert build.bitstream.stat().st_size > 10_000
    assert build.used


@pytest.mark.slow
@pytest.mark.synth
def test_a_board_from_a_file_with_its_clock_divided(tmp_path):
    board = find_board(str(own_board(tmp_path)))
    build = build_board(small_net(), board, tmp_path / "out", divide=2)
    assert build.clock_mhz == 6
    assert build.fmax_mhz >= 6
    assert "set_io led_0__io 11" in (tmp_path / "out" / "top.pcf").read_text()


@pytest.mark.slow
@pytest.mark.synth
def test_a_clock_that_is_too_fast(tmp_path):
    board = find_board(str(own_board(tmp_path, "mhz = 12", "mhz = 120")))
    message = (
        r"^The design reaches [0-9.]+ MHz on Our board after place and route, but its clock has "
        r"120\.0 MHz; divide the clock \(--divide 2\) or put registers after fewer layers "
        r"\(--pipeline 1\)$"
    )
    with pytest.raises(ToolError, match=message):
        build_board(small_net(), board, tmp_path / "out")


def test_arty_gets_verilog_and_constraints(tmp_path):
    build = build_board(small_net(), find_board("arty-a7"), tmp_path, divide=2)
    assert build.bitstream is None
    constraints = (tmp_path / "top.xdc").read_text()
    assert 'LOC A9 [get_ports "uart_0__rx__io"]' in constraints
    assert 'LOC D10 [get_ports "uart_0__tx__io"]' in constraints
    assert "module top" in (tmp_path / "top.v").read_text()
    assert "layers.v" in (tmp_path / "top.tcl").read_text()
    message = (
        rf"^There is no bitstream for {re.escape(build.board)} yet; make it with the vendor's "
        rf"tools in '{tmp_path}', then: openFPGALoader -b arty {tmp_path}/top\.bit$"
    )
    with pytest.raises(ToolError, match=message):
        program_board(build)


def test_dfu_suffix():
    from trilut.boards.build import _with_dfu_suffix

    wrapped = _with_dfu_suffix(b"bitstream", 0x1209, 0x5AF0)
    device, product, vendor, version, mark, length = struct.unpack("<HHHH3sB", wrapped[9:-4])
    assert (device, product, vendor, version) == (0xFFFF, 0x5AF0, 0x1209, 0x0100)
    assert (mark, length) == (b"UFD", 16)
    assert int.from_bytes(wrapped[-4:], "little") == zlib.crc32(wrapped[:-4]) ^ 0xFFFFFFFF


def test_boards_are_listed(capsys):
    assert main(["board", "--list", "--json"]) == 0
    assert list(json.loads(capsys.readouterr().out)) == [*BOARDS, "tinytapeout"]


@pytest.mark.parametrize("name", BOARDS)
def test_every_board_has_a_line_and_lights(name):
    from trilut.boards.build import _leds

    platform = BOARDS[name].platform()
    assert platform.default_clk_frequency > 1e6
    uart = platform.lookup("uart", 0)
    assert {io.name for io in uart.ios} >= {"rx", "tx"}
    assert len(list(_leds(platform))) >= 3


def test_unknown_board():
    message = (
        r"^There is no board 'icebraker', expected one of 'icebreaker', 'ulx3s', 'ulx3s-12f', "
        r"'orangecrab', 'tangnano9k', 'arty-a7', or a file that ends in \.toml; "
        r"did you mean 'icebreaker'\?$"
    )
    with pytest.raises(ToolError, match=message):
        find_board("icebraker")


def test_board_from_a_file(tmp_path):
    board = find_board(str(own_board(tmp_path)))
    assert (board.name, board.title, board.programmer) == ("own", "Our board", ("iceprog",))
    assert board.platform().default_clk_frequency == 12e6


def test_board_file_of_the_documentation(tmp_path):
    text = (Path(__file__).parent.parent / "docs" / "boards.md").read_text()
    (example,) = re.findall(r"```toml\n(.*?)```", text, flags=re.DOTALL)
    (tmp_path / "own.toml").write_text(example)
    assert find_board(str(tmp_path / "own.toml")).platform().device == "iCE40UP5K"


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('"ice40"', '"ice41"', "'family' is 'ice41', expected one of ice40, ecp5, gowin"),
        ('family = "ice40"', "", "'family' is missing, expected one of ice40, ecp5, gowin"),
        ('"6"', '"6; rm"', "[uart] 'rx' is '6; rm', expected a plain word in quotes"),
        ('"6"', "6", "[uart] 'rx' is 6, expected a plain word in quotes"),
        ('tx = "9"', "", "[uart] 'tx' is missing, expected a plain word in quotes"),
        ("12", "-1", "[clock] 'mhz' is -1, expected a number above 0 and below 1000"),
        ('"11", "37"', '"$x"', "[leds] 'pins' is ['$x'], expected a list of plain words"),
        ('"37"', '"9"', "pin '9' is used more than once"),
        ("true", "1", "[leds] 'active_low' is 1, expected true or false"),
        ("iceprog", "sh", "'program' is 'sh', expected one of iceprog, openFPGALoader, dfu-util"),
        ("[clock]", "[cloak]", f"'cloak' is unknown, expected {', '.join(map(repr, NAMES))}"),
        ("12", "12\nmhs = 1", "[clock] 'mhs' is unknown, expected 'pin', 'mhz'"),
        ("Our board", "a\\nb", "'title' is 'a\\nb', expected a line of text"),
        (
            "SB_LV",
            "a b",
            "[attributes] 'IO_STANDARD' is 'a bCMOS', expected a plain word in quotes",
        ),
    ],
)
def test_mistakes_in_a_board_file(tmp_path, old, new, message):
    path = own_board(tmp_path, old, new)
    with pytest.raises(FormatError, match=f"^{re.escape(f'{str(path)!r}: {message}')}$"):
        find_board(str(path))


def test_gowin_part_that_does_not_exist(tmp_path):
    gowin = OWN_BOARD.replace("ice40", "gowin").replace("iCE40UP5K", "GW1NR-X")
    (tmp_path / "own.toml").write_text('gowin_family = "GW1NR-9C"\n' + gowin)
    message = f"'{tmp_path}/own.toml': Supplied part name is invalid"
    with pytest.raises(FormatError, match=f"^{re.escape(message)}$"):
        find_board(str(tmp_path / "own.toml"))


def test_board_file_that_is_no_toml(tmp_path):
    path = own_board(tmp_path, "[clock]", "[clock")
    with pytest.raises(FormatError, match=rf"^'{path}' is not TOML: .*line 7"):
        find_board(str(path))


def test_netlist_without_a_head():
    net = random_netlist(1, num_inputs=4, num_gates=3, num_outputs=2, with_encoder=True)
    with pytest.raises(NetlistError, match=r"^Netlist 'net' has no head, which a board needs$"):
        BoardDesign(net, clock_hz=12e6, baud=115_200)


@pytest.mark.parametrize("baud", [6_000_000, 2_750_000])
def test_line_that_the_clock_cannot_make(baud):
    message = (
        rf"^A clock of 12 MHz cannot make {baud} baud, expected a fraction of it by 4 or more, "
        r"within 2%; choose another --baud$"
    )
    with pytest.raises(TrilutError, match=message):
        BoardDesign(small_net(), clock_hz=12e6, baud=baud)


def test_line_that_leaves_no_time_for_a_feature():
    net = random_netlist(
        1, num_inputs=90, num_gates=100, num_outputs=40, num_classes=2, with_encoder=True
    )
    one = np.zeros_like(net.encoder.feature)
    encoder = Encoder(net.encoder.features[:1], one, one + 1, one + 3)
    crowded = dataclasses.replace(net, encoder=encoder)
    message = (
        r"^A byte at 3000000 baud takes 40 cycles of 12 MHz, but the circuit needs [0-9]+; "
        r"choose a lower --baud$"
    )
    with pytest.raises(TrilutError, match=message):
        BoardDesign(crowded, clock_hz=12e6, baud=3_000_000)


def test_self_test_tries_every_class_it_can():
    net = small_net()
    vectors, answers = self_test_vectors(net, payload_bytes=11)
    assert len(vectors) == 16
    assert set(answers.chosen.tolist()) == {0, 1, 2}
    assert not vectors.valid.all()
    again = net.classify(net.encoder.trits(vectors))
    assert again.margin.tolist() == answers.margin.tolist()


@pytest.mark.parametrize("wrong", [None, 0, 2])
def test_self_test_fails_on_one_wrong_answer(wrong):
    answers = [5, 6, 7]
    test = SelfTest(bytes(range(6)), answers, 3)
    loaded = []

    async def respond(ctx):
        for number, answer in enumerate(answers):
            await ctx.tick().until(test.start)
            ctx.set(test.loaded, 0)
            for _ in range(2):
                ctx.set(test.o.ready, 1)
                byte, *_ = await ctx.tick().sample(test.o.payload).until(test.o.valid)
                loaded.append(byte)
                ctx.set(test.o.ready, 0)
            ctx.set(test.loaded, 1)
            await ctx.tick().until(test.run)
            assert not ctx.get(test.passed)
            ctx.set(test.answer, answer ^ (number == wrong))
            ctx.set(test.answer_valid, 1)
            await ctx.tick()
            ctx.set(test.answer_valid, 0)
        await ctx.tick().repeat(2)
        assert not ctx.get(test.running)
        assert ctx.get(test.passed) == (wrong is None)

    simulator = Simulator(test)
    simulator.add_clock(1e-6)
    simulator.add_testbench(respond)
    simulator.run()
    assert loaded == list(range(6))
