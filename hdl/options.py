"""The options of the hardware: one value on the command line, in the header and in the report."""

import dataclasses
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from trilut.circuit.interface import HeadOutput, InputKind
from trilut.circuit.monotone import check_monotone
from trilut.circuit.netlist import Netlist
from trilut.circuit.sequential import Circuit
from trilut.errors import NetlistError
from trilut.hdl.sums.plan import SUM_TARGETS

__all__ = ["DEFAULT_TARGET", "MAX_BEAT_BITS", "PORTABLE", "Fabric", "HardwareOptions"]

DEFAULT_TARGET = "ecp5"
"""The part that a design is made for, unless another is named; its sums have the same name."""

PORTABLE = "generic"
"""Sums of any logic, which every tool reads; named as a target, no part at all."""

MAX_BEAT_BITS = 1024
"""The widest beats: other cores have no wider ones either."""

_DEFAULT_PIPELINE = 2
# From so many layers between registers on, the encoder counts as one more of them.
_DEEP_PIPELINE = 3


class Fabric(StrEnum):
    """What the layers are made of; both compute the same."""

    TEXT = "text"
    """Verilog text: microseconds a gate, with the net and the gate's name on every line."""
    AMARANTH = "amaranth"
    """Every gate an Amaranth component, and a module of its own: milliseconds a gate."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HardwareOptions:
    """What shapes the hardware of a netlist.

    Parameters
    ----------
    top : str
        Name of the top module, and of the file.
    input_kind : InputKind, optional
        What enters; by default features if the netlist has an encoder, and trits otherwise.
    pipeline : int
        Number of layers between registers.
    sums : str, optional
        What adds the trits: one of :data:`~trilut.hdl.sums.plan.SUM_TARGETS`. By default what the
        part has for it that the design is made for; see :meth:`for_part`.
    axi_beat_bits : int, optional
        Put AXI4-Streams at both ends, with input beats of so many bits, a multiple of 8. Their
        loader holds the vector, so trits enter the layers from there, and from a ``pipeline`` of 3
        on so do features, through the encoder.
    presence_bits : bool
        Whether vectors say which features are there, by a port or, with AXI4-Streams, in packets.
    scores : bool
        Whether the scores come out too. Without them, two classes take one sum and not two.
    certain : bool
        Whether a port says that no value of a missing feature could change the class. The netlist
        must be information-monotone.
    prediction_set : bool
        Whether a port has the prediction set, a bit for each class. The head must have a margin
        for it.
    margin : bool
        Whether the margin comes out. Without it, a circuit that abstains on a tie alone has an
        argmax of a third.
    margin_port : bool
        Whether a port sets the abstention margin, and not the netlist.
    optimized : bool
        Whether to leave out what makes no difference to the outputs; see
        :mod:`trilut.circuit.optimize`.
    fabric : Fabric
        What the layers are made of.
    logic_only : bool
        Whether to write the gates alone, as a combinational module with trits in and out. Of the
        other options only ``top`` and ``optimized`` shape it.

    Raises
    ------
    NetlistError
        If an option is out of its range, or two of them do not go together.
    """

    top: str = "trilut_top"
    input_kind: InputKind | None = None
    pipeline: int = _DEFAULT_PIPELINE
    sums: str | None = None
    axi_beat_bits: int | None = None
    presence_bits: bool = True
    scores: bool = False
    certain: bool = False
    prediction_set: bool = False
    margin: bool = True
    margin_port: bool = False
    optimized: bool = True
    fabric: Fabric = Fabric.TEXT
    logic_only: bool = False

    def __post_init__(self) -> None:
        if self.pipeline < 1:
            raise NetlistError(f"There is a register every 1 or more layers, not {self.pipeline}")
        if self.sums not in (None, *SUM_TARGETS):
            names = ", ".join(map(repr, SUM_TARGETS))
            raise NetlistError(f"Sums are made of {self.sums!r}, expected one of {names}")
        if self.axi_beat_bits is not None:
            _check_beats(self.axi_beat_bits)
        if self.logic_only and self.flags:
            raise NetlistError(
                f"With --logic-only only the gates are written, without {', '.join(self.flags)}; "
                "leave out one or the other"
            )

    @property
    def flags(self) -> list[str]:
        """What is not at its default of that which is around the gates, as on the command line."""
        flags = {
            "--input features": self.input_kind is InputKind.FEATURES,
            "--pipeline": self.pipeline != _DEFAULT_PIPELINE,
            "--axi": self.axi_beat_bits is not None,
            "--no-missing": not self.presence_bits,
            "--sums": self.sums is not None,
            "--fabric": self.fabric is not Fabric.TEXT,
            "--scores": self.scores,
            "--certain": self.certain,
            "--prediction-set": self.prediction_set,
            "--no-margin": not self.margin,
            "--margin-port": self.margin_port,
        }
        return [flag for flag, is_given in flags.items() if is_given]

    def for_part(self, sums: str) -> "HardwareOptions":
        """Return the options with the sums of a part, if nobody has said what they are made of."""
        if self.sums is not None or self.logic_only:
            return self
        return dataclasses.replace(self, sums=sums)

    def for_netlist(self, netlist: Circuit) -> "HardwareOptions":
        """Return the options with what a netlist decides: what enters, if nobody has said it."""
        if self.input_kind is not None:
            return self
        has_trits = self.logic_only or netlist.encoder is None
        kind = InputKind.TRITS if has_trits else InputKind.FEATURES
        return dataclasses.replace(self, input_kind=kind)

    @property
    def head_outputs(self) -> tuple[HeadOutput, ...]:
        """What comes out beside class, margin and abstention."""
        asked = {
            HeadOutput.SCORES: self.scores,
            HeadOutput.CERTAIN: self.certain,
            HeadOutput.SET: self.prediction_set,
        }
        return tuple(output for output, is_asked in asked.items() if is_asked)

    def check_head(self, netlist: Circuit) -> None:
        """Check that a netlist can give what is asked for.

        Raises
        ------
        NetlistError
            If it cannot.
        """
        if netlist.head is None and (self.certain or self.prediction_set):
            raise NetlistError(
                f"Netlist {netlist.name!r} has no head, which alone can tell what is certain, or a "
                "prediction set"
            )
        if self.certain and isinstance(netlist, Netlist):
            check_monotone(netlist)
        if self.prediction_set and netlist.head is not None and netlist.head.set_margin is None:
            raise NetlistError(
                f"Netlist {netlist.name!r} has no margin for prediction sets; "
                "trilut calibrate finds one"
            )

    @property
    def has_input_register(self) -> bool:
        """Whether a register stands before the layers; a loader may take its place."""
        if self.axi_beat_bits is None:
            return True
        return self.input_kind is InputKind.FEATURES and self.pipeline < _DEEP_PIPELINE

    @property
    def has_lut_cells(self) -> bool:
        """Whether registered layers are made of the part's own cells; see :mod:`.fabric`."""
        return self.pipeline == 1 and self.sums == "ecp5"

    @property
    def command_line(self) -> str:
        """The options as ``trilut verilog`` takes them."""
        return " ".join(f"--{option}" for option in self._options())

    def _options(self) -> Iterator[str]:
        yield f"top {self.top}"
        if self.logic_only:
            yield "logic-only"
        else:
            yield from self._around_the_gates()
        if not self.optimized:
            yield "no-optimize"
        if self.fabric is not Fabric.TEXT:
            yield f"fabric {self.fabric}"

    def _around_the_gates(self) -> Iterator[str]:
        if self.input_kind is not None:
            yield f"input {self.input_kind}"
        yield f"pipeline {self.pipeline}"
        if self.sums is not None:
            yield f"sums {self.sums}"
        if self.axi_beat_bits is not None:
            yield f"axi {self.axi_beat_bits}"
        flags = {
            "no-missing": not self.presence_bits,
            "scores": self.scores,
            "certain": self.certain,
            "prediction-set": self.prediction_set,
            "no-margin": not self.margin,
            "margin-port": self.margin_port,
        }
        yield from (flag for flag, is_given in flags.items() if is_given)


def _check_beats(bits: int) -> None:
    if bits < 8 or bits % 8:
        raise NetlistError(f"Beats of an AXI stream are whole bytes, not {bits} bits")
    if bits > MAX_BEAT_BITS:
        raise NetlistError(f"Beats of an AXI stream have up to {MAX_BEAT_BITS} bits, not {bits}")
