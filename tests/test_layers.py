import ast
import re
from collections import defaultdict
from graphlib import TopologicalSorter

from imports import IMPORTS, MODULES, ROOT, TREES

PAGE = ROOT / "docs" / "architecture.md"
HEADING = "## Which room may import which\n"
OURS = [each for each in IMPORTS if each.source.partition(".")[0] == "trilut"]
# What the table of the page does not allow, and what it is there for nevertheless.
FACADE = {
    ("trilut", "app"): "trilut.TrilutClassifier",
    ("trilut", "data"): "trilut.Dataset and trilut.load_dataset",
    ("trilut", "hdl"): "trilut.write_verilog",
    ("trilut", "training"): "trilut.train",
    ("trilut.circuit.netlist", "trilut.circuit.format"): "Netlist.save",
    ("trilut.circuit.netlist", "hdl"): "Netlist.rtl",
    ("trilut.circuit.netlist", "measure"): "Netlist.predict, Netlist.scores and Netlist.decide",
    ("trilut.circuit.netlist", "sim"): "Netlist.decide and Netlist.rtl",
    ("trilut.circuit.netlist", "verify"): "Netlist.verify",
}
EXCEPTIONS: dict[tuple[str, str], str] = {}


def room(module):
    """Return the room of a module: its folder, or what stands beside the folders."""
    if module == "trilut":
        return module
    name = module.split(".")[1]
    if name in ("cli", "__main__"):
        return "commands"
    return name if MODULES[f"trilut.{name}"].name == "__init__.py" else "services"


def allowed():
    """Return which rooms each room may import, as the page says, in its order."""
    section = PAGE.read_text().partition(HEADING)[2].partition("\n## ")[0]
    rows = re.findall(r"^\| `(\w+)` \|.*\|(.*)\|$", section, flags=re.MULTILINE)
    return {name: set(re.findall(r"\w+", rooms)) for name, rooms in rows}


def facade_apart():
    """Return what each module imports, but for what the facade offers."""
    graph = defaultdict(set)
    for each in OURS:
        if not {(each.module, room(each.source)), (each.module, each.source)} & FACADE.keys():
            graph[each.module].add(each.source)
    return graph


def test_the_page_has_every_room():
    assert set(allowed()) == {room(module) for module in MODULES} - {"trilut"}


def test_the_page_names_files_that_are_there():
    text = PAGE.read_text()
    named = re.findall(r"`((?:\w+/)+\w+\.(?:py|md))`", text)
    assert len(named) > 30
    packages = {module for module, path in MODULES.items() if path.name == "__init__.py"}
    places = (ROOT, ROOT / "src" / "trilut")
    assert [name for name in named if not any((place / name).is_file() for place in places)] == []
    tree = text.partition("src/trilut/\n")[2].partition("```")[0]
    folders = re.findall(r"^ *(\w+)/", tree, flags=re.MULTILINE)
    assert {name.rpartition(".")[2] for name in packages} - {"trilut"} == set(folders)


def test_a_room_imports_rooms_above_it_only():
    above = {"trilut"}
    for name, rooms in allowed().items():
        assert rooms <= above
        above.add(name)


def test_imports_are_those_that_the_page_allows():
    table = {**allowed(), "trilut": {"services", "circuit"}}
    wrong = [
        f"{each.module}:{each.line} imports {each.source}"
        for each in OURS
        if room(each.source) not in {room(each.module), *table[room(each.module)]}
        and (each.module, room(each.source)) not in FACADE | EXCEPTIONS
    ]
    assert wrong == []


def test_no_exception_is_left_over():
    present = {(each.module, place) for each in OURS for place in (room(each.source), each.source)}
    assert set(FACADE | EXCEPTIONS) <= present


def test_no_chain_of_imports_comes_back_to_its_beginning():
    # Where one does, CycleError names the modules.
    TopologicalSorter(facade_apart()).prepare()


def rooms_behind(start):
    """Return all rooms that a room cannot do without."""
    graph, seen = facade_apart(), set()
    todo = [module for module in MODULES if room(module) == start]
    while todo:
        module = todo.pop()
        if module not in seen:
            seen.add(module)
            todo += graph[module]
    return set(map(room, seen))


def test_training_and_hdl_do_not_know_each_other():
    assert "hdl" not in rooms_behind("training")
    assert "training" not in rooms_behind("hdl")


def is_private(name):
    return name.startswith("_") and not name.endswith("__")


def own_names(tree):
    """Return the names that a module gives to functions, classes, variables and attributes."""
    names = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            names.add(node.name)
        elif isinstance(node, ast.Name | ast.Attribute) and isinstance(node.ctx, ast.Store):
            names.add(node.id if isinstance(node, ast.Name) else node.attr)
    return names


def test_private_names_stay_in_their_module():
    own = {module: own_names(tree) for module, tree in TREES.items()}
    ours = set().union(*own.values())
    imported = [(each.module, each.line, each.name) for each in OURS]
    used = [
        (module, node.lineno, node.attr)
        for module, tree in TREES.items()
        for node in ast.walk(tree)
        # Others have theirs, such as a NamedTuple's _replace.
        if isinstance(node, ast.Attribute) and node.attr in ours - own[module]
    ]
    assert [place for place in (*imported, *used) if is_private(place[2])] == []


def test_only_the_console_imports_rich():
    users = {each.module for each in IMPORTS if each.source.partition(".")[0] == "rich"}
    assert users == {"trilut.app.console"}
