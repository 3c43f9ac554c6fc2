import dataclasses

import numpy as np
import pytest
from circuits import random_netlist

from trilut.errors import ToolError
from trilut.hdl import HardwareOptions, write_verilog
from trilut.sim import stimulus, verify_rtl
from trilut.synth import load_target, synthesize
from trilut.synth.models import write_mapped_verilog

pytestmark = [pytest.mark.synth, pytest.mark.sim]

QUICK = ["ecp5", "ice40", "asic"]
SLOW = ["gatemate", "gowin", "nexus", "machxo2", "xc7", "cyclonev"]


@pytest.mark.parametrize(
    "name", [*QUICK, *(pytest.param(name, marks=pytest.mark.slow) for name in SLOW)]
)
def test_mapped_design_equals_the_netlist(tmp_path, name):
    net = random_netlist(
        1, num_inputs=6, num_gates=24, num_outputs=12, num_classes=3, with_encoder=True
    )
    target = load_target(name)
    design = write_verilog(net, tmp_path, HardwareOptions(sums=target.sums))
    mapping = dataclasses.replace(target, place_and_route=None)
    synthesize(design.path, design.top, mapping, out=tmp_path, blocks=False)
    mapped = write_mapped_verilog(tmp_path, design.top, target)
    vectors = stimulus(net, None, np.random.default_rng(0), num_random=300)
    part = dataclasses.replace(design, path=mapped.path, models=mapped.models)
    result = verify_rtl(net, part, vectors, out=tmp_path)
    assert result.passed
    assert sum(result.num_checked.values()) > 300
    assert mapped.path.read_text().count("endmodule") == 1
    assert bool(mapped.models) == bool(target.library)


def test_target_without_models(tmp_path):
    target = dataclasses.replace(load_target("ecp5"), models=())
    with pytest.raises(
        ToolError, match=r"^Target 'ecp5' names no models of its cells to simulate with$"
    ):
        write_mapped_verilog(tmp_path, "top", target)
