"""The engine: a small processor for netlists; its instruction set, compiler and model files."""

from trilut.engine.compiler import compile_netlist
from trilut.engine.image import Image, load_image
from trilut.engine.machine import Machine, classify

__all__ = ["Image", "Machine", "classify", "compile_netlist", "load_image"]
