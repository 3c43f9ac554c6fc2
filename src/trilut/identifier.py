"""Names that may enter Verilog, scripts and file names as they are."""

import re

from trilut.errors import NetlistError

__all__ = ["check_identifier"]

_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def check_identifier(name: str) -> str:
    """Return the name of a top module if it is a plain identifier.

    Raises
    ------
    NetlistError
        If it is not.
    """
    if not _IDENTIFIER.fullmatch(name):
        raise NetlistError(
            f"Top module name {name!r} is not a plain Verilog identifier "
            "(letters, digits and underscores, not starting with a digit)"
        )
    return name
