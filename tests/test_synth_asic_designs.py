import json
import shutil
from pathlib import Path

import pytest
from circuits import random_netlist
from test_synth_asic_cells import PREFIX, sky_files

from trilut.errors import ToolError
from trilut.hdl import HardwareOptions, write_verilog
from trilut.synth import SynthesisSettings, load_target, synthesize
from trilut.synth.asic.opensta import find_opensta, opensta_period
from trilut.synth.asic.sky130 import make_liberty
from trilut.synth.asic.sources import load_library
from trilut.synth.asic.sta import slowest_path
from trilut.synth.mapped import MappedDesign
from trilut.synth.models import write_mapped_verilog
from trilut.verify.mapped import prove_mapping

pytestmark = pytest.mark.synth

ASIC = load_target("asic")


def some_design(out, *, num_gates=40, seed=2):
    net = random_netlist(
        seed, num_inputs=6, num_gates=num_gates, num_outputs=12, num_classes=3, with_encoder=True
    )
    return write_verilog(net, out, HardwareOptions(sums=ASIC.sums))


def test_library_whose_flip_flops_all_have_a_reset(tmp_path):
    before, register, after = load_library("generic").text.decode().partition("cell (DFF)")
    after = after.replace('next_state : "D";', 'next_state : "D"; clear : "R\'"; preset : "!S";')
    pins = "pin (R) { direction : input; } pin (S) { direction : input; }"
    liberty = tmp_path / "resets.lib"
    liberty.write_text(before + register + after.replace("pin (D) {", f"{pins} pin (D) {{"))
    design = some_design(tmp_path)
    settings = SynthesisSettings(liberty=liberty)
    result = synthesize(
        design.path, design.top, ASIC, out=tmp_path, blocks=False, settings=settings
    )
    assert result.cells.other == 0
    assert result.timing.fmax_mhz > 0
    assert result.asic.energy.vector_pj > 0
    cells = json.loads((tmp_path / "yosys.json").read_text())["modules"][design.top]["cells"]
    resets = {
        (pin, *cell["connections"][pin])
        for cell in cells.values()
        if cell["type"] == "DFF"
        for pin in ("R", "S")
    }
    assert resets == {("R", "1"), ("S", "1")}
    library = load_library("", liberty)
    write_mapped_verilog(tmp_path, design.top, ASIC, library=library)
    text = prove_mapping(design, ASIC, tmp_path)
    assert text.startswith("proven equal to the RTL in every cycle: ")
    assert text.endswith(", once it was reset")


def test_area_without_delays(tmp_path):
    files = sky_files(
        inv_1="not n (Y, A);",
        nand2_1="nand n (t, A, B); buf b (Y, t);",
        nor2_1="nor n (Y, A, B);",
        buf_1="buf b (X, A);",
        dfxtp_1=f"{PREFIX}udp_dff$P `UNIT_DELAY dff0 (t, D, CLK); buf b (Q, t);",
    )
    liberty = tmp_path / "sky.lib"
    liberty.write_text(make_liberty(files))
    design = some_design(tmp_path)
    result = synthesize(
        design.path,
        design.top,
        ASIC,
        out=tmp_path,
        blocks=False,
        settings=SynthesisSettings(liberty=liberty),
    )
    assert result.cells.area == pytest.approx(3 * (result.cells.gate + result.cells.ff))
    assert not result.asic.has_delays
    assert result.timing is None
    assert result.asic.energy is None
    assert result.asic.cell_counts[f"{PREFIX}buf_1"] > 0


@pytest.mark.slow
def test_cells_of_the_package_of_sky130():
    library = load_library("sky130")
    assert len(library.cells) == 285
    # Width times height of the LEF files.
    areas = {"nand2_1": 3.7536, "dfxtp_1": 20.0192, "mux2_1": 11.2608, "fa_1": 20.0192}
    assert {name: library.cells[f"{PREFIX}{name}"].area for name in areas} == areas
    assert library.areas.nand2 == 3.7536
    assert library.register.cell == f"{PREFIX}dfxtp_1"
    adder = library.cells[f"{PREFIX}fa_1"].functions
    pins = {"A": 0b00001111, "B": 0b00110011, "CIN": 0b01010101}
    assert adder["COUT"](pins) & 0xFF == 0b00010111
    assert adder["SUM"](pins) & 0xFF == 0b01101001


@pytest.mark.slow
@pytest.mark.parametrize("name", ["generic", "freepdk45", "osu018", "osu035"])
def test_period_is_that_of_opensta(tmp_path, name):
    if shutil.which("sta") is None:
        pytest.skip("sta (OpenSTA) is not installed")
    if name.startswith("osu") and not Path(f"/usr/share/qflow/tech/{name}").is_dir():
        pytest.skip(f"the library {name} (qflow-tech-{name}) is not installed")
    design = some_design(tmp_path, num_gates=200)
    target = load_target(f"asic:{name}")
    synthesize(design.path, design.top, target, out=tmp_path, blocks=False)
    library = load_library(name)
    mapped = MappedDesign(tmp_path / "yosys.json", design.top)
    mapped.register_ports(library.register)
    for wires in {None, library.wire_load(0.0)}:
        ours = slowest_path(mapped.module, library, wires)[-1].time * library.ns
        theirs = opensta_period(mapped, design.top, library, tmp_path / "sta", wires)
        assert ours == pytest.approx(theirs, rel=0.02)


def test_opensta_that_is_not_there(monkeypatch):
    monkeypatch.setenv("PATH", "")
    monkeypatch.delenv("STA", raising=False)
    with pytest.raises(
        ToolError,
        match=r"^Cannot find sta in PATH; install it with 'apt install --no-install-recommends "
        r"opensta' or set STA$",
    ):
        find_opensta()
