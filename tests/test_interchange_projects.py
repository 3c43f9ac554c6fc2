import os
import subprocess
from dataclasses import replace

import pytest
from circuits import monotone_netlist

from trilut import save
from trilut.app.export import write_projects
from trilut.cli import main
from trilut.errors import NetlistError
from trilut.hdl import PORTABLE, HardwareOptions, write_verilog
from trilut.interchange.projects import PROJECTS, write_project
from trilut.sim.bench.simulator import find_simulator

NET = monotone_netlist(
    7, num_inputs=10, num_gates=30, num_outputs=18, num_classes=3, with_encoder=True
)
PLAIN = HardwareOptions(sums=PORTABLE)


@pytest.mark.parametrize("tool", PROJECTS)
def test_a_project_names_the_files_that_are_there(tmp_path, tool):
    design = write_verilog(NET, tmp_path, HardwareOptions(top="my_net", sums=PORTABLE))
    for path in write_project(design, tool):
        text = path.read_text()
        assert path.parent == tmp_path
        assert "my_net" in text
        assert "@top@" not in text


def test_a_core_of_a_part_has_models_of_its_cells_for_simulation(tmp_path):
    design = write_verilog(NET, tmp_path, replace(PLAIN, sums="ecp5"))
    core, cells = write_project(design, "fusesoc")
    assert "    files:\n      - trilut_top_cells.v\n" in core.read_text()
    assert "module CCU2C" in cells.read_text()
    assert (
        "files: []"
        in write_project(write_verilog(NET, tmp_path / "plain", PLAIN), "fusesoc")[0].read_text()
    )


@pytest.mark.parametrize("options", [{"axi_beat_bits": 8}, {"margin_port": True}])
def test_a_core_without_plain_streams_has_no_simulation(tmp_path, options):
    paths = write_projects(write_verilog(NET, tmp_path, replace(PLAIN, **options)), ["fusesoc"])
    assert [path.name for path in paths] == ["trilut_top.core"]
    assert "bench" not in paths[0].read_text()


def test_a_component_has_the_ports_of_the_module(tmp_path):
    (path,) = write_project(write_verilog(NET, tmp_path, PLAIN), "vhdl")
    text = path.read_text()
    assert "      clk : in std_logic;\n" in text
    assert "      out_unknown : out std_logic" in text
    assert "      out_class : out std_logic_vector(1 downto 0);\n" in text
    assert "--   out_class => out_class,\n" in text


def test_cells_of_another_vendor_are_refused(tmp_path):
    design = write_verilog(NET, tmp_path, replace(PLAIN, sums="ecp5"))
    with pytest.raises(NetlistError) as error:
        write_project(design, "vivado")
    assert str(error.value) == (
        "A project of vivado cannot have CCU2C of ecp5; give --target xc7 or xcup or generic"
    )
    with pytest.raises(NetlistError, match=r"^Project is 'make', expected 'fusesoc' or 'quartus' "):
        write_project(design, "make")


def test_gates_alone_have_no_clock_for_a_vendor(tmp_path):
    design = write_verilog(NET, tmp_path, HardwareOptions(logic_only=True))
    with pytest.raises(
        NetlistError, match=r"^A project of quartus needs a clock; leave out --logic-only$"
    ):
        write_project(design, "quartus")


def test_projects_by_command(tmp_path, capsys):
    save(NET, tmp_path / "net.trilut")
    command = ["verilog", str(tmp_path / "net.trilut"), "-o", str(tmp_path / "rtl")]
    assert main([*command, "--project", "fusesoc,vhdl"]) == 0
    assert (tmp_path / "rtl" / "trilut_top_bench.sv").exists()
    with pytest.raises(SystemExit):
        main([*command, "--project", "fusesoc,make"])
    assert capsys.readouterr().err.endswith(
        "argument --project: expected some of fusesoc, quartus, vhdl, vivado, got 'make'\n"
    )


@pytest.mark.slow
def test_the_bench_in_verilog_sees_a_wrong_result(tmp_path):
    paths = write_projects(write_verilog(NET, tmp_path, replace(PLAIN, pipeline=4)), ["fusesoc"])
    _, bench, vectors = paths
    run = verilated(bench, tmp_path)
    assert "PASSED: 1118 vectors" in run.stdout
    assert run.returncode == 0
    lines = vectors.read_text().splitlines()
    lines[7] = f"{int(lines[7], 16) ^ 1:0{len(lines[7])}x}"
    vectors.write_text("\n".join(lines))
    run = subprocess.run(
        [tmp_path / "obj_dir" / "bench"], cwd=tmp_path, capture_output=True, text=True
    )
    assert "FAILED: 1118 of 1118 results, 1 of them wrong" in run.stdout
    assert run.returncode != 0


def verilated(bench, directory):
    """Compile a bench and run it."""
    simulator = find_simulator()
    command = [*simulator.tool.command, "--binary", "--timing", "-Wno-fatal", "-o", "bench"]
    command += ["-CFLAGS", "-std=c++20"]
    command += ["--top-module", bench.stem, bench.name, "trilut_top.v"]
    environment = {**os.environ, **simulator.tool.environment}
    subprocess.run(command, cwd=directory, env=environment, check=True, capture_output=True)
    return subprocess.run(
        [directory / "obj_dir" / "bench"], cwd=directory, capture_output=True, text=True
    )
