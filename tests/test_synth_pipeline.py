import pytest
from circuits import random_netlist

from trilut.hdl import HardwareOptions
from trilut.synth import SynthesisSettings, choose_pipeline, load_target


@pytest.mark.synth
def test_pipeline_gets_deeper_until_the_clock_is_met(tmp_path):
    netlist = random_netlist(
        3, num_inputs=4, num_gates=16, num_outputs=4, num_classes=2, with_encoder=True
    )
    target = load_target("ecp5")
    slow = choose_pipeline(
        netlist,
        target,
        HardwareOptions(sums=target.sums),
        out=tmp_path,
        settings=SynthesisSettings(frequency=10.0),
    )
    assert slow.is_met
    assert (slow.pipeline, list(slow.fmax_mhz)) == (netlist.depth, [netlist.depth])
    assert not list(tmp_path.glob(".work-*"))


@pytest.mark.synth
def test_pipeline_that_cannot_meet_the_clock_is_the_fastest(tmp_path):
    netlist = random_netlist(
        3, num_inputs=2, num_gates=2, num_outputs=2, num_classes=2, with_encoder=True
    )
    choice = choose_pipeline(
        netlist,
        load_target("ecp5"),
        HardwareOptions(),
        out=tmp_path,
        settings=SynthesisSettings(frequency=5000.0),
    )
    assert not choice.is_met
    assert choice.fmax_mhz[choice.pipeline] == max(choice.fmax_mhz.values())
    assert len(choice.fmax_mhz) == netlist.depth
