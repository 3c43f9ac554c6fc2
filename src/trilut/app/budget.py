"""Budgets: as large a network as a number of lookup tables, or a part, has room for."""

import dataclasses
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from trilut.circuit.netlist import Netlist
from trilut.data import Dataset
from trilut.errors import TrilutError

if TYPE_CHECKING:
    from trilut.synth import Synthesis

__all__ = ["Budget", "budget_text", "choose_layers", "parse_budget", "part_budget", "with_budget"]

# A part that is fuller than this is hard to place and route.
_ROUTABLE = 0.85
# What the size is chosen for: the estimate of the trained network is a few percent off that of the
# pilots.
_AIM = 0.95
_NUM_PILOTS = 3
_PILOT_SHARE = 8
_LEAST_PILOT_STEPS = 200
_TEXT = re.compile(r"(\d{1,9})\s*lut([46])", flags=re.IGNORECASE)
_UNIT_PARTS = {"4": "ecp5", "6": "xc7"}


@dataclass(frozen=True, slots=True)
class Budget:
    """A number of lookup tables that all of a design may take.

    Parameters
    ----------
    luts : int
        The number.
    part : str
        One of :data:`trilut.hdl.estimate.PARTS`, whose lookup tables they are.
    """

    luts: int
    part: str

    @property
    def unit(self) -> str:
        """What the lookup tables are called."""
        from trilut.hdl.estimate import PARTS

        return PARTS[self.part].lut


def parse_budget(text: str) -> Budget:
    """Read a budget such as ``1000lut4``, for ECP5, or ``2000lut6``, for Xilinx 7.

    Raises
    ------
    TrilutError
        If it is none.
    """
    match = _TEXT.fullmatch(str(text).strip())
    if match is None or int(match[1]) == 0:
        raise TrilutError(f"Budget {text!r} is no number of LUTs like 1000lut4 or 2000lut6")
    return Budget(int(match[1]), _UNIT_PARTS[match[2]])


def part_budget(target: str) -> Budget:
    """Return the budget that leaves a part routable: 85 % of its lookup tables.

    Raises
    ------
    TrilutError
        If there is no such target, or no estimate for parts of its kind.
    """
    from trilut.hdl.estimate import PARTS
    from trilut.synth import load_target

    loaded = load_target(target)
    for name, part in PARTS.items():
        capacity = loaded.capacity.get(part.lut.lower(), 0)
        if part.sums == loaded.sums and capacity:
            return Budget(int(_ROUTABLE * capacity), name)
    raise TrilutError(
        f"There is no estimate for the target {target!r}, so no size can be chosen for it; "
        "give a --budget"
    )


def choose_layers(
    dataset: Dataset,
    settings: Mapping[str, Any],
    budget: Budget,
    *,
    effort: Any = "normal",
    progress: Callable[[str], None] | None = None,
) -> tuple[int, ...]:
    """Return as many gates of each layer as the budget has room for.

    Pilots, which train for an eighth of the steps, are estimated and scaled.

    Raises
    ------
    TrilutError
        If not even one output for each class fits.
    """
    from trilut.hdl.estimate import estimate
    from trilut.training import TrainingConfig, train

    whole = TrainingConfig.for_dataset(dataset, effort=effort, **settings)
    steps = max(_LEAST_PILOT_STEPS, whole.course.steps // _PILOT_SHARE)
    layers, factor = whole.network.layers, 1.0
    for number in range(1, _NUM_PILOTS + 1):
        if progress is not None:
            progress(
                f"budget: pilot {number} of {_NUM_PILOTS}, layers {','.join(map(str, layers))}"
            )
        course = dataclasses.replace(whole.course, steps=steps, evaluate_every=steps)
        network = dataclasses.replace(whole.network, layers=layers)
        config = dataclasses.replace(whole, course=course, network=network)
        cost = estimate(train(dataset, config).netlist, budget.part)
        fixed = sum(cost.blocks[name].lut for name in ("argmax", "control"))
        room = _AIM * budget.luts - fixed
        factor *= max(room, 0) / max(cost.lut - fixed, 1)
        scaled = _scaled(whole.network.layers, factor, dataset.num_classes)
        if scaled == layers:
            break
        layers = scaled
    smallest = _scaled(whole.network.layers, 0.0, dataset.num_classes)
    if layers == smallest and cost.lut > budget.luts:
        raise TrilutError(
            f"A budget of {budget.luts} {budget.unit} is too small for {dataset.num_classes} "
            f"classes: one output for each takes about {cost.lut}"
        )
    return layers


def _scaled(layers: tuple[int, ...], factor: float, num_classes: int) -> tuple[int, ...]:
    """Return layers times a factor, each with as many gates for every class, and at least one."""
    return tuple(
        num_classes * max(1, int(factor * num_gates / num_classes)) for num_gates in layers
    )


def with_budget(netlist: Netlist, budget: Budget) -> Netlist:
    """Return a netlist that remembers its budget and how much of it the estimate takes."""
    from trilut.hdl.estimate import estimate

    facts = dataclasses.asdict(budget) | {"estimate": estimate(netlist, budget.part).lut}
    return dataclasses.replace(netlist, provenance={**netlist.provenance, "budget": facts})


def budget_text(netlist: Netlist, synthesis: "Synthesis | None" = None) -> str | None:
    """Describe how close a netlist came to its budget, in the estimate and in synthesis.

    None without a budget. A synthesis counts if it is for the kind of part of the budget.
    """
    from trilut.hdl.estimate import PARTS

    facts = netlist.provenance.get("budget")
    if not isinstance(facts, Mapping):
        return None
    luts, guess, part = (facts.get(name) for name in ("luts", "estimate", "part"))
    # Whoever wrote the file may have written anything.
    if not (isinstance(luts, int) and luts > 0 and isinstance(guess, int) and part in PARTS):
        return None
    unit = PARTS[str(part)].lut
    text = f"budget {luts} {unit}: {_share(guess, luts)} by the estimate"
    if synthesis is None:
        return text
    cells = synthesis.result.cells
    mapped = cells.lut4_equivalents if unit == "LUT4" else cells.lut6_equivalents
    return f"{text}, {_share(mapped, luts)} by synthesis" if mapped else text


def _share(part: int, whole: int) -> str:
    return f"{part} ({100 * part / whole:.1f} %)"
