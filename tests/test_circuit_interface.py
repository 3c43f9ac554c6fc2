import json

import numpy as np
import pytest
from circuits import random_netlist

from trilut import Encoder, Feature, FeatureVectors, Head
from trilut.circuit.bits import bits_to_text
from trilut.circuit.interface import (
    Axi,
    Direction,
    Field,
    FieldKind,
    HeadOutput,
    InputKind,
    Interface,
    Port,
    input_ports,
    margin_port,
    output_ports,
)

FEATURES = (Feature("x", bits=4), Feature("y", bits=3, signed=True))
ENCODER = Encoder(FEATURES, [0, 1], [5, -1], [9, 2])
HEAD = Head(("a", "b", "c"), (9, 9, 9))


def some_interface(*, axi=None, scores=True):
    ports = input_ports(ENCODER, 2), output_ports(HEAD, 27, [HeadOutput.SCORES] if scores else [])
    return Interface(*ports, latency=7, margin=margin_port(HEAD), axi=axi)


def test_widths_follow_from_features_and_head():
    interface = some_interface()
    widths = {port.name: port.width for port in (*interface.inputs, *interface.outputs)}
    # Classes 0…2, margins 0…18, scores −9…9.
    assert widths == {
        "in_features": 7,
        "in_present": 2,
        "out_class": 2,
        "out_margin": 5,
        "out_unknown": 1,
        "out_scores": 15,
    }
    assert interface.margin.width == 5
    assert interface.input_kind is InputKind.FEATURES
    assert interface.has_port("out_scores")
    assert not some_interface(scores=False).has_port("out_scores")


def test_ports_of_plain_streams():
    assert [(port.name, port.direction.value) for port in some_interface(scores=False).ports] == [
        ("clk", "input"),
        ("rst", "input"),
        ("in_valid", "input"),
        ("in_ready", "output"),
        ("in_features", "input"),
        ("in_present", "input"),
        ("abstain_margin", "input"),
        ("out_valid", "output"),
        ("out_ready", "input"),
        ("out_class", "output"),
        ("out_margin", "output"),
        ("out_unknown", "output"),
    ]


@pytest.mark.parametrize(("presence_bits", "num_beats"), [(True, 2), (False, 1)])
def test_packets_and_results(presence_bits, num_beats):
    interface = some_interface(axi=Axi(8, presence_bits))
    places = {"in_features": range(7), "in_present": range(7, 9)}
    if not presence_bits:
        del places["in_present"]
    assert interface.packet == places
    assert interface.num_beats == num_beats
    assert interface.result == {
        "out_class": range(2),
        "out_margin": range(8, 13),
        "out_unknown": range(16, 17),
        "out_scores": range(24, 39),
    }
    assert interface.result_bits == 40
    widths = {port.name: port.width for port in interface.ports}
    assert (widths["s_axis_tdata"], widths["m_axis_tdata"]) == (8, 40)


def test_vectors_of_features_as_bits():
    vectors = FeatureVectors(np.array([[9, -2]]), np.array([[True, False]]))
    packed = some_interface().pack_vectors(vectors)
    assert {name: bits_to_text(bits) for name, bits in packed.items()} == {
        "in_features": ["1101001"],
        "in_present": ["01"],
    }


def test_results_come_back_as_they_were():
    netlist = random_netlist(0, num_inputs=4, num_gates=20, num_outputs=27, num_classes=3)
    trits = np.random.default_rng(0).integers(-1, 2, (50, 4)).astype(np.int8)
    results = netlist.classify(trits)
    interface = Interface(
        input_ports(None, 4), output_ports(netlist.head, 27, [HeadOutput.SCORES]), latency=1
    )
    assert interface.input_kind is InputKind.TRITS
    values = interface.unpack_results(interface.pack_results(results))
    assert np.array_equal(values["out_scores"], results.scores)
    assert np.array_equal(values["out_class"][:, 0], results.chosen)
    assert np.array_equal(values["out_margin"][:, 0], results.margin)
    assert np.array_equal(values["out_unknown"][:, 0], results.unknown)


def test_output_trits_come_back_as_they_were():
    interface = Interface(input_ports(None, 2), output_ports(None, 3), latency=0)
    outputs = np.array([[-1, 0, 1], [1, 1, -1]], dtype=np.int8)
    values = interface.unpack_results(interface.pack_results(outputs))
    assert np.array_equal(values["out_trits"], outputs)


@pytest.mark.parametrize("axi", [None, Axi(32), Axi(8, presence_bits=False)])
def test_interface_survives_json(axi):
    interface = some_interface(axi=axi)
    assert Interface.from_dict(json.loads(json.dumps(interface.to_dict()))) == interface


def test_a_value_that_does_not_fit():
    port = Port("in_features", Direction.INPUT, (Field(3, FieldKind.SIGNED),))
    message = "Value 4 of vector 0 does not fit the 3 signed bits of field 0"
    with pytest.raises(ValueError, match=f"^{message}$"):
        port.pack(np.array([[4]]))
