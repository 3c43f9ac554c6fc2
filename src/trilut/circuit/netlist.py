"""The netlist: a hardened circuit, and the plain evaluator that says what it computes."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from trilut.arrays import is_frame
from trilut.circuit.arrays import frozen
from trilut.circuit.encoder import Encoder
from trilut.circuit.gates import truth_values
from trilut.circuit.head import Decisions, Head
from trilut.circuit.limits import MAX_INPUTS, check_name
from trilut.errors import DataError, NetlistError
from trilut.extras import explained

if TYPE_CHECKING:
    from trilut.hdl import HardwareOptions
    from trilut.sim.bench.rtl import RtlModel
    from trilut.verify import Verification

__all__ = ["Netlist"]


@dataclass(frozen=True, eq=False, repr=False)
class Netlist:
    """A combinational circuit of two-input gates, from features to a decision.

    Nets are numbered: the inputs are 0 … ``num_inputs``−1, and gate k drives net
    ``num_inputs`` + k. A gate reads only nets below its own: gates stand in evaluation order.

    Parameters
    ----------
    num_inputs : int
        Number of input nets.
    table : int8 array [gate, row]
        The truth table of each gate: ``valence²`` values in the order of
        :mod:`trilut.circuit.gates`.
    a, b : int64 array [gate]
        The nets that each gate reads.
    outputs : int64 array [output]
        The nets that leave the circuit.
    valence : int
        3, or 2 for a binary circuit whose nets carry only −1 and +1.
    encoder : Encoder, optional
        Makes the inputs from features. Without it the inputs are trits.
    head : Head, optional
        Makes a decision from the outputs. Without it the outputs are trits.
    name : str
        A title for reports and the Verilog header; any text.
    provenance : mapping
        Where the circuit comes from; any JSON value, no meaning to the circuit.

    Raises
    ------
    NetlistError
        If a gate or an output refers to a net that does not exist at that point, if a table holds
        something other than truth values, if encoder or head do not fit, or if the name is too
        long.
    """

    num_inputs: int
    table: NDArray[np.int8]
    a: NDArray[np.int64]
    b: NDArray[np.int64]
    outputs: NDArray[np.int64]
    valence: int = 3
    encoder: Encoder | None = None
    head: Head | None = None
    name: str = "net"
    provenance: Mapping[str, object] = field(default_factory=dict)

    def __post_init__(self) -> None:
        check_name(self.name, "the netlist")
        if self.valence not in (2, 3):
            raise NetlistError(f"Netlist has valence {self.valence}, expected 2 or 3")
        if self.num_inputs < 1:
            raise NetlistError(f"Netlist has {self.num_inputs} inputs, expected at least 1")
        if self.num_inputs > MAX_INPUTS:
            raise NetlistError(
                f"Netlist has {self.num_inputs} inputs, expected at most {MAX_INPUTS}"
            )
        self._freeze("table", np.int8, (-1, self.valence**2))
        for name in ("a", "b", "outputs"):
            self._freeze(name, np.int64, (-1,))
        self._check_gates()
        self._check_outputs()
        self._check_encoder()
        self._check_head()

    def _freeze(
        self, name: str, dtype: type[np.int8] | type[np.int64], shape: tuple[int, ...]
    ) -> None:
        array = frozen(getattr(self, name), dtype, f"Netlist {name!r}").reshape(shape)
        object.__setattr__(self, name, array)

    def _check_gates(self) -> None:
        if not len(self.a) == len(self.b) == self.num_gates:
            raise NetlistError(
                f"Netlist has {self.num_gates} tables but {len(self.a)} inputs 'a' "
                f"and {len(self.b)} inputs 'b'"
            )
        legal = np.isin(self.table, truth_values(self.valence)).all(axis=1)
        for gate in np.flatnonzero(~legal):
            raise NetlistError(
                f"Gate {gate} has the table {self.table[gate].tolist()}, expected values "
                f"{', '.join(f'{value:+.0f}' for value in truth_values(self.valence))}"
            )
        own = self.num_inputs + np.arange(self.num_gates)
        for port, source in (("a", self.a), ("b", self.b)):
            for gate in np.flatnonzero((source < 0) | (source >= own)):
                raise NetlistError(
                    f"Gate {gate} input {port!r} reads net {source[gate]}, "
                    f"but only nets below {own[gate]} are driven before it"
                )

    def _check_outputs(self) -> None:
        if len(self.outputs) == 0:
            raise NetlistError("Netlist has no outputs, expected at least 1")
        for output in np.flatnonzero((self.outputs < 0) | (self.outputs >= self.num_nets)):
            raise NetlistError(
                f"Output {output} is net {self.outputs[output]}, but there are {self.num_nets} nets"
            )

    def _check_encoder(self) -> None:
        if self.encoder is None:
            return
        if self.encoder.num_trits != self.num_inputs:
            raise NetlistError(
                f"Encoder makes {self.encoder.num_trits} trits, "
                f"but the netlist has {self.num_inputs} inputs"
            )
        if self.valence == 2 and not self.encoder.is_binary:
            raise NetlistError(
                "A netlist of valence 2 needs an encoder with equal low and high thresholds "
                "and missing features as -1"
            )

    def _check_head(self) -> None:
        if self.head is not None and self.head.num_outputs != len(self.outputs):
            raise NetlistError(
                f"Head reads {self.head.num_outputs} outputs, "
                f"but the netlist has {len(self.outputs)}"
            )

    @property
    def num_gates(self) -> int:
        """Number of gates."""
        return len(self.table)

    @property
    def num_nets(self) -> int:
        """Number of nets: inputs and gates."""
        return self.num_inputs + self.num_gates

    @cached_property
    def levels(self) -> NDArray[np.int64]:
        """Level of each net: 0 for an input, one more than its deepest parent for a gate."""
        levels = [0] * self.num_nets
        sources = zip(self.a.tolist(), self.b.tolist(), strict=True)
        for net, (a, b) in enumerate(sources, start=self.num_inputs):
            levels[net] = max(levels[a], levels[b]) + 1
        result = np.array(levels, dtype=np.int64)
        result.flags.writeable = False
        return result

    @property
    def depth(self) -> int:
        """Largest level of any net."""
        return int(self.levels.max())

    def values(self, trits: ArrayLike) -> NDArray[np.int8]:
        """Evaluate every net on input trits [sample, input]; return [sample, net].

        Raises
        ------
        DataError
            If the inputs have another shape or hold something other than truth values.
        """
        inputs = self.checked_inputs(trits)
        values = np.empty((self.num_nets, len(inputs)), dtype=np.int8)
        values[: self.num_inputs] = inputs.T
        # The distance between truth values is 1 for trits and 2 for bits.
        step = 2 // (self.valence - 1)
        for gate, table in enumerate(self.table):
            a, b = values[self.a[gate]], values[self.b[gate]]
            row = (a + 1) // step * self.valence + (b + 1) // step
            values[self.num_inputs + gate] = table[row]
        return values.T

    def evaluate(self, trits: ArrayLike) -> NDArray[np.int8]:
        """Evaluate the circuit on input trits [sample, input]; return its outputs.

        This is the meaning of a netlist. Every other implementation is compared with it.
        """
        return self.values(trits)[:, self.outputs]

    def classify(self, trits: ArrayLike, *, certain: bool = False) -> Decisions:
        """Evaluate the circuit on input trits and decide with the head.

        What is ``certain`` means something in a circuit of information-monotone gates only; see
        :func:`trilut.circuit.monotone.check_monotone`, which :func:`trilut.sim.classify` asks.
        """
        if self.head is None:
            raise NetlistError(f"Netlist {self.name!r} has no head, so it cannot classify")
        outputs = self.evaluate(trits)
        unknowns = self.head.unknowns(outputs) if certain else None
        return self.head.decide(self.head.scores(outputs), unknowns)

    def predict(self, samples: Any) -> NDArray[np.int64]:
        """Return the class of each sample, by the fastest engine; see :mod:`trilut.sim`.

        Samples are feature values [sample, feature], NaN where one is missing; a data frame, whose
        columns are found by name; or trits [sample, input] if there is no encoder.
        """
        return self.decide(samples).chosen

    def scores(self, samples: Any) -> NDArray[np.int64]:
        """Return the scores [sample, class] of samples, as :meth:`predict` takes them."""
        return self.decide(samples).scores

    def decide(self, samples: Any) -> Decisions:
        """Return all that the circuit says of samples, as :meth:`predict` takes them."""
        # The simulator and what knows of data build on this module.
        from trilut.sim import classify

        if is_frame(samples):
            from trilut.measure.matching import frame_features

            samples = frame_features(self, samples)
        return classify(self, samples)

    def save(self, path: str | Path) -> None:
        """Write the netlist to a file, compressed if the name ends in ``.gz``; see :func:`load`."""
        # The file format builds on this module.
        from trilut.circuit.format import save

        save(self, path)

    def __repr__(self) -> str:
        from_features = self.encoder is not None and f", {len(self.encoder.features)} features"
        to_classes = self.head is not None and f", {len(self.head.classes)} classes"
        return (
            f"<Netlist {self.name!r}: {self.num_gates} gates in {self.depth} levels, "
            f"{self.num_inputs} inputs, {len(self.outputs)} outputs"
            f"{from_features or ''}{to_classes or ''}>"
        )

    def rtl(self, options: "HardwareOptions | None" = None) -> "RtlModel":
        """Write the Verilog of the netlist, compile it, and return it as a callable.

        Its ``predict`` and ``classify`` take what :meth:`predict` takes, and the hardware answers.
        By default the design gives scores, which ``classify`` needs.

        Raises
        ------
        ToolError
            If Yosys, Verilator or a C++ compiler is missing or fails.
        """
        # The hardware and the simulator build on this module.
        with explained():
            from trilut.hdl import HardwareOptions, write_verilog
            from trilut.sim import build_rtl

        options = options or HardwareOptions(scores=self.head is not None)
        with TemporaryDirectory() as directory:
            return build_rtl(self, write_verilog(self, Path(directory), options))

    def verify(self, **settings: Any) -> "Verification":
        """Build the hardware and check that it computes this; see :func:`trilut.verify.verify`."""
        with explained():
            from trilut.verify import verify

        return verify(self, **settings)

    def checked_inputs(self, trits: ArrayLike) -> NDArray[np.int8]:
        """Return input trits [sample, input] as an array.

        Raises
        ------
        DataError
            If they have another shape or hold something other than truth values.
        """
        inputs = np.asarray(trits)
        if inputs.ndim != 2 or inputs.shape[1] != self.num_inputs:
            raise DataError(
                f"Inputs have shape {inputs.shape}, expected (samples, {self.num_inputs})"
            )
        if not np.isin(inputs, truth_values(self.valence)).all():
            legal = ", ".join(f"{value:+.0f}" for value in truth_values(self.valence))
            raise DataError(f"Inputs hold other values than {legal}")
        return inputs.astype(np.int8)
