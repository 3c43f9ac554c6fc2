"""RTL for FPGA and ASIC from trained ternary logic gate networks."""

from importlib.metadata import version as _version
from typing import TYPE_CHECKING

from trilut.circuit.encoder import Encoder, Feature, FeatureVectors
from trilut.circuit.format import digest, load, save
from trilut.circuit.head import Decisions, Head
from trilut.circuit.kinds import Kind
from trilut.circuit.netlist import Netlist
from trilut.circuit.sequential import SequentialNetlist
from trilut.errors import DataError, FormatError, NetlistError, ToolError, TrilutError
from trilut.lazy import lazy_names as _lazy_names

if TYPE_CHECKING:
    from trilut.app.classifier import TrilutClassifier
    from trilut.data import Dataset, load_dataset
    from trilut.hdl import write_verilog
    from trilut.training import train

__version__ = _version("trilut")

__all__ = [
    "DataError",
    "Dataset",
    "Decisions",
    "Encoder",
    "Feature",
    "FeatureVectors",
    "FormatError",
    "Head",
    "Kind",
    "Netlist",
    "NetlistError",
    "SequentialNetlist",
    "ToolError",
    "TrilutClassifier",
    "TrilutError",
    "__version__",
    "digest",
    "load",
    "load_dataset",
    "save",
    "train",
    "write_verilog",
]

# The stages need JAX, Amaranth or scikit-learn, which take seconds to import.
if not TYPE_CHECKING:
    __getattr__ = _lazy_names(
        __name__,
        {
            "Dataset": "trilut.data",
            "TrilutClassifier": "trilut.app.classifier",
            "load_dataset": "trilut.data",
            "train": "trilut.training",
            "write_verilog": "trilut.hdl",
        },
    )

    def __dir__() -> list[str]:
        return sorted({*globals(), *__all__})
