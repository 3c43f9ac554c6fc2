"""What the tests of the tree share: every module, and every import in it."""

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parent.parent
STAGES = ("training", "hdl", "sim", "synth", "boards")


class Import(NamedTuple):
    """One imported name: in which module and line, from which module, and the name.

    What is imported as a module has no name.
    """

    module: str
    line: int
    source: str
    name: str


def _modules() -> dict[str, Path]:
    """Return the path of every module; the links to the stages are not followed."""
    folders = {ROOT / "src" / "trilut": "trilut"}
    folders |= {ROOT / stage: f"trilut.{stage}" for stage in STAGES}
    found = {}
    for folder, package in folders.items():
        for path in sorted(folder.rglob("*.py")):
            parts = path.relative_to(folder).with_suffix("").parts
            found[".".join((package, *parts)).removesuffix(".__init__")] = path
    return found


MODULES = _modules()
TREES = {module: ast.parse(path.read_text()) for module, path in MODULES.items()}


def _imports() -> Iterator[Import]:
    for module, tree in TREES.items():
        for node in ast.walk(tree):
            if isinstance(node, ast.Import):
                for alias in node.names:
                    yield Import(module, node.lineno, alias.name, "")
            elif isinstance(node, ast.ImportFrom):
                assert node.level == 0, f"{module}:{node.lineno} imports relatively"
                for alias in node.names:
                    inner = f"{node.module}.{alias.name}"
                    if inner in MODULES:
                        yield Import(module, node.lineno, inner, "")
                    else:
                        yield Import(module, node.lineno, node.module, alias.name)


IMPORTS = tuple(_imports())
"""All of them: at the top, in functions, and for types only."""
