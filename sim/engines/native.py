"""The interpreter in C, compiled once for a machine and kept in the user's cache.

The first use compiles ``kernel.c`` with the system's C compiler, which takes a few seconds; the
library's name holds a digest of all that it depends on, so an old one is never loaded. Without a C
compiler there is no library, and :mod:`trilut.sim.engines.fast` computes with numpy instead.
"""

import atexit
import ctypes
import hashlib
import os
import platform
import shlex
import shutil
import subprocess
import sys
import tempfile
import threading
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

from trilut.errors import ToolError
from trilut.sim.engines.planes import kernels

__all__ = ["Batch", "Encoder", "Head", "Library", "Program", "SourceKind", "library"]

# Contraction would round x·scale + offset once instead of twice, which numpy does not.
_FLAGS = (
    *("-O3", "-march=native", "-std=gnu11", "-fPIC", "-shared", "-w"),
    *("-ffp-contract=off", "-fno-math-errno", "-fno-trapping-math", "-fno-strict-aliasing"),
)
_TIMEOUT_SECONDS = 120
_POINTER = ctypes.c_void_p
_INT = ctypes.c_int64


class SourceKind:
    """What the samples of a batch are; mirrors ``enum source_kind``."""

    TRITS, FLOAT64, FLOAT32, UINT8, INT64 = range(5)


class _Structure(ctypes.Structure):
    """A structure of whole integers: ctypes itself would wrap those that do not fit."""

    def __init__(self, **values: int) -> None:
        for name, kind, *_ in self._fields_:
            value = values.get(name, 0)
            if kind is _INT and not -(1 << 63) <= value < 1 << 63:
                raise OverflowError(f"{type(self).__name__}.{name} is {value}, more than 64 bits")
        super().__init__(**values)


class Program(_Structure):
    """Mirror of ``struct program``."""

    _fields_ = (
        *((name, _INT) for name in ("planes_per_net", "num_runs", "num_inputs", "num_outputs")),
        *((name, _POINTER) for name in ("runs", "operands", "inputs", "outputs")),
        *((name, _POINTER) for name in ("bits", "num_scores", "lowest")),
    )


class Encoder(_Structure):
    """Mirror of ``struct encoder``."""

    _fields_ = (
        *((name, _INT) for name in ("num_features", "num_trits", "is_wide")),
        *((name, _POINTER) for name in ("scale", "offset", "lowest", "highest")),
        *((name, _POINTER) for name in ("least_seen", "most_seen")),
        *((name, _POINTER) for name in ("first_trit", "plane", "low", "high")),
        *((name, _POINTER) for name in ("low_mask", "high_mask", "missing_mask")),
    )


class Head(_Structure):
    """Mirror of ``struct head``."""

    _fields_ = (
        *((name, _INT) for name in ("num_classes", "abstain_margin")),
        *((name, _POINTER) for name in ("first_output", "base", "first_plane", "planes")),
    )


class Batch(_Structure):
    """Mirror of ``struct batch``."""

    _fields_ = (
        *((name, _INT) for name in ("kind", "num_samples", "num_columns")),
        *((name, _POINTER) for name in ("samples", "valid", "outputs", "scores")),
        *((name, _POINTER) for name in ("chosen", "margin", "unknown", "certain")),
    )


@dataclass(frozen=True, slots=True)
class Library:
    """The loaded interpreter.

    Parameters
    ----------
    path : Path
        The shared library.
    functions : CDLL
        Its functions; they run without Python's lock.
    step : int
        Number of samples that are computed at a time.
    workspace : int
        Bytes of scratch memory for each thread.
    """

    path: Path
    functions: ctypes.CDLL
    step: int
    workspace: int


_lock = threading.Lock()
_loaded: Library | ToolError | None = None


def library() -> Library:
    """Return the interpreter, compiled if this machine has not compiled it before.

    Raises
    ------
    ToolError
        If there is no C compiler or it fails, or if ``TRILUT_KERNEL`` is ``numpy``.
    """
    global _loaded
    if os.environ.get("TRILUT_KERNEL") == "numpy":
        raise ToolError("TRILUT_KERNEL is 'numpy', so the C kernel is not used")
    with _lock:
        if _loaded is None:
            try:
                _loaded = _load(_built(_cache_directory()))
            except ToolError as error:
                _loaded = error
        if isinstance(_loaded, ToolError):
            raise _loaded
        return _loaded


