"""Wirings: how the parents of gates are chosen, each with its own settings."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from trilut.training.settings.groups import MAX_STEPS, Course, Network
from trilut.training.settings.registry import NamedSettings, Registry
from trilut.training.settings.setting import NOT_NEGATIVE, POSITIVE, setting, within

if TYPE_CHECKING:
    from trilut.training.search import Wired
    from trilut.training.wiring import Kinds

__all__ = [
    "WIRINGS",
    "LearnedWiring",
    "LocalWiring",
    "RandomWiring",
    "UniqueWiring",
    "WiringSettings",
]


@dataclass(frozen=True, kw_only=True)
class WiringSettings(NamedSettings, ABC):
    """What every wiring has.

    Attributes
    ----------
    wires_pairs_only : bool
        Whether it is for gates of two inputs alone.
    """

    wires_pairs_only: ClassVar[bool] = False

    @abstractmethod
    def wire(self, network: Network, course: Course, kinds: "Kinds") -> "Wired":
        """Return the wires that a training starts with and, if it changes them, how.

        Called when a training starts: this is where JAX may be imported.

        Parameters
        ----------
        kinds : int8 array [input]
            How many values each input has: 3 for a trit, 2 for a bit.

        Raises
        ------
        TrainingError
            If the layers cannot be wired so.
        """


@dataclass(frozen=True, kw_only=True)
class RandomWiring(WiringSettings):
    """Two different values of the layer below, all read equally often."""

    name: ClassVar[str] = "random"

    def wire(self, network: Network, course: Course, kinds: "Kinds") -> "Wired":
        """Wire at random."""
        from trilut.training.search import Wired
        from trilut.training.wiring import random_wiring

        return Wired(
            random_wiring(
                len(kinds),
                network.layers,
                seed=course.seed,
                skip=network.skip,
                node=network.shape(int(kinds[0])),
                kinds=kinds,
            )
        )


@dataclass(frozen=True, kw_only=True)
class UniqueWiring(WiringSettings):
    """As ``random``, without two gates of a layer on one pair of parents."""

    name: ClassVar[str] = "unique"
    wires_pairs_only: ClassVar[bool] = True

    def wire(self, network: Network, course: Course, kinds: "Kinds") -> "Wired":
        """Wire at random, to other pairs each."""
        from trilut.training.search import Wired
        from trilut.training.wiring import unique_wiring

        return Wired(unique_wiring(len(kinds), network.layers, seed=course.seed, skip=network.skip))


@dataclass(frozen=True, kw_only=True)
class LocalWiring(WiringSettings):
    """Parents near by, so that wires can be routed.

    Parameters
    ----------
    window : int
        Number of values around its own place that a gate may read.
    """

    name: ClassVar[str] = "local"
    wires_pairs_only: ClassVar[bool] = True

    window: int = setting(64, within(2), option="values that local wiring reaches", metavar="N")

    def wire(self, network: Network, course: Course, kinds: "Kinds") -> "Wired":
        """Wire at random within the window."""
        from trilut.training.search import Wired
        from trilut.training.wiring import local_wiring

        return Wired(
            local_wiring(
                len(kinds),
                network.layers,
                window=self.window,
                seed=course.seed,
                skip=network.skip,
            )
        )


@dataclass(frozen=True, kw_only=True)
class LearnedWiring(WiringSettings):
    """Each gate searches for its parents during the training.

    Parameters
    ----------
    candidates : int, optional
        Number of values that a gate may choose from. Left out, it may choose from all of them.
    wire_rate : float
        Step size of the search at the start.
    wire_every : int
        Number of steps from one update of the search to the next, which costs as much as several
        steps.
    distance_cost : float
        What the search charges for a wire from one end of a layer to the other. A score starts
        normal with a standard deviation of 2.
    comparator_cost : float
        What the search charges, in the same units, for an input that no other gate reads: each of n
        readers is charged an n-th of it. Comparators that nobody reads are not built.
    """

    name: ClassVar[str] = "learned"

    candidates: int | None = setting(
        None, within(2), option="values that learned wiring chooses from", metavar="N"
    )
    wire_rate: float = setting(0.03, POSITIVE)
    wire_every: int = setting(2, within(1, MAX_STEPS))
    distance_cost: float = setting(
        0.0, NOT_NEGATIVE, option="what learned wiring charges for distance", metavar="C"
    )
    comparator_cost: float = setting(
        0.0, NOT_NEGATIVE, option="what learned wiring charges for a comparator", metavar="C"
    )

    def wire(self, network: Network, course: Course, kinds: "Kinds") -> "Wired":
        """Start the search."""
        from trilut.training.search import Wired, WireSearch, choose_wires, start_search

        node = network.shape(int(kinds[0]))
        rules = WireSearch(
            self.wire_rate,
            course.steps,
            self.wire_every,
            self.distance_cost,
            self.comparator_cost,
            len(kinds),
            tuple(count for _, count in node.parts),
        )
        search = start_search(
            len(kinds),
            network.layers,
            candidates=self.candidates,
            seed=course.seed,
            skip=network.skip,
            node=node,
            kinds=kinds,
        )
        return Wired(choose_wires(rules, search), search, rules)


WIRINGS: Registry[WiringSettings] = Registry(
    "wiring",
    WiringSettings,  # type: ignore[type-abstract]  # it is compared with, and never made
    (RandomWiring, UniqueWiring, LocalWiring, LearnedWiring),
    option="how the parents of gates are chosen",
)
"""All wirings."""
