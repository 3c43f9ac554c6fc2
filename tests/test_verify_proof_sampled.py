"""Designs with one small change anywhere in the logic: what is proven does the same.

Whether it does is found out by Yosys's own model checker, which knows nothing of netlists: the
changed design must have the outputs of the one that was not changed, in every order of events.
"""

import re
from dataclasses import replace
from random import Random

import pytest
from circuits import random_netlist

from trilut.errors import ToolError
from trilut.hdl import HardwareOptions, write_verilog
from trilut.tools import find_tool, run
from trilut.verify.proof.formal import prove_design

pytestmark = [pytest.mark.synth, pytest.mark.slow]

NUM_CHANGES = 150
# Beyond the latency: enough for results to wait, and for another reset.
MORE_CYCLES = 8
NETLISTS = (
    random_netlist(4, num_inputs=8, num_gates=10, num_outputs=6, num_classes=2, with_encoder=True),
    random_netlist(4, num_inputs=4, num_gates=4, num_outputs=3, num_classes=3, with_encoder=True),
    random_netlist(4, num_inputs=6, num_gates=12, num_outputs=5),
)
OPERATORS = {"&": "|", "|": "&", "^": "&", "~": " ", ">=": ">", "<=": "<", "+": "-", "-": "+"}
KEYWORDS = {"module", "endmodule", "input", "output", "wire", "reg", "signed", "assign", "always",
            "posedge", "if", "else", "initial"}  # fmt: skip


@pytest.fixture(scope="module")
def designs(tmp_path_factory):
    return [
        write_verilog(
            net,
            tmp_path_factory.mktemp("design"),
            HardwareOptions(pipeline=4, scores=index == 1),
        )
        for index, net in enumerate(NETLISTS)
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


CHANGES = (another_operator, another_number, another_index, another_name, a_line_less, a_line_twice)


def differs(design, text, work):
    """Look for a run in which a changed design shows something else than the design."""
    texts = {"a": design.path.read_text(), "b": text}
    both = "\n".join(
        re.sub(rf"\b({design.top}\w*)\b", rf"\1__{form}", each) for form, each in texts.items()
    )
    ports = design.interface.ports
    inputs = [port for port in ports if port.direction == "input"]
    outputs = [port for port in ports if port.direction == "output"]
    lines = [f"module miter({', '.join(port.name for port in inputs)}, bad);", "output bad;"]
    lines += [f"input [{port.width - 1}:0] {port.name};" for port in inputs]
    for form in texts:
        lines += [f"wire [{port.width - 1}:0] {port.name}_{form};" for port in outputs]
        pins = [f".{port.name}({port.name})" for port in inputs]
        pins += [f".{port.name}({port.name}_{form})" for port in outputs]
        lines.append(f"{design.top}__{form} {form} ({', '.join(pins)});")
    terms = [
        f"|({port.name}_a ^ {port.name}_b)"
        + ("" if port.name in ("in_ready", "out_valid") else " & out_valid_a")
        for port in outputs
    ]
    lines += [f"assign bad = {' | '.join(terms)};", "endmodule"]
    (work / "miter.v").write_text("\n".join([both, *lines]))
    (work / "miter.ys").write_text(
        "read_verilog miter.v\nprep -flatten -top miter\ntechmap\nopt -fast\n"
        f"sat -verify -seq {design.interface.latency + MORE_CYCLES} -set-at 1 rst 1 "
        "-set-init-zero -prove bad 0 -prove-skip 2"
    )
    tool, log = find_tool("yosys"), work / "miter.log"
    try:
        run(tool, ["-q", "-s", "miter.ys"], step="miter", log=log, cwd=work, timeout=600.0)
    except ToolError as error:
        if "proof did fail" not in str(error):
            raise
        return True
    return False


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
    assert not result.passed or not differs(design, path.read_text(), tmp_path)