def _load(path: Path) -> Library:
    try:
        functions = ctypes.CDLL(str(path))
    except OSError as error:
        raise ToolError(f"Cannot load {str(path)!r}: {error}") from error
    for name in ("trilut_step", "trilut_workspace", "trilut_run"):
        getattr(functions, name).restype = _INT
    functions.trilut_run.argtypes = (*[_POINTER] * 4, _INT, _INT, _POINTER, _POINTER)
    functions.trilut_gates.argtypes = (_POINTER, _POINTER, _INT)
    functions.trilut_gates.restype = None
    return Library(path, functions, functions.trilut_step(), functions.trilut_workspace())


def _built(directory: Path) -> Path:
    """Return the library in a directory, compiling it if it is not there."""
    if sys.byteorder != "little":
        raise ToolError("The C kernel needs a little-endian machine")
    compiler = _compiler()
    source = _source()
    path = directory / f"kernel-{_digest(source, compiler)}.so"
    if not path.exists():
        _compile(compiler, source, path)
    return path


def _source() -> str:
    """Return the C text: the kernels as one macro, then the rest."""
    listed = " ".join(
        f"KERNEL({number}, {kernel.expression})" for number, kernel in enumerate(kernels())
    )
    text = files("trilut.sim.engines").joinpath("kernel.c").read_text(encoding="utf-8")
    return f"#define PLANE_KERNELS(KERNEL) {listed}\n{text}"


def _compiler() -> list[str]:
    named = os.environ.get("CC")
    if named:
        command = shlex.split(named)
        if command and shutil.which(command[0]):
            return command
        raise ToolError(f"Cannot find the C compiler {named!r} that CC names")
    for name in ("cc", "gcc", "clang"):
        if found := shutil.which(name):
            return [found]
    raise ToolError("Cannot find a C compiler in PATH; install gcc or clang, or set CC")


def _digest(source: str, compiler: list[str]) -> str:
    """Name what the library depends on: the text, the compiler and the processor."""
    version = _run([*compiler, "--version"]).stdout
    parts = (source, " ".join((*compiler, *_FLAGS)), version, _processor())
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:16]


def _run(command: list[str]) -> subprocess.CompletedProcess[str]:
    """Run the compiler with its output as text, whatever bytes that is."""
    try:
        return subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_TIMEOUT_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise ToolError(f"{command[0]!r} took longer than {_TIMEOUT_SECONDS} s") from error
    except OSError as error:
        raise ToolError(f"Cannot run {command[0]!r}: {error.strerror}") from error


def _processor() -> str:
    """Describe the processor: a cache in a shared home serves several kinds."""
    try:
        lines = Path("/proc/cpuinfo").read_text(errors="replace").splitlines()
    except OSError:
        return " ".join((platform.machine(), platform.processor()))
    known = ("flags", "Features", "isa", "model name")
    return "\n".join(sorted({line for line in lines if line.startswith(known)}))


def _cache_directory() -> Path:
    """Return a directory that only the user can write to."""
    base = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    directory = Path(base) / "trilut"
    try:
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        if os.access(directory, os.W_OK) and _is_own(directory):
            return directory
    except OSError:
        pass
    # A home that cannot be written to, as in some containers: compile for this process only.
    temporary = Path(tempfile.mkdtemp(prefix="trilut-"))
    atexit.register(shutil.rmtree, temporary, ignore_errors=True)
    return temporary


def _is_own(directory: Path) -> bool:
    # What another user can change must not be loaded as code.
    return not hasattr(os, "getuid") or directory.stat().st_uid == os.getuid()


def _compile(compiler: list[str], source: str, path: Path) -> None:
    with tempfile.TemporaryDirectory(dir=path.parent, prefix=".kernel-") as work:
        text, made = Path(work) / "kernel.c", Path(work) / path.name
        text.write_text(source, encoding="utf-8")
        done = _run([*compiler, *_FLAGS, "-o", str(made), str(text), "-lm"])
        if done.returncode != 0:
            first = next((line for line in done.stderr.splitlines() if "error" in line), "")
            raise ToolError(
                f"{compiler[0]!r} cannot compile the simulator's kernel "
                f"(status {done.returncode}): {first}"
            )
        # A rename is complete or not at all, whoever else compiles at the same time.
        os.replace(made, path)
