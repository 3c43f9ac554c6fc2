"""Hardware: netlists as Amaranth components, and Verilog out."""

from typing import TYPE_CHECKING

from trilut.circuit.interface import InputKind
from trilut.hdl.design import Design
from trilut.hdl.logic import write_logic
from trilut.hdl.options import DEFAULT_TARGET, PORTABLE, Fabric, HardwareOptions
from trilut.hdl.reading import read_design
from trilut.hdl.verilog import DesignFormat, write_verilog
from trilut.lazy import lazy_names

if TYPE_CHECKING:
    from trilut.hdl.argmax import Argmax
    from trilut.hdl.axi import AxiClassifier, BeatLoader
    from trilut.hdl.classifier import Classifier, StreamClassifier
    from trilut.hdl.control import Control
    from trilut.hdl.encoder import FeatureEncoder
    from trilut.hdl.gate import Gate
    from trilut.hdl.layer import Layer
    from trilut.hdl.sums.groupsum import GroupSum

__all__ = [
    "DEFAULT_TARGET",
    "PORTABLE",
    "Argmax",
    "AxiClassifier",
    "BeatLoader",
    "Classifier",
    "Control",
    "Design",
    "DesignFormat",
    "Fabric",
    "FeatureEncoder",
    "Gate",
    "GroupSum",
    "HardwareOptions",
    "InputKind",
    "Layer",
    "StreamClassifier",
    "read_design",
    "write_logic",
    "write_verilog",
]

# What needs Amaranth waits until somebody asks for it.
if not TYPE_CHECKING:
    __getattr__ = lazy_names(
        __name__,
        {
            "Argmax": "trilut.hdl.argmax",
            "AxiClassifier": "trilut.hdl.axi",
            "BeatLoader": "trilut.hdl.axi",
            "Classifier": "trilut.hdl.classifier",
            "Control": "trilut.hdl.control",
            "FeatureEncoder": "trilut.hdl.encoder",
            "Gate": "trilut.hdl.gate",
            "GroupSum": "trilut.hdl.sums.groupsum",
            "Layer": "trilut.hdl.layer",
            "StreamClassifier": "trilut.hdl.classifier",
        },
    )
