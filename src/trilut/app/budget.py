"""Budgets: as large a network as a number of lookup tables, or a part, has room for."""

import dataclasses
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from trilut.circuit.netlist import Netlist
from trilut.circuit.sequential import Circuit
from trilut.data import Dataset
from trilut.errors import TrilutError

if TYPE_CHECKING:
    from trilut.synth import Synthesis

__all__ = [
    "Budget",
    "budget_text",
    "choose_layers",
    "fill_budget",
    "parse_budget",
    "part_budget",
    "with_budget",
]


class _HasNetlist(Protocol):
    @property
    def netlist(self) -> Netlist: ...


_Trained = TypeVar("_Trained", bound=_HasNetlist)

# A part that is fuller than this is hard to place and route.
_ROUTABLE = 0.85
# What the size is chosen for, and what is close enough below the budget.
_AIM = 0.95
_CLOSE = 0.9
_NUM_PILOTS = 3
# How often to train for one budget, the pilots not counted.
_MOST_SIZES = 3
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

    Pilots, which train for an eighth of the steps, are estimated and scaled. A table gets no more
    gates than its samples can teach. Boosted gates need no pilots: there are as many as they can
    be, and :func:`fill_budget` finds out how many are of use.

    Raises
    ------
    TrilutError
        If not even one output for each class fits.
    """
    from trilut.hdl.estimate import estimate
    from trilut.training import TrainingConfig, train

    whole = TrainingConfig.for_dataset(dataset, effort=effort, **settings)
    if not whole.course.steps:
        return whole.network.layers
    steps = max(_LEAST_PILOT_STEPS, whole.course.steps // _PILOT_SHARE)
    layers = whole.network.layers
    for number in range(1, _NUM_PILOTS + 1):
        if progress is not None:
            progress(
                f"budget: pilot {number} of {_NUM_PILOTS}, layers {','.join(map(str, layers))}"
            )
        course = dataclasses.replace(whole.course, steps=steps, evaluate_every=steps)
        config = dataclasses.replace(whole.with_layers(layers), course=course)
        netlist = train(dataset, config).netlist
        scaled = _rescaled(netlist, layers, budget, dataset)
        if scaled == layers:
            break
        layers = scaled
    _check_fits(budget, layers, estimate(netlist, budget.part).lut, dataset.num_classes)
    return layers


def _check_fits(budget: Budget, layers: tuple[int, ...], cost: int, num_classes: int) -> None:
    """Check that the smallest layers are not too large."""
    if layers == _scaled(layers, 0.0, num_classes) and cost > budget.luts:
        raise TrilutError(
            f"A budget of {budget.luts} {budget.unit} is too small for {num_classes} "
            f"classes: one output for each takes about {cost}"
        )


def fill_budget(
    budget: Budget,
    dataset: Dataset,
    layers: tuple[int, ...],
    train: Callable[[tuple[int, ...]], _Trained],
) -> tuple[tuple[int, ...], _Trained]:
    """Train, and again with other layers where the circuit is not close below its budget.

    Return the layers and the training of the largest circuit within it, or of the smallest.

    Parameters
    ----------
    layers : tuple of int
        Those to begin with, from :func:`choose_layers`.

    Raises
    ------
    TrilutError
        If not even one output for each class fits.
    """
    from trilut.hdl.estimate import estimate

    tried: dict[tuple[int, ...], _Trained] = {}
    while layers not in tried and len(tried) < _MOST_SIZES:
        tried[layers] = train(layers)
        layers = _rescaled(tried[layers].netlist, layers, budget, dataset)

    def rank(layers: tuple[int, ...]) -> tuple[bool, int]:
        lut = estimate(tried[layers].netlist, budget.part).lut
        return (True, lut) if lut <= budget.luts else (False, -lut)

    chosen = max(tried, key=rank)
    cost = estimate(tried[chosen].netlist, budget.part).lut
    _check_fits(budget, min(tried), cost, dataset.num_classes)
    return chosen, tried[chosen]


def _rescaled(
    netlist: Netlist, layers: tuple[int, ...], budget: Budget, dataset: Dataset
) -> tuple[int, ...]:
    """Return layers that would bring a netlist close below its budget: its own, if it is there."""
    from trilut.hdl.estimate import estimate
    from trilut.training.settings.datasets import has_own_settings
    from trilut.training.settings.tables import learnable_gates

    cost = estimate(netlist, budget.part)
    has_enough = netlist.num_gates < sum(layers)
    if cost.lut <= budget.luts and (has_enough or cost.lut >= _CLOSE * budget.luts):
        return layers
    if has_enough:
        # Boosted gates: more would not have made a better circuit.
        layers = (netlist.num_gates,)
    fixed = sum(cost.blocks[name].lut for name in ("argmax", "control"))
    factor = max(_AIM * budget.luts - fixed, 0) / max(cost.lut - fixed, 1)
    if not has_own_settings(dataset.name):
        learnable = dataset.num_classes * learnable_gates(len(dataset.train), dataset.num_classes)
        factor = min(factor, max(1.0, learnable / max(layers)))
    return _scaled(layers, factor, dataset.num_classes)


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


def budget_text(netlist: Circuit, synthesis: "Synthesis | None" = None) -> str | None:
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
