"""Designs with one small change anywhere in the logic: what is proven does the same.

Designs are ours, known by the names of their blocks; ours with other names, the gates alone, and
designs by hand, which are proven by their ports alone.

Whether it does is found out by Yosys's own model checker, which knows nothing of netlists: the
changed design must have the outputs of the one that was not changed, in every order of events.
"""

import re
from dataclasses import replace
from random import Random

import pytest
from circuits import random_netlist
from handmade import MINIMUM, RIGHT

from trilut.errors import ToolError
from trilut.hdl import HardwareOptions, read_design, write_logic, write_verilog
from trilut.verify.model_check import differs
from trilut.verify.proof.formal import prove_design

pytestmark = [pytest.mark.synth, pytest.mark.slow]

NUM_CHANGES = 150
NETLISTS = (
    random_netlist(4, num_inputs=8, num_gates=10, num_outputs=6, num_classes=2, with_encoder=True),
    random_netlist(4, num_inputs=4, num_gates=4, num_outputs=3, num_classes=3, with_encoder=True),
    random_netlist(4, num_inputs=6, num_gates=12, num_outputs=5),
    random_netlist(4, num_inputs=4, num_gates=6, num_outputs=4, num_classes=2, with_encoder=True),
)
OPTIONS = ({}, {"scores": True}, {}, {"axi_beat_bits": 8, "margin_port": True})
OPERATORS = {"&": "|", "|": "&", "^": "&", "~": " ", ">=": ">", "<=": "<", "+": "-", "-": "+"}
KEYWORDS = {"module", "endmodule", "input", "output", "wire", "reg", "signed", "assign", "always",
            "posedge", "if", "else", "initial"}  # fmt: skip


@pytest.fixture(scope="module")
def designs(tmp_path_factory):
    return [
        write_verilog(
            net, tmp_path_factory.mktemp("design"), HardwareOptions(pipeline=4, **options)
        )
        for net, options in zip(NETLISTS, OPTIONS, strict=True)
    ]


def matches(pattern, text):
    """Return the places in a text, not in its comments."""
    found = re.finditer(rf"//[^\n]*|/\*.*?\*/|({pattern})", text, re.DOTALL)
    return [match for match in found if match[1] is not None]


def replaced(text, match, by):
    return text[: match.start()] + by + text[match.end() :]


def another_operator(text, rng):
    match = rng.choice(matches(r">=|<=|[&|^~+-]", text))
    return replaced(text, match, OPERATORS[match[0]])


def another_number(text, rng):
    match = rng.choice(matches(r"\d+'[hd][0-9a-f]+", text))
    width, base, digits = re.fullmatch(r"(\d+)'([hd])(\w+)", match[0]).groups()
    value = int(digits, 16 if base == "h" else 10) ^ 1 << rng.randrange(int(width))
    return replaced(text, match, f"{width}'h{value:x}")


def another_index(text, rng):
    match = rng.choice(matches(r"\[\d+\]|\[\d+:", text))
    other = max(0, int(re.search(r"\d+", match[0])[0]) + rng.choice((-1, 1)))
    return replaced(text, match, re.sub(r"\d+", str(other), match[0]))


def another_name(text, rng):
    module = rng.choice(matches(r"module .*?endmodule", text))
    start, inside = module.start(), module[0]
    names = [match for match in matches(r"\b[a-z_]\w*", inside) if match[0] not in KEYWORDS]
    match, other = rng.sample(names, 2)
    return text[:start] + replaced(inside, match, other[0]) + text[module.end() :]


def a_line_less(text, rng):
    lines = text.split("\n")
    del lines[rng.randrange(len(lines))]
    return "\n".join(lines)


def a_line_twice(text, rng):
    lines = text.split("\n")
    place = rng.randrange(len(lines))
    return "\n".join([*lines[:place], lines[place], *lines[place:]])


