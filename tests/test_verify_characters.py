"""One character of a design is another: its verification fails, or nothing has changed.

Whether something has is found out by Yosys's own model checker, which knows nothing of netlists.
"""

import re
import shutil
from dataclasses import replace
from random import Random
from string import ascii_lowercase, digits

import pytest
from circuits import monotone_netlist, random_netlist

from trilut.errors import TrilutError
from trilut.hdl import HardwareOptions, write_verilog
from trilut.verify import verify
from trilut.verify.model_check import differs

pytestmark = pytest.mark.synth

CERTAIN = monotone_netlist(
    3, num_inputs=6, num_gates=10, num_outputs=6, num_classes=3, with_encoder=True
)
SHAPES = {
    "classes": (
        random_netlist(
            4, num_inputs=6, num_gates=10, num_outputs=6, num_classes=2, with_encoder=True
        ),
        {"sums": "ecp5"},
    ),
    "certain": (
        replace(CERTAIN, head=replace(CERTAIN.head, set_margin=1)),
        {"certain": True, "prediction_set": True, "sums": "generic"},
    ),
    "packets": (
        random_netlist(
            5, num_inputs=4, num_gates=6, num_outputs=4, num_classes=2, with_encoder=True
        ),
        {"axi_beat_bits": 8, "margin_port": True, "sums": "generic"},
    ),
    "trits": (random_netlist(4, num_inputs=6, num_gates=12, num_outputs=5), {}),
    "gates": (random_netlist(6, num_inputs=6, num_gates=12, num_outputs=5), {"logic_only": True}),
}
NUM_CHANGES, NUM_CHANGES_OF_SLOW_TESTS = 4, 80
CHARACTERS = "&|^~+-<>=!?:*()[]{},;'_ " + digits + ascii_lowercase


@pytest.fixture(scope="module")
def designs(tmp_path_factory):
    return {
        name: write_verilog(
            net,
            tmp_path_factory.mktemp(name),
            HardwareOptions(**({} if "logic_only" in options else {"pipeline": 4}), **options),
        )
        for name, (net, options) in SHAPES.items()
    }


def with_another_character(text, rng):
    """Replace, delete or insert a character in the logic, which is no comment."""
    hidden = [match.span() for match in re.finditer(r"//[^\n]*|/\*.*?\*/|\s", text, re.DOTALL)]
    logic = sorted({*range(text.index("\nmodule "), len(text))} - {
        place for first, last in hidden for place in range(first, last)
    })  # fmt: skip
    place = rng.choice(logic)
    others = digits if text[place] in digits else CHARACTERS
    other = rng.choice(others.replace(text[place], ""))
    before, after = text[:place], text[place + 1 :]
    return rng.choice((before + other + after, before + other + after, before + after,
                       before + other + text[place] + after))  # fmt: skip


@pytest.mark.parametrize(
    ("name", "seed"),
    [
        pytest.param(name, seed, marks=[pytest.mark.slow] if seed >= NUM_CHANGES else [])
        for seed in range(NUM_CHANGES_OF_SLOW_TESTS)
        for name in SHAPES
    ],
)
def test_another_character_is_seen_or_changes_nothing(designs, tmp_path, name, seed):
    design, (net, _) = designs[name], SHAPES[name]
    shutil.copytree(design.path.parent, tmp_path / "rtl")
    path = tmp_path / "rtl" / design.path.name
    path.write_text(with_another_character(path.read_text(), Random(seed)))
    try:
        result = verify(net, rtl=path.parent, levels=["formal"], scratch=tmp_path)
    except TrilutError:
        return
    assert not result.passed or not differs(design, path, tmp_path)


def test_a_character_of_a_comment_changes_nothing(designs, tmp_path):
    design, (net, _) = designs["trits"], SHAPES["trits"]
    shutil.copytree(design.path.parent, tmp_path / "rtl")
    path = tmp_path / "rtl" / design.path.name
    text = path.read_text()
    path.write_text(text.replace("// ", "//  ", 1))
    assert path.read_text() != text
    result = verify(net, rtl=path.parent, levels=["formal"], scratch=tmp_path)
    assert result.passed
    assert result.sha256 != design.sha256
