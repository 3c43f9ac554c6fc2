"""RTL for FPGA and ASIC from trained ternary logic gate networks."""

from importlib.metadata import version as _version

from trilut.encoder import Encoder, Feature, FeatureVectors
from trilut.errors import DataError, FormatError, NetlistError, ToolError, TrilutError
from trilut.format import digest, load, save
from trilut.head import Decisions, Head
from trilut.netlist import Netlist

__version__ = _version("trilut")

__all__ = [
    "DataError",
    "Decisions",
    "Encoder",
    "Feature",
    "FeatureVectors",
    "FormatError",
    "Head",
    "Netlist",
    "NetlistError",
    "ToolError",
    "TrilutError",
    "__version__",
    "digest",
    "load",
    "save",
]
