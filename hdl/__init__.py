"""Hardware: netlists as Amaranth components, and Verilog out."""

from trilut.hdl.argmax import Argmax
from trilut.hdl.axi import AxiClassifier, BeatLoader
from trilut.hdl.classifier import Classifier, InputKind, StreamClassifier
from trilut.hdl.control import Control
from trilut.hdl.encoder import FeatureEncoder
from trilut.hdl.gate import Gate
from trilut.hdl.layer import Layer
from trilut.hdl.sums.groupsum import GroupSum
from trilut.hdl.verilog import DesignFormat, VerilogDesign, write_logic, write_verilog

__all__ = [
    "Argmax",
    "AxiClassifier",
    "BeatLoader",
    "Classifier",
    "Control",
    "DesignFormat",
    "FeatureEncoder",
    "Gate",
    "GroupSum",
    "InputKind",
    "Layer",
    "StreamClassifier",
    "VerilogDesign",
    "write_logic",
    "write_verilog",
]
