"""Other projects to measure against, in an environment of their own.

They pull in PyTorch, gigabytes of it, so nothing but the optional benchmarks asks for them:

    python benchmarks/peers.py        # make build/peers, once; the benchmarks do it too
"""

import os
import subprocess
import sys
import tarfile
import venv
from pathlib import Path

__all__ = ["peer_package", "peer_python"]

ROOT = Path(__file__).resolve().parent.parent / "build" / "peers"
# difflogic 0.1.0 is published as source with a CUDA extension that only nvcc can build. On a
# processor it uses no part of it, but imports it: an empty module takes its place.
DIFFLOGIC = "difflogic==0.1.0"
PACKAGES = ("torch>=2.4", "numpy", "setuptools", "wheel")


def peer_python() -> Path:
    """Return an interpreter that can import the peers; make its environment if there is none."""
    python = ROOT / "venv" / "bin" / "python"
    stamp = ROOT / ".installed"
    if not stamp.exists():
        print("Installing the peers and PyTorch in build/peers (gigabytes)", file=sys.stderr)
        venv.create(ROOT / "venv", with_pip=True)
        pip = [str(python), "-m", "pip"]
        subprocess.run([*pip, "install", "--quiet", *PACKAGES], check=True)
        install_difflogic(pip)
        stamp.touch()
    return python


def peer_package(name: str, *requirements: str) -> Path:
    """Return a directory with packages of a peer alone, without what they say they need.

    They ask for more than a benchmark uses; what it does use, PyTorch and NumPy, is in the
    environment.
    """
    place = ROOT / name
    if not (place / name).exists():
        command = ["-m", "pip", "install", "--quiet", "--no-deps", "--target", str(place)]
        subprocess.run([str(peer_python()), *command, *requirements], check=True)
    return place


def without_cuda(place: Path) -> Path:
    """Make a module that takes the place of PyTorch's builder of extensions."""
    module = place / "torch" / "utils" / "cpp_extension.py"
    module.parent.mkdir(parents=True, exist_ok=True)
    for package in (module.parent, module.parent.parent):
        (package / "__init__.py").touch()
    module.write_text(
        "from setuptools import Extension as CUDAExtension\n"
        "from setuptools.command.build_ext import build_ext as BuildExtension\n"
    )
    return place


def install_difflogic(pip: list[str]) -> None:
    source = ROOT / "source"
    command = ["download", "--quiet", "--no-deps", "--no-build-isolation", "--no-binary", ":all:"]
    download = [*pip, *command, "--dest", str(source), DIFFLOGIC]
    # Its setup.py asks PyTorch where CUDA is before it says what the package is called.
    environment = {**os.environ, "PYTHONPATH": str(without_cuda(source / "stub"))}
    subprocess.run(download, check=True, env=environment)
    with tarfile.open(next(source.glob("difflogic-*.tar.gz"))) as archive:
        archive.extractall(source, filter="data")
    (package,) = (ROOT / "venv" / "lib").glob("python*/site-packages")
    (package / "difflogic_cuda.py").touch()
    unpacked = next(path.parent for path in source.glob("*/difflogic/") if path.is_dir())
    (package / "difflogic.pth").write_text(f"{unpacked}\n")


if __name__ == "__main__":
    print(peer_python())
