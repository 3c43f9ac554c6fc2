"""A block that keeps a state of its own: its registers by name, and what they hold next."""

from collections.abc import Container, Mapping, Sequence

from trilut.verify.proof.aig import Aig, Literal
from trilut.verify.proof.design import Bit, BitNetlist, PipelineError, ShapeError
from trilut.verify.proof.pipeline import Pipeline

__all__ = ["Machine", "Step"]


class Machine:
    """A block whose registers are known by their names, and need not move together.

    Parameters
    ----------
    block : str
        What to call it.
    netlist : BitNetlist
        The block.
    names : sequence of str
        Its registers.
    unread : container of Bit
        Bits of them that nothing reads; they need not be registers any more.

    Raises
    ------
    PipelineError
        If it lacks one of them, or has others.
    """

    def __init__(
        self,
        block: str,
        netlist: BitNetlist,
        names: Sequence[str],
        unread: Container[Bit] = (),
    ):
        self._block = block
        self.netlist = netlist
        named: set[Bit] = set()
        for name in names:
            if name not in netlist.nets:
                raise ShapeError(f"Block {block!r} has no register {name!r}")
            for bit in netlist.nets[name]:
                if bit not in netlist.registers and bit in unread:
                    continue
                if bit not in netlist.registers:
                    raise PipelineError(f"{netlist.describe(bit)} is no register")
                if bit in named:
                    raise PipelineError(f"{netlist.describe(bit)} is two registers of {block!r}")
                named.add(bit)
        for bit in netlist.registers:
            if bit not in named:
                raise PipelineError(
                    f"{netlist.describe(bit)} is a register that {block!r} should not have"
                )

    def step(self, aig: Aig, known: Mapping[Bit, Literal]) -> "Step":
        """Return one cycle, given the registers and the inputs.

        Raises
        ------
        PipelineError
            If a register is not given: it would pass for a wire.
        """
        for bit in self.netlist.registers:
            if bit not in known:
                raise PipelineError(
                    f"{self.netlist.describe(bit)} is a register that {self._block!r} should not "
                    "have"
                )
        return Step(aig, self.netlist, known)

    def first(self, aig: Aig, names: Sequence[str]) -> dict[str, list[Literal]] | None:
        """Return what registers hold at first, free where that is not said; None if it never is."""
        nets, initial = self.netlist.nets, self.netlist.initial
        if not any(bit in initial for name in names for bit in nets[name]):
            return None
        return {
            name: [int(initial[bit]) if bit in initial else aig.input() for bit in nets[name]]
            for name in names
        }


class Step:
    """One cycle of a machine.

    Parameters
    ----------
    aig : Aig
        The graph to build in.
    netlist : BitNetlist
        The block.
    known : mapping
        What its registers and its inputs hold.
    """

    def __init__(self, aig: Aig, netlist: BitNetlist, known: Mapping[Bit, Literal]):
        self._aig = aig
        self._netlist = netlist
        self._pipeline = Pipeline(aig, netlist, known)

    def now(self, bit: Bit) -> Literal:
        """Return what a bit is in this cycle."""
        return self._pipeline.literal(bit)

    def after(self, bit: Bit) -> Literal:
        """Return what a register holds in the next cycle."""
        register = self._netlist.registers[bit]
        enable = self.now(register.enable) ^ (not register.enable_level)
        return self._aig.choose(enable, self.now(register.d), self.now(bit))