def another_pin(text, rng):
    pins = matches(r"\.\w+\([^()]*\)", text)
    match, other = rng.sample(pins, 2)
    port = match[0].partition("(")[0]
    inside = rng.choice((other[0].partition("(")[2][:-1], "1'h0", ""))
    return replaced(text, match, f"{port}({inside})")


def another_order(text, rng):
    match = rng.choice(matches(r"\{ [^{}]*, [^{}]* \}", text))
    parts = match[0][2:-2].split(", ")
    first, second = rng.sample(range(len(parts)), 2)
    parts[first], parts[second] = parts[second], parts[first]
    return replaced(text, match, f"{{ {', '.join(parts)} }}")


def another_branch(text, rng):
    match = rng.choice(matches(r"\? [^:;?]* : [^:;?]*;", text))
    first, second = match[0][2:-1].split(" : ")
    return replaced(text, match, rng.choice((f"? {second} : {first};", f"? {first} : {first};")))


def another_edge(text, rng):
    match = rng.choice(matches("posedge clk", text))
    return replaced(text, match, rng.choice(("negedge clk", "posedge clk or posedge rst", "clk")))


def another_width(text, rng):
    match = rng.choice(matches(r"(?:wire|reg|input|output) \[\d+:0\]", text))
    high = int(re.search(r"\d+", match[0])[0])
    other = max(0, high + rng.choice((-1, 1)))
    return replaced(text, match, match[0].replace(f"[{high}:", f"[{other}:"))


CHANGES = (another_operator, another_number, another_index, another_name, a_line_less,
           a_line_twice, another_pin, another_order, another_branch, another_edge,
           another_width)  # fmt: skip


@pytest.mark.parametrize("seed", range(NUM_CHANGES))
def test_what_is_proven_does_the_same(designs, tmp_path, seed):
    rng = Random(seed)
    index = rng.randrange(len(NETLISTS))
    design = designs[index]
    header, start, text = design.path.read_text().partition("\nmodule ")
    path = tmp_path / "changed.v"
    path.write_text(header + CHANGES[seed % len(CHANGES)](start + text, rng))
    try:
        result = prove_design(NETLISTS[index], replace(design, path=path), tmp_path)
    except ToolError:
        return
    assert not result.passed or not differs(design, path, tmp_path)


NUM_CHANGES_OF_OTHERS = {
    "one place": 88, "two stages": 88, "queue": 88, "gates": 66, "other names": 44,
}  # fmt: skip


@pytest.fixture(scope="module")
def others(tmp_path_factory):
    """Return designs that are not known by the names of their blocks, each with its netlist."""
    work = tmp_path_factory.mktemp("others")
    found = {"gates": (NETLISTS[2], write_logic(NETLISTS[2], work))}
    renamed = write_verilog(NETLISTS[2], work / "renamed", HardwareOptions(top="hand"))
    renamed.path.write_text(renamed.path.read_text().replace("hand_control", "hand_other"))
    found["other names"] = (NETLISTS[2], renamed)
    for name, (text, latency) in RIGHT.items():
        path = work / f"{name}.v"
        path.write_text(text)
        design = read_design(path, MINIMUM, HardwareOptions(top="hand"), latency=latency)
        found[name] = (MINIMUM, design)
    return found


@pytest.mark.parametrize(
    ("name", "seed"),
    [(name, seed) for name, count in NUM_CHANGES_OF_OTHERS.items() for seed in range(count)],
)
def test_what_is_proven_by_its_ports_does_the_same(others, tmp_path, name, seed):
    rng = Random(seed)
    netlist, design = others[name]
    header, start, text = design.path.read_text().partition("\nmodule ")
    change = CHANGES[seed % len(CHANGES)]
    path = tmp_path / "changed.v"
    try:
        path.write_text(header + change(start + text, rng))
    except (IndexError, ValueError):
        # There is nothing of that kind in such a small design.
        path.write_text(header + a_line_less(start + text, rng))
    try:
        result = prove_design(netlist, replace(design, path=path), tmp_path)
    except ToolError:
        return
    assert not result.passed or not differs(design, path, tmp_path)
