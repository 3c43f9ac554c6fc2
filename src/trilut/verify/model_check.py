"""Two forms of a design side by side in Yosys's own model checker, which knows of no netlist."""

import re
from pathlib import Path

from trilut.circuit.interface import InputKind, Interface, VerilogModule
from trilut.errors import ToolError
from trilut.files import read_bytes
from trilut.tools import find_tool, run

__all__ = ["differs"]

# Beyond the latency: enough for results to wait, and for another reset.
_MORE_CYCLES = 8
_HANDSHAKE = ("in_ready", "out_valid", "s_axis_tready", "m_axis_tvalid", "framing_error")
_FORMS = ("a", "b")


def differs(
    design: VerilogModule, other: Path, work: Path, *, clocks: bool = False, timeout: float = 600.0
) -> bool:
    """Look for a run after a reset in which another form of a design shows something else.

    All runs of a few cycles more than the latency are looked at, with all inputs and more resets.
    What result ports carry while there is no result does not count.

    Parameters
    ----------
    other : Path
        The other form, with the same names of modules.
    work : Path
        Directory for scratch files.
    clocks : bool
        Whether the clocks of the two may differ; it takes twice as many steps. Otherwise every
        register moves once a cycle.
    timeout : float
        Seconds that the solver may take.

    Raises
    ------
    ToolError
        If Yosys is missing, cannot read one of the two, or takes too long.
    """
    texts = [read_bytes(path).decode(errors="replace") for path in (design.path, other)]
    renamed = [
        re.sub(rf"\b({design.top}\w*)\b", rf"\1__{form}", text)
        for form, text in zip(_FORMS, texts, strict=True)
    ]
    (work / "miter.v").write_text("\n".join([*renamed, _miter(design, clocks), design.models]))
    (work / "miter.ys").write_text(_script(design, clocks))
    log = work / "miter.log"
    try:
        run(
            find_tool("yosys"),
            ["-q", "-s", "miter.ys"],
            step="miter",
            log=log,
            cwd=work,
            timeout=timeout,
        )
    except ToolError as error:
        if "proof did fail" not in str(error):
            raise
        return True
    return False


def _miter(design: VerilogModule, clocks: bool) -> str:
    """Return a module whose output ``bad`` is high when the two forms show different things."""
    ports = design.interface.ports
    inputs = [port for port in ports if port.direction == "input"]
    outputs = [port for port in ports if port.direction == "output"]
    lines = [f"module miter({', '.join(port.name for port in inputs)}, bad);", "output bad;"]
    lines += [f"input [{port.width - 1}:0] {port.name};" for port in inputs]
    for form in _FORMS:
        lines += [f"wire [{port.width - 1}:0] {port.name}_{form};" for port in outputs]
        pins = [f".{port.name}({port.name})" for port in inputs]
        pins += [f".{port.name}({port.name}_{form})" for port in outputs]
        lines.append(f"{design.top}__{form} {form} ({', '.join(pins)});")
    valid = _counts(design.interface)
    terms = [
        f"|({port.name}_a ^ {port.name}_b)" + ("" if port.name in _HANDSHAKE else f" & {valid}")
        for port in outputs
    ]
    shown = " | ".join(terms)
    if not clocks:
        return "\n".join([*lines, f"assign bad = {shown};", "endmodule"])
    # The clock is low and high in turn; inputs may change when it rises, and what is shown counts
    # just before it does.
    data = [port.name for port in inputs if port.name != "clk"]
    lines += [
        "reg turn = 0; always @($global_clock) turn <= !turn;",
        f"wire [{sum(port.width for port in inputs) - 2}:0] now = {{{', '.join(data)}}};",
        f"reg [{sum(port.width for port in inputs) - 2}:0] last;",
        "always @($global_clock) last <= now;",
        "always @* begin assume (clk == !turn); if (!clk) assume (now == last); end",
        f"assign bad = !clk & ({shown});",
        "endmodule",
    ]
    return "\n".join(lines)


def _counts(interface: Interface) -> str:
    """Return when results count: when they are there, and no trit that came in is illegal."""
    if interface.axi:
        return "m_axis_tvalid_a"
    if not interface.is_combinational:
        return "out_valid_a"
    if interface.input_kind is InputKind.FEATURES:
        return "1'b1"
    return " & ".join(
        f"~&in_trits[{2 * trit}+:2]" for trit in range(len(interface.inputs[0].fields))
    )


def _script(design: VerilogModule, clocks: bool) -> str:
    steps = design.interface.latency + _MORE_CYCLES + design.interface.num_beats - 1
    first = "-set-at 1 rst 1 "
    read, prepare = "read_verilog", "prep -flatten -top miter"
    if design.interface.is_combinational:
        return f"{read} miter.v\n{prepare}\ntechmap\nopt -fast\nsat -verify -prove bad 0"
    if clocks:
        steps, first = 2 * steps, "-set-assumes -set-at 1 rst 1 -set-at 2 rst 1 -set-at 3 rst 1 "
        read, prepare = "read_verilog -formal", "prep -flatten -top miter\nclk2fflogic"
    return (
        f"{read} miter.v\n{prepare}\ntechmap\nopt -fast\n"
        f"sat -verify -seq {steps} {first}-set-init-zero -prove bad 0 "
        f"-prove-skip {4 if clocks else 2}"
    )
