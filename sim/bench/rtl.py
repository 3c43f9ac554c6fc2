"""The Verilog of a netlist as a Python callable: Verilated, loaded, and fed with batches."""

import ctypes
import shutil
import tempfile
import weakref
from collections.abc import Mapping
from importlib import resources
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike, NDArray

from trilut.circuit.bits import pack_integers
from trilut.circuit.encoder import FeatureVectors
from trilut.circuit.head import Decisions
from trilut.circuit.interface import InputKind, Interface, Vectors, VerilogModule
from trilut.circuit.netlist import Netlist
from trilut.circuit.trit import Bits
from trilut.errors import NetlistError, ToolError
from trilut.files import make_directory, write_atomically
from trilut.identifier import check_identifier
from trilut.sim.bench.simulator import Verilator, find_simulator
from trilut.sim.engines.dispatch import checked_samples

__all__ = ["RtlModel", "build_rtl"]

# Vectors that are packed at a time: as bits they take eight times the memory.
_BATCH_BITS = 1 << 28
# No design waits so long with every stream ready.
_PATIENCE = 1 << 16
_SELECT_BITS = 32


def build_rtl(
    netlist: Netlist,
    design: VerilogModule,
    *,
    out: str | Path | None = None,
    timeout: float = 1800.0,
    has_select: bool = False,
) -> "RtlModel":
    """Compile the Verilog of a netlist with Verilator, and load it.

    Parameters
    ----------
    netlist : Netlist
        What the design is made from. It says what samples mean; its gates are not looked at.
    design : VerilogModule
        The design, with a stream of vectors in and one of results out.
    out : path, optional
        Directory for the build. Without one the build goes when the model goes.
    timeout : float
        Seconds that the build may take.
    has_select : bool
        Whether the design has an input ``select`` of 32 bits, by which a campaign chooses a fault.

    Raises
    ------
    ToolError
        If a tool is missing or fails, or the design has other ports than its interface says.
    NetlistError
        If the top module is not a plain Verilog identifier.
    FormatError
        If the Verilog cannot be read, or the directory written.
    """
    out = None if out is None else Path(out)
    check_identifier(design.top)
    simulator = find_simulator("verilator")
    assert isinstance(simulator, Verilator)
    # It stays when a tool fails: the message names a log in it.
    directory = Path(tempfile.mkdtemp(prefix="trilut-")) if out is None else make_directory(out)
    source = resources.files("trilut.sim.bench").joinpath("rtl.cpp").read_text()
    write_atomically(directory / "rtl.cpp", source)
    ports = _payload(design.interface, has_select=has_select)
    write_atomically(directory / "ports.h", _header(*ports))
    simulator.translate(design.path, design.top, directory, models=design.models, timeout=timeout)
    library = simulator.build_library(directory, "rtl.cpp", timeout=timeout)
    model = RtlModel(netlist, library.absolute(), design.interface, has_select=has_select)
    if out is None:
        weakref.finalize(model, shutil.rmtree, directory, ignore_errors=True)
    return model


def _payload(interface: Interface, *, has_select: bool) -> tuple[dict[str, int], dict[str, int]]:
    """Return the widths of the payload ports, inputs and outputs, in the order of their words."""
    inputs = {port.name: port.width for port in interface.inputs}
    if has_select:
        inputs["select"] = _SELECT_BITS
    return inputs, {port.name: port.width for port in interface.outputs}


def _header(inputs: Mapping[str, int], outputs: Mapping[str, int]) -> str:
    """Return the C++ text that names the payload ports and refuses ports of another size."""
    lines = []
    for side, ports in (("INPUTS", inputs), ("OUTPUTS", outputs)):
        uses = " ".join(f"use({name})" for name in ports)
        lines.append(f"#define FOR_{side}(use) {uses}")
        lines += [
            f'static_assert(sizeof(Vtop::{name}) == {_num_bytes(width)}, "port {name}");'
            for name, width in ports.items()
        ]
    return "\n".join([*lines, ""])


