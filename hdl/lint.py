"""Comments that switch off warnings of Verilator about Verilog as it is generated."""

__all__ = ["LINT_OFF", "LINT_ON"]

# One file holds all modules, and a vector may have bits that nobody reads. What Yosys writes also
# shortens constants, and gives registers their initial value in the declaration.
LINT_OFF = "".join(
    f"/* verilator lint_off {warning} */\n"
    for warning in ("DECLFILENAME", "UNUSEDSIGNAL", "WIDTHEXPAND", "WIDTHTRUNC", "PROCASSINIT")
)
LINT_ON = "".join(
    f"/* verilator lint_on {warning} */\n"
    for warning in ("WIDTHEXPAND", "WIDTHTRUNC", "PROCASSINIT")
)
