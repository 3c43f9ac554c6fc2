import pytest

from trilut.data import load_dataset
from trilut.hdl import HardwareOptions, write_verilog
from trilut.synth import SynthesisSettings, load_target, synthesize, target_names
from trilut.training import TrainingConfig, train

pytestmark = [pytest.mark.synth, pytest.mark.slow]

# Small enough for the smallest part, a MachXO2 with 1,280 flip-flops, and for wiring that was not
# learned to be routed.
SETTINGS = {"moons": {"layers": (32, 16)}, "digits": {"layers": (60, 30), "bits": 4}}
TARGETS = [*(name for name in target_names() if name != "ice40"), "asic:freepdk45"]
METHODS = {"asic": "static, no wires", "asic:freepdk45": "static, wire load 5K_hvratio_1_1"}


@pytest.fixture(scope="module", params=SETTINGS)
def net(request):
    dataset = load_dataset(request.param)
    config = TrainingConfig.for_dataset(dataset, steps=200, **SETTINGS[request.param])
    return train(dataset, config).netlist


@pytest.mark.parametrize("name", TARGETS)
def test_target(net, name, tmp_path):
    target = load_target(name)
    design = write_verilog(net, tmp_path, HardwareOptions(sums=target.sums, pipeline=3))
    # Placed with seed 1, the clock of digits is not routed on the MachXO3.
    result = synthesize(
        design.path,
        design.top,
        target,
        settings=SynthesisSettings(seed=2, timeout=1800),
        out=tmp_path,
    )
    cells = result.cells
    assert cells.other == 0
    assert cells.ff > 0
    assert (cells.gate if target.library else getattr(cells, target.lut)) > 0
    assert {"encoder", "groupsum", "argmax", "control"} <= set(result.blocks)
    assert result.levels > 0
    if target.place_and_route or target.library:
        assert result.timing.method == METHODS.get(name, "post-route")
        assert 20 < result.timing.fmax_mhz < 5000
        assert result.port_registers > 0
    else:
        assert result.timing is None
