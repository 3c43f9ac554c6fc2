import re

import numpy as np
import pytest
from circuits import random_netlist, verilog_module

from trilut import DataError, NetlistError, ToolError, sim
from trilut.circuit.head import Decisions
from trilut.hdl import HardwareOptions, InputKind, write_verilog

FIELDS = ("scores", "chosen", "margin", "unknown")


def assert_equal_decisions(got: Decisions, expected: Decisions) -> None:
    for field in FIELDS:
        np.testing.assert_array_equal(getattr(got, field), getattr(expected, field), field)


@pytest.fixture(scope="module")
def net():
    return random_netlist(
        3, num_inputs=40, num_gates=80, num_outputs=35, num_classes=3, with_encoder=True
    )


@pytest.fixture(scope="module")
def model(net):
    return net.rtl()


def samples(net, count, seed=0):
    rng = np.random.default_rng(seed)
    values = 8 * rng.normal(size=(count, len(net.encoder.features)))
    return np.where(rng.random(values.shape) < 0.1, np.nan, values)


def test_hardware_answers_as_the_netlist(net, model):
    values = samples(net, 3000)
    assert_equal_decisions(model.classify(values), sim.classify(net, values, engine="reference"))


def test_feature_vectors_go_in_as_they_are(net, model):
    vectors = net.encoder.quantize(samples(net, 100, seed=1))
    np.testing.assert_array_equal(model.predict(vectors), sim.predict(net, vectors))


def test_takes_one_vector_a_cycle(net, model):
    values = samples(net, 500)
    before = model.cycles
    model.predict(values)
    alone = model.cycles
    model.predict(values[:1])
    latency = model.cycles - alone
    assert model.cycles - before == 500 + 2 * latency - 1


def test_no_samples_give_no_results(net, model):
    assert model.predict(samples(net, 0)).shape == (0,)


def test_samples_of_another_shape_are_refused(net, model):
    with pytest.raises(DataError, match="shape"):
        model.predict(np.zeros((3, 1)))


@pytest.mark.parametrize("valence", [2, 3])
def test_trits_in_and_out(tmp_path, valence):
    net = random_netlist(5, num_inputs=70, num_gates=60, num_outputs=40, valence=valence)
    model = net.rtl(HardwareOptions(pipeline=1))
    values = [-1, 1] if valence == 2 else [-1, 0, 1]
    trits = np.random.default_rng(0).choice(values, (300, 70)).astype(np.int8)
    np.testing.assert_array_equal(model.evaluate(trits), net.evaluate(trits))


def test_another_design_is_refused(net, tmp_path):
    path = tmp_path / "other.v"
    path.write_text(
        "module other(input clk, output reg q);\nalways @(posedge clk) q <= ~q;\nendmodule"
    )
    design = verilog_module(net, path, "other", 1)
    with pytest.raises(ToolError, match=r"^c\+\+ failed with status 1 in step 'compile'.*Vtop"):
        sim.build_rtl(net, design, out=tmp_path / "build")


def test_a_design_without_scores_can_predict_but_not_classify(tmp_path):
    net = random_netlist(
        1, num_inputs=6, num_gates=12, num_outputs=6, num_classes=2, with_encoder=True
    )
    design = write_verilog(net, tmp_path, HardwareOptions(input_kind=InputKind.TRITS))
    model = sim.build_rtl(net, design, out=tmp_path / "build")
    values = samples(net, 50)
    np.testing.assert_array_equal(model.predict(values), sim.predict(net, values))
    message = "The design has no port 'out_scores'; build it with scores"
    with pytest.raises(NetlistError, match=f"^{re.escape(message)}$"):
        model.classify(values)


def test_a_design_that_hangs_is_reported(tmp_path):
    net = random_netlist(1, num_inputs=2, num_gates=1, num_outputs=1)
    path = tmp_path / "stuck.v"
    path.write_text(
        "module stuck(input clk, rst, in_valid, out_ready, input [3:0] in_trits,\n"
        "  output in_ready, out_valid, output [1:0] out_trits);\n"
        "assign in_ready = 0; assign out_valid = 0; assign out_trits = in_trits[1:0];\n"
        "endmodule"
    )
    model = sim.build_rtl(net, verilog_module(net, path, "stuck", 1), out=tmp_path / "build")
    message = "The design hangs: it neither takes a vector nor gives a result"
    with pytest.raises(ToolError, match=f"^{message}$"):
        model.evaluate(np.zeros((1, 2)))