def _num_bytes(width: int) -> int:
    """Return the bytes that Verilator gives a port."""
    return next((bits // 8 for bits in (8, 16, 32, 64) if width <= bits), -(-width // 32) * 4)


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

    def __init__(
        self, netlist: Netlist, library: Path, interface: Interface, *, has_select: bool = False
    ) -> None:
        self._netlist = netlist
        self._interface = interface
        self._has_select = has_select
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
        if not self._interface.has_port("out_margin"):
            raise NetlistError("The design has no port 'out_margin'; build it with the margin")
        if not self._interface.has_port("out_scores"):
            raise NetlistError("The design has no port 'out_scores'; build it with scores")
        results = self.results(samples)
        certain, members = results.get("certain"), results.get("set")
        return Decisions(
            results["scores"],
            results["class"][:, 0],
            results["margin"][:, 0],
            results["unknown"][:, 0].astype(np.bool_),
            None if certain is None else certain[:, 0].astype(np.bool_),
            None if members is None else members.astype(np.bool_),
        )

    def predict(self, samples: FeatureVectors | ArrayLike) -> NDArray[np.int64]:
        """Return the class of each sample."""
        return self.results(samples)["class"][:, 0]

    def evaluate(self, trits: ArrayLike) -> NDArray[np.int8]:
        """Return the outputs [sample, output] of a design without a head."""
        return self.results(trits)["trits"].astype(np.int8)

    def results(self, samples: FeatureVectors | ArrayLike) -> dict[str, NDArray[np.int64]]:
        """Return what came out of each port, by its name without ``out_``, [sample, field]."""
        vectors = checked_samples(self._netlist, samples)
        size = max(64, _BATCH_BITS // sum(port.width for port in self._interface.inputs))
        starts = range(0, max(1, len(vectors)), size)
        parts = [self._batch(vectors[start : start + size]) for start in starts]
        return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}

    def _batch(self, vectors: FeatureVectors | NDArray[np.generic]) -> dict[str, NDArray[np.int64]]:
        packed = list(self._interface.pack_vectors(self._as_driven(vectors)).values())
        if self._has_select:
            chosen = [[self.select]] * len(vectors)
            packed.append(pack_integers(chosen, [_SELECT_BITS], signed=False))
        words = np.concatenate([_to_words(bits) for bits in packed], axis=1)
        outputs = self._interface.outputs
        widths = [-(-port.width // 32) for port in outputs]
        out = np.empty((len(words), sum(widths)), dtype=np.uint32)
        cycles = self._functions.trilut_run(
            self._model, words.ctypes.data, out.ctypes.data, len(words), _PATIENCE
        )
        if cycles < 0:
            raise ToolError("The design hangs: it neither takes a vector nor gives a result")
        self.cycles += cycles
        columns = np.split(out, np.cumsum(widths)[:-1], axis=1)
        return {
            port.name.removeprefix("out_"): port.unpack(_to_bits(part, port.width))
            for port, part in zip(outputs, columns, strict=True)
        }

    def _as_driven(self, vectors: FeatureVectors | NDArray[np.generic]) -> Vectors:
        """Return samples as what the design takes: features or trits."""
        encoder = self._netlist.encoder
        if encoder is None:
            assert not isinstance(vectors, FeatureVectors)
            return self._netlist.checked_inputs(vectors)
        quantized = vectors if isinstance(vectors, FeatureVectors) else encoder.quantize(vectors)
        if self._interface.input_kind is InputKind.TRITS:
            return encoder.trits(quantized)
        # A missing feature may have any value, also one that does not fit its bits.
        values = np.where(quantized.valid, quantized.values, 0)
        return FeatureVectors(values, quantized.valid)


def _to_words(bits: Bits) -> NDArray[np.uint32]:
    padded = np.zeros((len(bits), -(-bits.shape[1] // 32) * 32), dtype=np.uint8)
    padded[:, : bits.shape[1]] = bits
    return np.packbits(padded, axis=1, bitorder="little").view("<u4").astype(np.uint32)


def _to_bits(words: NDArray[np.uint32], width: int) -> Bits:
    octets = np.ascontiguousarray(words, dtype="<u4").view(np.uint8)
    return np.unpackbits(octets, axis=1, bitorder="little")[:, :width]
