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
from trilut.circuit.head import Decisions, Head
from trilut.circuit.kinds import MAX_WIRES, NO_NET, PORTS, Kind, levels_of, wires_of
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
    """A combinational circuit of gates, from features to a decision.

    Nets are numbered: the inputs are 0 … ``num_inputs``−1, and gate k drives net
    ``num_inputs`` + k. A gate reads only nets below its own: gates stand in evaluation order.

    A net carries a bit, a trit or, at an output, a score; see :class:`Kind`. A gate is a table with
    a row for each combination of the values of its inputs, the last input changing fastest. Most
    circuits have two-input gates of trits alone: :meth:`of_gates` makes them, and :attr:`a`,
    :attr:`b` and :attr:`valence` are theirs.

    Parameters
    ----------
    num_inputs : int
        Number of input nets.
    table : int8 array [gate, row]
        The truth table of each gate; 0 in the rows that a smaller gate does not have.
    sources : int64 array [gate, slot]
        The nets that each gate reads; −1 in the last slots of a gate that reads fewer.
    outputs : int64 array [output]
        The nets that leave the circuit.
    kinds : int8 array [net]
        What each net carries.
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
        If a gate or an output refers to a net that does not exist at that point, if a gate reads
        more than six wires, if a table holds something other than values of its net, if encoder or
        head do not fit, or if the name is too long.
    """

    num_inputs: int
    table: NDArray[np.int8]
    sources: NDArray[np.int64]
    outputs: NDArray[np.int64]
    kinds: NDArray[np.int8]
    encoder: Encoder | None = None
    head: Head | None = None
    name: str = "net"
    provenance: Mapping[str, object] = field(default_factory=dict)

    @classmethod
    def of_gates(
        cls,
        num_inputs: int,
        table: ArrayLike,
        a: ArrayLike,
        b: ArrayLike,
        outputs: ArrayLike,
        valence: int = 3,
        **rest: Any,
    ) -> "Netlist":
        """Return the netlist of two-input gates that read the nets ``a`` and ``b``.

        Parameters
        ----------
        table : array [gate, row]
            ``valence²`` values of each gate in the order of :mod:`trilut.circuit.gates`.
        valence : int
            3, or 2 for a binary circuit whose nets carry only −1 and +1.
        rest
            Encoder, head, name and provenance.
        """
        if valence not in (Kind.BIT, Kind.TRIT):
            raise NetlistError(f"Netlist has valence {valence}, expected 2 or 3")
        table = frozen(table, np.int8, "Netlist 'table'").reshape(-1, valence**2)
        left = frozen(a, np.int64, "Netlist 'a'").reshape(-1)
        right = frozen(b, np.int64, "Netlist 'b'").reshape(-1)
        if not len(left) == len(right) == len(table):
            raise NetlistError(
                f"Netlist has {len(table)} tables but {len(left)} inputs 'a' "
                f"and {len(right)} inputs 'b'"
            )
        sources = np.stack([left, right], axis=1)
        for gate, slot in np.argwhere(sources == NO_NET):
            raise NetlistError(_reads_ahead(gate, slot, NO_NET, num_inputs + gate))
        _check_num_inputs(num_inputs)
        kinds = np.full(num_inputs + len(table), valence, dtype=np.int8)
        return cls(num_inputs, table, sources, outputs, kinds, **rest)  # type: ignore[arg-type]

    def __post_init__(self) -> None:
        check_name(self.name, "the netlist")
        _check_num_inputs(self.num_inputs)
        self._freeze("table", np.int8)
        self._freeze("sources", np.int64)
        self._freeze("outputs", np.int64)
        self._freeze("kinds", np.int8)
        self._check_shapes()
        self._check_sources()
        self._check_tables()
        self._check_outputs()
        self._check_encoder()
        self._check_head()

    def _freeze(self, name: str, dtype: type[np.int8] | type[np.int64]) -> None:
        array = frozen(getattr(self, name), dtype, f"Netlist {name!r}")
        object.__setattr__(self, name, array)

    def _check_shapes(self) -> None:
        if self.table.ndim != 2 or self.sources.ndim != 2 or self.outputs.ndim != 1:
            raise NetlistError(
                f"Netlist has tables of shape {self.table.shape}, sources of {self.sources.shape} "
                f"and outputs of {self.outputs.shape}, expected 2, 2 and 1 dimensions"
            )
        if len(self.sources) != self.num_gates:
            raise NetlistError(
                f"Netlist has {self.num_gates} tables but sources of {len(self.sources)} gates"
            )
        if self.kinds.shape != (self.num_nets,):
            raise NetlistError(
                f"Netlist has kinds of shape {self.kinds.shape}, expected ({self.num_nets},)"
            )
        # As many inputs as there may be take no more than a few bytes each.
        for net in np.flatnonzero(~np.logical_or.reduce([self.kinds == kind for kind in Kind])):
            raise NetlistError(
                f"Net {net} is of kind {self.kinds[net]}, "
                f"expected {', '.join(f'{kind} ({kind.name.lower()})' for kind in Kind)}"
            )
        for net in np.flatnonzero(self.kinds[: self.num_inputs] == Kind.SCORE):
            raise NetlistError(f"Input {net} is a score, expected a bit or a trit")

    def _check_sources(self) -> None:
        own = self.num_inputs + np.arange(self.num_gates)
        is_read = self.sources != NO_NET
        if self.sources.shape[1] > MAX_WIRES:
            raise NetlistError(
                f"Netlist has gates of {self.sources.shape[1]} inputs, expected at most {MAX_WIRES}"
            )
        for slot in range(self.sources.shape[1]):
            source = self.sources[:, slot]
            for gate in np.flatnonzero(is_read[:, slot] & ((source < 0) | (source >= own))):
                raise NetlistError(_reads_ahead(gate, slot, source[gate], own[gate]))
            for gate in np.flatnonzero(is_read[:, slot] & (self.kinds[source] == Kind.SCORE)):
                raise NetlistError(
                    f"Gate {gate} input {PORTS[slot]!r} reads net {source[gate]}, which is a score"
                )
        for gate in np.flatnonzero((is_read[:, 1:] & ~is_read[:, :-1]).any(axis=1)):
            raise NetlistError(f"Gate {gate} has an empty slot before its last input")
        num_wires = wires_of(np.append(self.kinds, np.int8(1))[self.sources]).sum(axis=1)
        for gate in np.flatnonzero((num_wires < 1) | (num_wires > MAX_WIRES)):
            raise NetlistError(
                f"Gate {gate} reads {num_wires[gate]} wires, expected 1…{MAX_WIRES} "
                "(a bit is one, a trit two)"
            )

    def _check_tables(self) -> None:
        rows = self.num_rows
        if rows.max(initial=0) > self.table.shape[1]:
            raise NetlistError(
                f"Netlist has tables of {self.table.shape[1]} rows, expected {rows.max()}"
            )
        has_row = np.arange(self.table.shape[1]) < rows[:, None]
        kinds = self.kinds[self.num_inputs :]
        for kind in Kind:
            legal = np.isin(self.table, kind.values) | ~has_row
            for gate in np.flatnonzero(~legal.all(axis=1) & (kinds == kind)):
                raise NetlistError(
                    f"Gate {gate} has the table {self.table[gate, : rows[gate]].tolist()}, "
                    f"expected values {kind.text}"
                )
        for gate in np.flatnonzero((self.table.astype(bool) & ~has_row).any(axis=1)):
            raise NetlistError(f"Gate {gate} has values beyond the {rows[gate]} rows of its table")

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
        is_bit = self.kinds[: self.num_inputs] == Kind.BIT
        for net in np.flatnonzero(is_bit & ~self.encoder.is_bit):
            raise NetlistError(
                f"Input {net} is a bit, so its encoder needs equal low and high thresholds and "
                "missing features as -1"
            )

    def _check_head(self) -> None:
        kinds = self.kinds[self.outputs]
        if self.head is None:
            for output in np.flatnonzero(kinds == Kind.SCORE):
                raise NetlistError(f"Output {output} is a score, but there is no head to add it to")
            return
        if self.head.num_outputs != len(self.outputs):
            raise NetlistError(
                f"Head reads {self.head.num_outputs} outputs, "
                f"but the netlist has {len(self.outputs)}"
            )
        gates = self.outputs[kinds == Kind.SCORE] - self.num_inputs
        if np.abs(self.table[gates].astype(np.int64)).max(initial=1) > self.head.limit:
            raise NetlistError(
                f"Outputs have scores beyond -{self.head.limit}…{self.head.limit}, "
                "the limit of the head"
            )

    @property
    def is_two_input(self) -> bool:
        """Whether all gates have two inputs, and all nets are trits, or all are bits."""
        first = self.kinds[0]
        return (
            self.sources.shape[1] == 2
            and bool(np.all(self.kinds == first))
            and bool(np.all(self.sources != NO_NET))
        )

    @property
    def valence(self) -> int:
        """The number of values of all nets of a circuit of two-input gates: 3, or 2.

        Raises
        ------
        NetlistError
            If it is another circuit.
        """
        self._check_two_input()
        return int(self.kinds[0])

    @property
    def a(self) -> NDArray[np.int64]:
        """The nets that two-input gates read first; see :attr:`valence`."""
        self._check_two_input()
        return self.sources[:, 0]

    @property
    def b(self) -> NDArray[np.int64]:
        """The nets that two-input gates read second; see :attr:`valence`."""
        self._check_two_input()
        return self.sources[:, 1]

    def _check_two_input(self) -> None:
        if not self.is_two_input:
            raise NetlistError(
                f"Netlist {self.name!r} has other gates than two-input gates of one valence, "
                "and this is for these alone"
            )

    @cached_property
    def num_rows(self) -> NDArray[np.int64]:
        """Number of rows of each gate's table: of combinations of its inputs' values."""
        rows = np.append(self.kinds, np.int8(1))[self.sources].prod(axis=1, dtype=np.int64)
        return np.asarray(rows)

    def reads(self, gate: int) -> tuple[int, ...]:
        """Return the nets that a gate reads, slot by slot."""
        return tuple(net for net in self.sources[gate].tolist() if net != NO_NET)

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
        # A slot without a net reads the last place, which is no net's.
        levels = [0] * (self.num_nets + 1)
        for net, sources in enumerate(self.sources.tolist(), start=self.num_inputs):
            levels[net] = max(levels[source] for source in sources) + 1
        result = np.array(levels[:-1], dtype=np.int64)
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
        for gate, table in enumerate(self.table):
            row = np.zeros(len(inputs), dtype=np.int64)
            for net in self.sources[gate]:
                if net != NO_NET:
                    row = row * self.kinds[net] + levels_of(values[net], self.kinds[net])
            values[self.num_inputs + gate] = table[row]
        return values.T

    @property
    def input_kinds(self) -> NDArray[np.int8]:
        """What each input is."""
        return self.kinds[: self.num_inputs]

    @property
    def num_outputs(self) -> int:
        """Number of outputs."""
        return len(self.outputs)

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
        for kind in (Kind.BIT, Kind.TRIT):
            of_kind = self.kinds[: self.num_inputs] == kind
            if not np.isin(inputs[:, of_kind], kind.values).all():
                raise DataError(f"Inputs hold other values than {kind.text}")
        return inputs.astype(np.int8)


def _check_num_inputs(num_inputs: int) -> None:
    if num_inputs < 1:
        raise NetlistError(f"Netlist has {num_inputs} inputs, expected at least 1")
    if num_inputs > MAX_INPUTS:
        raise NetlistError(f"Netlist has {num_inputs} inputs, expected at most {MAX_INPUTS}")


def _reads_ahead(gate: Any, slot: Any, source: Any, own: Any) -> str:
    return (
        f"Gate {gate} input {PORTS[slot]!r} reads net {source}, "
        f"but only nets below {own} are driven before it"
    )
