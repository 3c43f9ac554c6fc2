"""The Verilog of a netlist as a Python callable: Verilated, loaded, and fed with batches."""

import ctypes
import re
import shutil
import tempfile
import weakref
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import resources
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike, NDArray

from trilut.circuit.encoder import FeatureVectors
from trilut.circuit.head import Decisions
from trilut.circuit.netlist import Netlist
from trilut.errors import NetlistError, ToolError
from trilut.files import make_directory, write_atomically
from trilut.identifier import check_identifier
from trilut.sim.bench.packing import (
    Bits,
    pack_features,
    pack_integers,
    pack_trits,
    unpack_integers,
    unpack_trits,
)
from trilut.sim.bench.simulator import Verilator, find_simulator
from trilut.sim.engines.dispatch import checked_samples

__all__ = ["RtlModel", "build_rtl"]

# Vectors that are packed at a time: as bits they take eight times the memory.
_BATCH_BITS = 1 << 28
# No design waits so long with every stream ready.
_PATIENCE = 1 << 16


def build_rtl(
    net: Netlist, verilog: Path, top: str, *, out: Path | None = None, timeout: float = 1800.0
) -> "RtlModel":
    """Compile the Verilog of a netlist with Verilator, and load it.

    Parameters
    ----------
    net : Netlist
        What the design is made from. It says what the ports mean; its gates are not looked at.
    verilog : Path
        The design, with the streams that :class:`trilut.hdl.Classifier` describes.
    top : str
        Its top module.
    out : Path, optional
        Directory for the build. Without one the build goes when the model goes.
    timeout : float
        Seconds that the build may take.

    Raises
    ------
    ToolError
        If a tool is missing or fails, or the design has other ports.
    NetlistError
        If ``top`` is not a plain Verilog identifier.
    FormatError
        If the Verilog cannot be read, or the directory written.
    """
    check_identifier(top)
    simulator = find_simulator("verilator")
    assert isinstance(simulator, Verilator)
    # It stays when a tool fails: the message names a log in it.
    directory = Path(tempfile.mkdtemp(prefix="trilut-")) if out is None else make_directory(out)
    source = resources.files("trilut.sim.bench").joinpath("rtl.cpp").read_text()
    write_atomically(directory / "rtl.cpp", source)
    simulator.translate(verilog, top, directory, timeout=timeout)
    ports = _Ports.read(directory / "Vtop.h", net)
    write_atomically(directory / "ports.h", ports.header())
    library = simulator.build_library(directory, "rtl.cpp", timeout=timeout)
    model = RtlModel(net, library.absolute(), ports)
    if out is None:
        weakref.finalize(model, shutil.rmtree, directory, ignore_errors=True)
    return model


@dataclass(frozen=True, slots=True)
class _Ports:
    """Widths of the payload ports of a design, inputs and outputs, in the order of their words."""

    inputs: Mapping[str, int]
    outputs: Mapping[str, int]

    @classmethod
    def read(cls, header: Path, net: Netlist) -> "_Ports":
        """Read the widths from the class that Verilator wrote."""
        macro = r"VL_(?:IN|OUT)\w*\(&(\w+),(\d+),0"
        widths = {name: int(high) + 1 for name, high in re.findall(macro, header.read_text())}
        inputs = ["in_features", "in_present"] if "in_features" in widths else ["in_trits"]
        outputs = ["out_trits"] if net.head is None else ["out_class", "out_margin", "out_unknown"]
        if net.head is not None and "out_scores" in widths:
            outputs.append("out_scores")
        if "select" in widths:
            inputs.append("select")
        streams = ["clk", "rst", "in_valid", "in_ready", "out_valid", "out_ready"]
        for name in (*streams, *inputs, *outputs):
            if name not in widths:
                raise ToolError(f"The design has no port {name!r}")
        return cls({n: widths[n] for n in inputs}, {n: widths[n] for n in outputs})

    def header(self) -> str:
        uses = {"INPUTS": self.inputs, "OUTPUTS": self.outputs}
        return "".join(
            f"#define FOR_{side}(use) {' '.join(f'use({name})' for name in names)}\n"
            for side, names in uses.items()
        )


