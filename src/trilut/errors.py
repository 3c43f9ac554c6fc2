"""Errors that the user can cause and can mend."""

__all__ = ["DataError", "FormatError", "FormulaError", "NetlistError", "ToolError", "TrilutError"]


class TrilutError(Exception):
    """Base class of all errors caused by a wrong file, design or tool.

    The command line prints it as one line, without a traceback.
    """


class NetlistError(TrilutError):
    """A netlist, encoder or head that contradicts itself."""


class FormatError(TrilutError):
    """A file that is not what its name or header promises."""


class FormulaError(TrilutError):
    """A formula of temporal logic that cannot be read, or that no circuit can be made of."""


class DataError(TrilutError):
    """A data set that does not exist or cannot be used."""


class ToolError(TrilutError):
    """An external tool that is missing, fails or takes too long."""


class SlowToolError(ToolError):
    """An external tool that takes too long."""
