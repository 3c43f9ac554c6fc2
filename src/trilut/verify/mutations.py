"""Mutations of whole designs: every kind of mistake that a person could make in the Verilog.

A mutation is made in the cells of a design (:mod:`trilut.verify.cells`), not in its text. It
changes what stands at some pins and leaves the ports alone.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from trilut.verify.cells import Bit, Cell, Editor, Pin, Structure
from trilut.verify.kinds import MutationKind

__all__ = ["Mutation", "draw_mutations", "mutations"]


_Change = Callable[[Editor], None]


@dataclass(frozen=True, slots=True)
class Mutation:
    """One mistake.

    Parameters
    ----------
    kind : MutationKind
        What kind of mistake.
    text : str
        What is wrong where, in a few words.
    change : callable
        Makes it.
    """

    kind: MutationKind
    text: str
    change: _Change

    @property
    def is_selectable(self) -> bool:
        """Whether it can be one of many in a design, of which an input chooses one."""
        return self.kind is not MutationKind.DRIVER


def draw_mutations(
    structure: Structure, kinds: Iterable[MutationKind], count: int, rng: np.random.Generator
) -> list[Mutation]:
    """Draw different mutations of each kind; fewer if there are fewer."""
    drawn = []
    for kind in kinds:
        all_of_kind = mutations(structure, kind)
        order = rng.permutation(len(all_of_kind))[:count]
        drawn += [all_of_kind[index] for index in np.sort(order).tolist()]
    return drawn


def mutations(structure: Structure, kind: MutationKind) -> list[Mutation]:
    """Return all mutations of a kind."""
    return [Mutation(kind, text, change) for text, change in _MAKERS[kind](structure)]


_Site = tuple[str, _Change]


def _wires(structure: Structure) -> Iterator[_Site]:
    """Swap neighbours, and wires that are a few apart."""
    for cell in _all_cells(structure):
        for port in sorted(cell.inputs - {"S"}):
            bits = cell.pins[port]
            for first in range(len(bits)):
                for second in (first + 1, first + 2, first + 5):
                    if second < len(bits) and bits[first] != bits[second]:
                        pins = cell.pin(port, first), cell.pin(port, second)
                        yield f"{_where(cell, port, first)} and [{second}] swapped", _swap(*pins)


def _swap(first: Pin, second: Pin) -> _Change:
    def change(editor: Editor) -> None:
        one, other = editor.bit(first), editor.bit(second)
        editor.replace(first, other)
        editor.replace(second, one)

    return change


def _planes(structure: Structure) -> Iterator[_Site]:
    for cell in _instances(structure):
        for index in range(len(cell.pins.get("i", ()))):
            yield f"{_where(cell, 'i', index)} inverted", _inverted(cell.pin("i", index))


def _adders(structure: Structure) -> Iterator[_Site]:
    """Lose the highest bit of every sum, and of every vector within the sums and the argmax."""
    for module in structure.modules:
        if _block(structure, module) not in ("groupsum", "argmax"):
            continue
        wires = structure.wires(module)
        drivers = {
            bit: cell.pin(port, index)
            for cell in structure.cells(module)
            for port, bits in cell.pins.items()
            if port not in cell.inputs
            for index, bit in enumerate(bits)
        }
        for name, bits in wires.items():
            if len(bits) > 1 and bits[-1] in drivers:
                yield f"{module}.{name}[{len(bits) - 1}] lost", _stuck_output(drivers[bits[-1]])


def _thresholds(structure: Structure) -> Iterator[_Site]:
    yield from _other_constants(structure, "encoder")


def _other_constants(structure: Structure, block: str) -> Iterator[_Site]:
    """Compare with a constant that is one higher or lower."""
    for cell in _all_cells(structure):
        if _block(structure, cell.module) != block or cell.kind not in _COMPARISONS:
            continue
        for port in ("A", "B"):
            bits = cell.pins[port]
            if not all(isinstance(bit, str) for bit in bits):
                continue
            value = int("".join(map(str, reversed(bits))), 2)
            for other in (value - 1, value + 1):
                text = f"{_where(cell, port)}: {value} is {other}"
                if 0 <= other < 1 << len(bits):
                    yield text, _constant(cell, port, other)


_COMPARISONS = ("$lt", "$le", "$ge", "$gt", "$eq", "$ne")


def _constant(cell: Cell, port: str, value: int) -> _Change:
    def change(editor: Editor) -> None:
        for index, old in enumerate(cell.pins[port]):
            new = str(value >> index & 1)
            if new != old:
                editor.replace(cell.pin(port, index), new)

    return change


def _ties(structure: Structure) -> Iterator[_Site]:
    """Let the second of two equal scores win."""
    for cell in _all_cells(structure):
        if _block(structure, cell.module) != "argmax":
            continue
        wires = structure.wires(cell.module)
        if cell.kind == "$sub" and _is_read(structure, cell.module, cell.pins["Y"][-1]):
            yield f"{_where(cell, 'Y')}: equal counts as less", _or_equal(cell)
        if "inverted" in wires and cell.is_register and cell.pins["Q"] == wires.get("chosen"):
            text = f"{cell.module}.chosen: a difference of 0 is the second class"
            yield text, _or_zero(cell, wires["inverted"])


def _or_equal(cell: Cell) -> _Change:
    def change(editor: Editor) -> None:
        pin = cell.pin("Y", len(cell.pins["Y"]) - 1)
        is_less = editor.split(pin)
        size = max(len(cell.pins["A"]), len(cell.pins["B"]))
        sides = [
            [
                editor.bit(cell.pin(port, min(index, len(cell.pins[port]) - 1)))
                for index in range(size)
            ]
            for port in "AB"
        ]
        is_equal = editor.equal(cell.module, *sides)
        editor.join(pin, editor.gate(cell.module, "$or", is_less, is_equal))

    return change


def _or_zero(cell: Cell, magnitude: Sequence[Bit]) -> _Change:
    def change(editor: Editor) -> None:
        is_zero = editor.equal(cell.module, magnitude, ["0"])
        pin = cell.pin("D")
        editor.replace(pin, editor.gate(cell.module, "$or", editor.bit(pin), is_zero))

    return change


def _abstentions(structure: Structure) -> Iterator[_Site]:
    yield from _other_constants(structure, "argmax")
    for cell in _all_cells(structure):
        if _block(structure, cell.module) != "argmax":
            continue
        unknown = structure.wires(cell.module).get("unknown")
        if unknown is not None and cell.pins.get("Y") == unknown:
            yield f"{cell.module}.unknown inverted", _inverted_output(cell.pin("Y"))
            for value in "01":
                text = f"{cell.module}.unknown is {value}"
                yield text, _stuck_output(cell.pin("Y"), value)
        if cell.kind in _COMPARISONS:
            yield f"{_where(cell, 'Y')} inverted", _inverted_output(cell.pin("Y"))


def _registers(structure: Structure) -> Iterator[_Site]:
    for cell in _all_cells(structure):
        if not cell.is_register:
            continue
        if not _reads_itself(structure, cell):
            yield f"{_name(cell)} without its register", _bypassed(cell)
        yield f"{_name(cell)} with a second register", _doubled(cell)


def _bypassed(cell: Cell) -> _Change:
    def change(editor: Editor) -> None:
        for index in range(len(cell.pins["Q"])):
            pin = cell.pin("Q", index)
            editor.split(pin)
            editor.join(pin, editor.bit(cell.pin("D", index)))

    return change


def _doubled(cell: Cell) -> _Change:
    def change(editor: Editor) -> None:
        pins = [cell.pin("Q", index) for index in range(len(cell.pins["Q"]))]
        first = [editor.split(pin) for pin in pins]
        for pin, bit in zip(pins, editor.register_like(cell, first), strict=True):
            editor.join(pin, bit)

    return change


def _resets(structure: Structure) -> Iterator[_Site]:
    for cell in _all_cells(structure):
        reset = structure.ports(cell.module, "input").get("rst")
        # Yosys also makes resets of multiplexers with a constant.
        if reset is not None and cell.pins.get("SRST") == reset:
            name = f"Reset of {_name(cell)}"
            yield f"{name} deleted", _stuck(cell.pin("SRST"), str(int(not cell.level("SRST"))))
            yield f"{name} inverted", _inverted(cell.pin("SRST"))
            for index in {0, len(cell.pins["Q"]) - 1}:
                yield f"{name}[{index}] to another value", _other_reset(cell, index)
        elif "rst" in cell.pins:
            yield f"{_where(cell, 'rst')} deleted", _stuck(cell.pin("rst"), "0")
            yield f"{_where(cell, 'rst')} inverted", _inverted(cell.pin("rst"))


def _other_reset(cell: Cell, index: int) -> _Change:
    """Reset a register by what it takes, so that one bit of that can be another one."""

    def change(editor: Editor) -> None:
        module = cell.module
        reset = editor.bit(cell.pin("SRST"))
        inactive = str(int(not cell.level("SRST")))
        if not cell.level("SRST"):
            reset = editor.gate(module, "$not", reset)
        for place, value in enumerate(reversed(cell.parameters["SRST_VALUE"])):
            wrong = str(int(value) ^ int(place == index))
            pin = cell.pin("D", place)
            editor.replace(pin, editor.choose(module, reset, wrong, editor.bit(pin)))
        if "EN" in cell.pins:
            pin = cell.pin("EN")
            active = str(int(cell.level("EN")))
            editor.replace(pin, editor.choose(module, reset, active, editor.bit(pin)))
        editor.replace(cell.pin("SRST"), inactive)

    return change


def _clocks(structure: Structure) -> Iterator[_Site]:
    for cell in _all_cells(structure):
        port = "CLK" if cell.is_register else "clk"
        if port not in cell.pins:
            continue
        pin = cell.pin(port)
        name = f"Clock of {_name(cell)}"
        yield f"{name} inverted", _inverted(pin)
        yield f"{name} constant", _stuck(pin, "0")
        for gate in _single_inputs(structure, cell.module):
            yield f"{name} gated by {gate!r}", _gated(pin, gate)


def _enables(structure: Structure) -> Iterator[_Site]:
    for cell in _all_cells(structure):
        port = "EN" if cell.is_register else "en"
        if port not in cell.pins:
            continue
        pin = cell.pin(port)
        name = f"Enable of {_name(cell)}"
        for value in "01":
            yield f"{name} is {value}", _stuck(pin, value)
        yield f"{name} inverted", _inverted(pin)
        for gate in _single_inputs(structure, cell.module):
            if structure.ports(cell.module, "input")[gate][0] != cell.pins[port][0]:
                yield f"{name} only with {gate!r}", _gated(pin, gate)


def _handshakes(structure: Structure) -> Iterator[_Site]:
    top = structure.top
    for cell in _instances(structure):
        if _block(structure, cell.kind) != "control":
            continue
        inputs = structure.ports(cell.module, "input")
        for gate in ("in_valid", "out_ready", *_data_inputs(structure)):
            if gate not in inputs:
                continue
            for level in (False, True):
                when = f"when {gate}[0] is {int(not level)}"
                if gate != "in_valid":
                    yield f"Vector lost {when}", _gated(cell.pin("in_valid"), gate, level)
                if gate != "out_ready":
                    yield f"Result doubled {when}", _gated(cell.pin("out_ready"), gate, level)
    for port, gate in _OTHER_SIDE.items():
        if port not in structure.ports(top, "output"):
            continue
        pin = Pin(top, "", port)
        for value in "01":
            yield f"{port!r} is {value}", _stuck(pin, value)
        # That a design is ready only if there is something to take would be no mistake.
        yield f"{port!r} only with {gate!r}", _gated(pin, gate)
        yield f"{port!r} a cycle late", _late(pin)
        yield f"{port!r} a cycle longer", _longer(pin)
    for port, bits in structure.ports(top, "output").items():
        if port.startswith(("out_", "m_axis_tdata")) and port != "out_valid":
            for index in {0, len(bits) - 1}:
                pin = Pin(top, "", port, index)
                yield f"{port}[{index}] does not hold", _restless(pin, _sink(structure))


# What each output of a handshake must not wait for.
_OTHER_SIDE = {
    "in_ready": "out_ready",
    "out_valid": "in_valid",
    "s_axis_tready": "m_axis_tready",
    "m_axis_tvalid": "s_axis_tvalid",
}


def _source(structure: Structure) -> str:
    inputs = structure.ports(structure.top, "input")
    return "in_valid" if "in_valid" in inputs else "s_axis_tvalid"


def _sink(structure: Structure) -> str:
    inputs = structure.ports(structure.top, "input")
    return "out_ready" if "out_ready" in inputs else "m_axis_tready"


def _late(pin: Pin) -> _Change:
    def change(editor: Editor) -> None:
        clock = editor.port(pin.module, "clk")
        editor.replace(pin, editor.register(pin.module, clock, editor.bit(pin)))

    return change


def _longer(pin: Pin) -> _Change:
    def change(editor: Editor) -> None:
        now = editor.bit(pin)
        before = editor.register(pin.module, editor.port(pin.module, "clk"), now)
        editor.replace(pin, editor.gate(pin.module, "$or", now, before))

    return change


def _restless(pin: Pin, sink: str) -> _Change:
    """Let a result change while it waits."""

    def change(editor: Editor) -> None:
        module = pin.module
        waits = editor.gate(module, "$not", editor.port(module, sink))
        clock = editor.port(module, "clk")
        waited = editor.register(module, clock, waits)
        wrong = editor.gate(module, "$and", waits, waited)
        editor.replace(pin, editor.gate(module, "$xor", editor.bit(pin), wrong))

    return change


def _second_drivers(structure: Structure) -> Iterator[_Site]:
    top = structure.top
    ports = structure.ports(top, "output").items()
    wires = [(f"{port}[{index}]", bit) for port, bits in ports for index, bit in enumerate(bits)]
    for cell in structure.cells(top):
        for port in sorted(cell.pins.keys() - cell.inputs):
            bits = cell.pins[port]
            wires += [(f"{cell.name}.{port}[{index}]", bits[index]) for index in {0, len(bits) - 1}]
    for name, bit in wires:
        for source in (_source(structure), "0", "1"):
            yield f"{name} driven by {source!r} too", _second_driver(top, bit, source)


def _second_driver(module: str, bit: Bit, source: str) -> _Change:
    def change(editor: Editor) -> None:
        other = source if source in "01" else editor.port(module, source)
        editor.drive(module, bit, other)

    return change


_MAKERS: dict[MutationKind, Callable[[Structure], Iterator[_Site]]] = {
    MutationKind.WIRES: _wires,
    MutationKind.PLANE: _planes,
    MutationKind.ADDER: _adders,
    MutationKind.THRESHOLD: _thresholds,
    MutationKind.TIE: _ties,
    MutationKind.ABSTAIN: _abstentions,
    MutationKind.REGISTER: _registers,
    MutationKind.RESET: _resets,
    MutationKind.CLOCK: _clocks,
    MutationKind.ENABLE: _enables,
    MutationKind.HANDSHAKE: _handshakes,
    MutationKind.DRIVER: _second_drivers,
}


def _inverted(pin: Pin) -> _Change:
    def change(editor: Editor) -> None:
        editor.replace(pin, editor.gate(pin.module, "$not", editor.bit(pin)))

    return change


def _stuck(pin: Pin, value: str) -> _Change:
    def change(editor: Editor) -> None:
        editor.replace(pin, value)

    return change


def _gated(pin: Pin, gate: str, level: bool = True) -> _Change:
    """Let a pin be high only while a port of its module has a level."""

    def change(editor: Editor) -> None:
        condition = editor.port(pin.module, gate)
        if not level:
            condition = editor.gate(pin.module, "$not", condition)
        editor.replace(pin, editor.gate(pin.module, "$and", editor.bit(pin), condition))

    return change


def _inverted_output(pin: Pin) -> _Change:
    def change(editor: Editor) -> None:
        editor.join(pin, editor.gate(pin.module, "$not", editor.split(pin)))

    return change


def _stuck_output(pin: Pin, value: str = "0") -> _Change:
    def change(editor: Editor) -> None:
        editor.split(pin)
        editor.join(pin, value)

    return change


def _all_cells(structure: Structure) -> Iterator[Cell]:
    for module in structure.modules:
        yield from structure.cells(module)


def _instances(structure: Structure) -> Iterator[Cell]:
    """Give the blocks of the design."""
    names = set(structure.modules)
    return (cell for cell in _all_cells(structure) if cell.kind in names)


def _block(structure: Structure, module: str) -> str:
    """Return what a module is called in its design, whether it stands in a wrapper or not."""
    return module.removeprefix(f"{structure.top}_").removeprefix("classifier_")


def _single_inputs(structure: Structure, module: str) -> list[str]:
    """Return the inputs of one bit of a module, but for clock and reset."""
    ports = structure.ports(module, "input").items()
    return [port for port, bits in ports if len(bits) == 1 and port not in ("clk", "rst")]


def _data_inputs(structure: Structure) -> list[str]:
    ports = structure.ports(structure.top, "input")
    return [port for port in ("in_features", "in_trits") if port in ports]


def _is_read(structure: Structure, module: str, bit: Bit) -> bool:
    cells = structure.cells(module)
    return any(bit in cell.pins[port] for cell in cells for port in cell.inputs) or any(
        bit in bits for bits in structure.ports(module, "output").values()
    )


def _reads_itself(structure: Structure, register: Cell) -> bool:
    """Say whether logic leads from a register to itself: without it that would be a loop."""
    drivers = {
        bit: cell
        for cell in structure.cells(register.module)
        for port, bits in cell.pins.items()
        if port not in cell.inputs
        for bit in bits
    }
    seen: set[Bit] = set()
    open_bits = list(register.pins["D"])
    while open_bits:
        bit = open_bits.pop()
        if bit in register.pins["Q"]:
            return True
        cell = drivers.get(bit)
        if bit in seen or cell is None or cell.is_register:
            continue
        seen.add(bit)
        open_bits += [each for port in cell.inputs for each in cell.pins[port]]
    return False


def _where(cell: Cell, port: str, index: int = 0) -> str:
    return f"{_name(cell)}.{port}[{index}]"


def _name(cell: Cell) -> str:
    return f"{cell.module}.{cell.label}"