class RtlModel:
    """A Verilated design that takes samples as :mod:`trilut.sim` does.

    It drives one vector a cycle and never lets the design wait; :func:`trilut.sim.verify_rtl` is
    the one that tries to break it. One thread may use it at a time.

    Attributes
    ----------
    cycles : int
        Clock cycles simulated so far.
    select : int
        The value of the input ``select``, if the design has one: campaigns of faults choose with
        it what is wrong.
    """

    def __init__(self, net: Netlist, library: Path, ports: _Ports) -> None:
        self._net = net
        self._ports = ports
        self._functions = ctypes.CDLL(str(library))
        self._functions.trilut_make.restype = ctypes.c_void_p
        self._functions.trilut_free.argtypes = [ctypes.c_void_p]
        self._functions.trilut_run.restype = ctypes.c_int64
        self._functions.trilut_run.argtypes = [ctypes.c_void_p] * 3 + [ctypes.c_int64] * 2
        self._model = self._functions.trilut_make()
        self.cycles = 0
        self.select = 0
        weakref.finalize(self, self._functions.trilut_free, self._model)

    def classify(self, samples: FeatureVectors | ArrayLike) -> Decisions:
        """Return the decisions of the design, as :func:`trilut.sim.classify` gives them.

        Raises
        ------
        DataError
            If the samples do not fit the netlist.
        NetlistError
            If the design gives no scores.
        ToolError
            If the design hangs.
        """
        if "out_scores" not in self._ports.outputs:
            raise NetlistError("The design has no port 'out_scores'; build it with scores")
        results = self.results(samples)
        return Decisions(
            results["scores"],
            results["class"][:, 0],
            results["margin"][:, 0],
            results["unknown"][:, 0].astype(np.bool_),
        )

    def predict(self, samples: FeatureVectors | ArrayLike) -> NDArray[np.int64]:
        """Return the class of each sample."""
        return self.results(samples)["class"][:, 0]

    def evaluate(self, trits: ArrayLike) -> NDArray[np.int8]:
        """Return the outputs [sample, output] of a design without a head."""
        return self.results(trits)["trits"].astype(np.int8)

    def results(self, samples: FeatureVectors | ArrayLike) -> dict[str, NDArray[np.int64]]:
        """Return what came out of each port, by its name without ``out_``, [sample, field]."""
        vectors = checked_samples(self._net, samples)
        size = max(64, _BATCH_BITS // sum(self._ports.inputs.values()))
        starts = range(0, max(1, len(vectors)), size)
        parts = [self._batch(vectors[start : start + size]) for start in starts]
        return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}

    def _batch(self, vectors: FeatureVectors | NDArray[np.generic]) -> dict[str, NDArray[np.int64]]:
        packed = self._pack(vectors)
        if width := self._ports.inputs.get("select"):
            packed.append(pack_integers([[self.select]] * len(vectors), [width], signed=False))
        words = np.concatenate([_to_words(bits) for bits in packed], axis=1)
        widths = [-(-width // 32) for width in self._ports.outputs.values()]
        out = np.empty((len(words), sum(widths)), dtype=np.uint32)
        cycles = self._functions.trilut_run(
            self._model, words.ctypes.data, out.ctypes.data, len(words), _PATIENCE
        )
        if cycles < 0:
            raise ToolError("The design hangs: it neither takes a vector nor gives a result")
        self.cycles += cycles
        columns = np.split(out, np.cumsum(widths)[:-1], axis=1)
        return {
            name.removeprefix("out_"): self._unpack(name, _to_bits(part, width))
            for (name, width), part in zip(self._ports.outputs.items(), columns, strict=True)
        }

    def _pack(self, vectors: FeatureVectors | NDArray[np.generic]) -> list[Bits]:
        encoder = self._net.encoder
        if "in_trits" in self._ports.inputs:
            if encoder is None:
                assert not isinstance(vectors, FeatureVectors)
                return [pack_trits(self._net.checked_inputs(vectors))]
            quantized = self._quantized(vectors)
            return [pack_trits(encoder.trits(quantized))]
        assert encoder is not None
        quantized = self._quantized(vectors)
        # A missing feature may have any value, also one that does not fit its bits.
        values = np.where(quantized.valid, quantized.values, 0)
        return list(pack_features(encoder, FeatureVectors(values, quantized.valid)))

    def _quantized(self, vectors: FeatureVectors | NDArray[np.generic]) -> FeatureVectors:
        assert self._net.encoder is not None
        return (
            vectors if isinstance(vectors, FeatureVectors) else self._net.encoder.quantize(vectors)
        )

    def _unpack(self, name: str, bits: Bits) -> NDArray[np.int64]:
        if name == "out_trits":
            return unpack_trits(bits).astype(np.int64)
        count = 1
        if name == "out_scores":
            assert self._net.head is not None
            count = len(self._net.head.classes)
        widths = [bits.shape[1] // count] * count
        return unpack_integers(bits, widths, signed=name == "out_scores")


def _to_words(bits: Bits) -> NDArray[np.uint32]:
    padded = np.zeros((len(bits), -(-bits.shape[1] // 32) * 32), dtype=np.uint8)
    padded[:, : bits.shape[1]] = bits
    return np.packbits(padded, axis=1, bitorder="little").view("<u4").astype(np.uint32)


def _to_bits(words: NDArray[np.uint32], width: int) -> Bits:
    octets = np.ascontiguousarray(words, dtype="<u4").view(np.uint8)
    return np.unpackbits(octets, axis=1, bitorder="little")[:, :width]
