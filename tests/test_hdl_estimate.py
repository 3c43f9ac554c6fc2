import dataclasses

import numpy as np
import pytest
from circuits import random_netlist

from trilut import Encoder, Feature, Head, Netlist
from trilut.circuit.monotone import project
from trilut.errors import NetlistError
from trilut.hdl import HardwareOptions, write_verilog
from trilut.hdl.estimate import PARTS, estimate
from trilut.synth import load_target, synthesize


def layered(seed, widths, *, num_features, num_classes, constant=0.0):
    """Return a layered network; a share of its outputs is constant, as after pruning."""
    rng = np.random.default_rng(seed)
    features = tuple(Feature(f"x{index}", bits=8) for index in range(num_features))
    centres = np.tile([64, 128, 192], num_features)
    encoder = Encoder(features, np.repeat(np.arange(num_features), 3), centres - 8, centres + 8)
    below, first, a, b = 0, encoder.num_trits, [], []
    for width in widths:
        a.append(rng.integers(below, first, width))
        b.append(rng.integers(below, first, width))
        below, first = first, first + width
    table = rng.choice([-1, 0, 1], (sum(widths), 9))
    pruned = sum(widths) - 1 - np.arange(round(constant * widths[-1]))
    table[pruned] = table[pruned][:, :1]
    head = Head(tuple(map(str, range(num_classes))), (widths[-1] // num_classes,) * num_classes)
    return Netlist.of_gates(
        encoder.num_trits,
        table,
        np.concatenate(a),
        np.concatenate(b),
        np.arange(below, first),
        encoder=encoder,
        head=head,
    )


def monotone(seed, widths, *, num_features, num_classes):
    """Return a layered network that can say what is certain, and prediction sets."""
    net = layered(seed, widths, num_features=num_features, num_classes=num_classes)
    head = dataclasses.replace(net.head, set_margin=2)
    return dataclasses.replace(net, table=project(net.table), head=head)


def mapped(netlist, part, directory, **ports):
    target = dataclasses.replace(load_target(part), place_and_route=None)
    design = write_verilog(netlist, directory, HardwareOptions(sums=target.sums, **ports))
    return synthesize(design.path, design.top, target, out=directory, blocks=False).cells


# None of these had a part in fitting the constants.
@pytest.mark.synth
@pytest.mark.parametrize(
    ("part", "netlist"),
    [
        ("ecp5", layered(0, [60, 60, 40], num_features=12, num_classes=2)),
        ("ecp5", layered(1, [80], num_features=12, num_classes=4, constant=0.5)),
        pytest.param(
            "xc7", layered(2, [60], num_features=12, num_classes=3), marks=pytest.mark.slow
        ),
    ],
)
def test_estimate_is_within_15_percent_of_yosys(part, netlist, tmp_path):
    guess, truth = estimate(netlist, part), mapped(netlist, part, tmp_path)
    luts = truth.lut6 if part == "xc7" else truth.lut4_equivalents
    assert guess.lut == pytest.approx(luts, rel=0.15)
    assert guess.ff == pytest.approx(truth.ff, rel=0.15)


@pytest.mark.synth
@pytest.mark.parametrize(
    ("part", "num_classes"),
    [("ecp5", 3), *(pytest.param(part, 2, marks=pytest.mark.slow) for part in PARTS)],
)
def test_estimate_counts_the_ports_of_trust(part, num_classes, tmp_path):
    netlist = monotone(6, [60], num_features=12, num_classes=num_classes)
    ports = {"certain": True, "prediction_set": True}
    plain, guess = estimate(netlist, part), estimate(netlist, part, **ports)
    truth = mapped(netlist, part, tmp_path, **ports)
    luts = truth.lut6 if part == "xc7" else truth.lut4_equivalents
    assert plain.lut < guess.lut == pytest.approx(luts, rel=0.15)
    assert plain.ff < guess.ff == pytest.approx(truth.ff, rel=0.15)


def test_ports_of_trust_need_a_netlist_that_has_them():
    netlist = layered(3, [20], num_features=4, num_classes=2)
    message = r"^Netlist 'net' has no margin for prediction sets; trilut calibrate finds one$"
    with pytest.raises(NetlistError, match=message):
        estimate(netlist, prediction_set=True)


@pytest.mark.parametrize("ports", [{}, {"certain": True, "prediction_set": True}])
@pytest.mark.parametrize("part", PARTS)
def test_latency_is_that_of_the_design(part, ports, tmp_path):
    netlist = monotone(3, [30, 20, 20], num_features=4, num_classes=4)
    options = HardwareOptions(pipeline=1, sums=PARTS[part].sums, **ports)
    design = write_verilog(netlist, tmp_path, options)
    assert estimate(netlist, part, pipeline=1, **ports).latency == design.interface.latency


def test_constant_outputs_take_no_place_in_sums():
    plain = estimate(layered(4, [80], num_features=8, num_classes=4))
    pruned = estimate(layered(4, [80], num_features=8, num_classes=4, constant=0.5))
    assert pruned.blocks["groupsum"].lut < 0.6 * plain.blocks["groupsum"].lut
    assert pruned.blocks["layers"].lut < 0.6 * plain.blocks["layers"].lut


def test_gate_of_one_layer_takes_a_table_a_plane():
    # Both planes of a sum of two trits, cut off at one, read all four bits.
    table = np.clip(np.add.outer([-1, 0, 1], [-1, 0, 1]), -1, 1).ravel()
    netlist = Netlist.of_gates(2, [table], [0], [1], [2])
    guess = estimate(netlist)
    assert dataclasses.astuple(guess.blocks["layers"]) == (2, 2, 1)
    assert dataclasses.astuple(guess.blocks["encoder"]) == (0, 4, 0)
    assert list(guess.blocks) == ["encoder", "layers", "control"]


def test_totals_are_sums_of_the_blocks():
    guess = estimate(layered(5, [40, 20], num_features=6, num_classes=2), "ice40")
    assert list(guess.blocks) == ["encoder", "layers", "groupsum", "argmax", "control"]
    assert guess.lut == sum(cost.lut for cost in guess.blocks.values())
    assert guess.ff == sum(cost.ff for cost in guess.blocks.values())
    assert guess.to_dict()["blocks"]["argmax"]["lut"] == guess.blocks["argmax"].lut
    assert guess.text.startswith(f"about {guess.lut} LUT4 (encoder ")


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("valence", [2, 3])
def test_any_netlist_has_an_estimate(seed, valence):
    netlist = random_netlist(
        seed,
        num_inputs=8,
        num_gates=30,
        num_outputs=12,
        valence=valence,
        num_classes=seed if seed > 1 else 0,
        with_encoder=seed % 2 == 1,
    )
    for part in PARTS:
        guess = estimate(netlist, part)
        assert all(min(dataclasses.astuple(cost)) >= 0 for cost in guess.blocks.values())


def test_unknown_part():
    netlist = random_netlist(0, num_inputs=2, num_gates=1, num_outputs=1)
    with pytest.raises(
        ValueError, match=r"^There is no estimate for 'z80', only for ecp5, ice40, xc7$"
    ):
        estimate(netlist, "z80")
