"""Recipes: how gates are relaxed to be trained, and what the training minimises."""

import functools
from dataclasses import dataclass
from typing import NamedTuple, Protocol, runtime_checkable

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int
from numpy.typing import NDArray

from trilut.circuit.gates import evaluation_matrix, fourier_matrix, truth_values
from trilut.training.area import AreaTerm
from trilut.training.names import NoiseKind, Objective, Parametrisation, Start, Vocabulary
from trilut.training.network import Parameters
from trilut.training.node import Node
from trilut.training.objective import complexity, round_gradient, task_loss
from trilut.training.relax import (
    commitment,
    commitment_weight,
    interpolate,
    lookup_layer,
    project_to_kleene,
    round_to_values,
    soft_table,
    with_gradient_of,
)

__all__ = ["HardRecipe", "PaperRecipe", "Phase", "Recipe", "harden_tables"]

# The paper's standard deviation of coefficients, and ours of tables around that of 'a'.
_COEFFICIENT_DEVIATION, _TABLE_DEVIATION = 0.45, 0.3


# Checkable at run time because the tests check the types of all arguments.
@runtime_checkable
class Recipe(Protocol):
    """What the training loop asks of a recipe, which is frozen and so a key to compiled code."""

    @property
    def valence(self) -> int:
        """Number of truth values."""

    @property
    def tau(self) -> float:
        """Divisor from class scores to logits."""

    @property
    def is_circuit(self) -> bool:
        """Whether the training forward, without noise, is the circuit, so that no gap can be."""

    def init(self, num_gates: int, generator: np.random.Generator) -> Float[Array, "gate row"]:
        """Return the parameters that a layer starts from."""

    def disturb(self, parameters: Parameters, step: Int[Array, ""]) -> Parameters:
        """Return the parameters to train with in one step, from those that are kept."""

    def layer(
        self, parameters: Float[Array, "gate row"], *inputs: Float[Array, "gate batch"]
    ) -> Float[Array, "gate batch"]:
        """Return the values of a layer in the training forward, given those of each slot."""

    def loss(
        self,
        parameters: Parameters,
        scores: Float[Array, "class batch"],
        labels: Int[Array, " batch"],
        progress: Float[Array, ""],
    ) -> Float[Array, ""]:
        """Return what to minimise; progress runs from 0 to 1 over the training."""

    def constrain(self, parameters: Parameters) -> Parameters:
        """Return the parameters after what has to be done to them when a step has changed them."""

    def table(self, parameters: Float[Array, "gate row"]) -> Float[Array, "gate row"]:
        """Return the tables of truth values that a layer hardens to."""


class Phase(NamedTuple):
    """A recipe and the step that it is followed up to.

    Parameters
    ----------
    start, end : int
        The steps that it lasts.
    pruned : float
        Share of the gates that take no logic from its beginning on; see
        :mod:`trilut.training.prune`.
    """

    recipe: Recipe
    end: int
    start: int = 0
    pruned: float = 0.0


@dataclass(frozen=True, slots=True)
class HardRecipe:
    """Tables are rounded in the forward pass, so the training forward is the circuit.

    A parameter is an entry of a table, kept in [−1, 1]. Its rounding passes the gradient unchanged,
    and an input gets the slope of the chord (:func:`trilut.training.relax.look_up`).

    Parameters
    ----------
    tau : float
        Divisor from class scores to logits, at the end of the training.
    complexity_weight : float
        Weight β of R_F in the loss.
    noise : float
        Standard deviation of normal noise on the entries before they are rounded; or, as
        ``gumbel``, the temperature at which an entry is drawn among the truth values, the near ones
        with more weight. Only in training steps.
    seed : int
        Seed of the noise.
    area : AreaTerm, optional
        What to charge for the area of gates.
    softer : float
        How many times as large the divisor is at the start. It falls geometrically.
    vocabulary : str
        ``kleene`` makes every rounded table information-monotone, in training and in the circuit.
    node : Node, optional
        What gates read and make; by default two values of the valence, and one.
    """

    tau: float
    valence: int = 3
    objective: Objective = "cross-entropy"
    start: Start = "pass-through"
    complexity_weight: float = 0.0
    noise: float = 0.0
    noise_kind: NoiseKind = "normal"
    seed: int = 0
    area: AreaTerm | None = None
    softer: float = 1.0
    vocabulary: Vocabulary = "free"
    node: Node | None = None

    @property
    def is_circuit(self) -> bool:
        """True."""
        return True

    @property
    def _node(self) -> Node:
        return self.node or Node((self.valence, self.valence), self.valence)

    def init(self, num_gates: int, generator: np.random.Generator) -> Float[Array, "gate row"]:
        """Return tables within [−1, 1]."""
        if len(self._node.radices) == 2:
            tables = _start_tables(self.start, num_gates, generator, self.valence)
        else:
            tables = _mixed_tables(num_gates, generator, self._node)
        return jnp.asarray(np.clip(tables, -1, 1), dtype=jnp.float32)

    def disturb(self, parameters: Parameters, step: Int[Array, ""]) -> Parameters:
        """Put noise on the tables."""
        if not self.noise:
            return parameters
        keys = jax.random.split(
            jax.random.fold_in(jax.random.key(self.seed), step), len(parameters)
        )
        put = _add_normal if self.noise_kind == "normal" else _draw_values
        return tuple(
            put(tables, self.noise, self._node.levels, key=key)
            for tables, key in zip(parameters, keys, strict=True)
        )

    def layer(
        self, parameters: Float[Array, "gate row"], *inputs: Float[Array, "gate batch"]
    ) -> Float[Array, "gate batch"]:
        """Look the inputs up in the rounded tables."""
        tables = with_gradient_of(self.table(parameters), parameters)
        return lookup_layer(self._node)(tables, *inputs)

    def loss(
        self,
        parameters: Parameters,
        scores: Float[Array, "class batch"],
        labels: Int[Array, " batch"],
        progress: Float[Array, ""],
    ) -> Float[Array, ""]:
        """Return the error of the scores, plus R_F and the area if they have a weight."""
        rounded = round_gradient(scores, tau=self.tau * min(1.0, self.softer))
        logits = rounded / self._tau_at(progress)
        total = task_loss(self.objective, logits, labels)
        if self.complexity_weight:
            tables = jnp.concatenate(parameters)
            total = total + self.complexity_weight * complexity(tables, valence=self.valence)
        if self.area is not None:
            total = total + self.area.loss(parameters, valence=self.valence)
        return total

    def _tau_at(self, progress: Float[Array, ""]) -> Float[Array, ""] | float:
        return self.tau if self.softer == 1 else self.tau * self.softer ** (1 - progress)

    def constrain(self, parameters: Parameters) -> Parameters:
        """Clip the entries, so that none runs away from where it can still change the table."""
        return jax.tree.map(lambda entries: jnp.clip(entries, -1.0, 1.0), parameters)

    def table(self, parameters: Float[Array, "gate row"]) -> Float[Array, "gate row"]:
        """Round the entries, and leave UNKNOWN what the vocabulary cannot decide."""
        tables = round_to_values(parameters, valence=self._node.levels)
        if self._node.is_scored:
            return jnp.round(tables * self._node.largest)
        return project_to_kleene(tables) if self.vocabulary == "kleene" else tables


@dataclass(frozen=True, slots=True)
class PaperRecipe:
    """Polynomial surrogate training as published: clipped polynomials drawn towards gates.

    The loss is the error of the class scores / tau, plus the commitment loss R_A with the weight
    λ_max·progressᵞ, plus R_F with the weight β. The defaults are the paper's, but for the targets:
    see :func:`trilut.training.objective.squared_error`.
    """

    tau: float
    commitment_max: float = 0.1
    commitment_power: float = 2.0
    valence: int = 3
    parametrisation: Parametrisation = "monomial"
    objective: Objective = "squared-error"
    start: Start = "normal"
    complexity_weight: float = 0.0
    area: AreaTerm | None = None

    @property
    def is_circuit(self) -> bool:
        """False: polynomials take any value."""
        return False

    def init(self, num_gates: int, generator: np.random.Generator) -> Float[Array, "gate row"]:
        """Return the parameters of the polynomials that gates start as, whatever those are."""
        tables = _start_tables(self.start, num_gates, generator, self.valence)
        matrix = _tables_matrix(self.parametrisation, self.valence)
        return jnp.asarray(np.linalg.solve(matrix, tables.T).T, dtype=jnp.float32)

    def disturb(self, parameters: Parameters, step: Int[Array, ""]) -> Parameters:
        """Change nothing."""
        return parameters

    def layer(
        self, parameters: Float[Array, "gate row"], *inputs: Float[Array, "gate batch"]
    ) -> Float[Array, "gate batch"]:
        """Evaluate the clipped polynomials."""
        return interpolate(self._weights(parameters), *inputs, valence=self.valence)

    def loss(
        self,
        parameters: Parameters,
        scores: Float[Array, "class batch"],
        labels: Int[Array, " batch"],
        progress: Float[Array, ""],
    ) -> Float[Array, ""]:
        """Return the error of the scores plus the weighted R_A, R_F and area of all gates."""
        weight = commitment_weight(
            progress, maximum=self.commitment_max, power=self.commitment_power
        )
        tables = self._soft_table(jnp.concatenate(parameters))
        total = task_loss(self.objective, scores / self.tau, labels)
        total = total + weight * commitment(tables, valence=self.valence)
        if self.complexity_weight:
            total = total + self.complexity_weight * complexity(tables, valence=self.valence)
        if self.area is not None:
            soft = tuple(map(self._soft_table, parameters))
            total = total + self.area.loss(soft, valence=self.valence)
        return total

    def constrain(self, parameters: Parameters) -> Parameters:
        """Change nothing."""
        return parameters

    def table(self, parameters: Float[Array, "gate row"]) -> Float[Array, "gate row"]:
        """Round the polynomials at the pairs of truth values."""
        return round_to_values(self._soft_table(parameters), valence=self.valence)

    def _weights(self, parameters: Float[Array, "gate row"]) -> Float[Array, "gate row"]:
        """Return the coefficients of the monomials."""
        if self.parametrisation == "monomial":
            return parameters
        matrix = _tables_matrix(self.parametrisation, self.valence)
        to_weights = np.linalg.solve(evaluation_matrix(self.valence), matrix)
        return parameters @ jnp.asarray(to_weights.T, dtype=parameters.dtype)

    def _soft_table(self, parameters: Float[Array, "gate row"]) -> Float[Array, "gate row"]:
        if self.parametrisation == "lagrange":
            return parameters
        return soft_table(self._weights(parameters), valence=self.valence)


def _tables_matrix(parametrisation: Parametrisation, valence: int) -> NDArray[np.float64]:
    """Return the matrix from the parameters of a gate to its table."""
    match parametrisation:
        case "monomial":
            return evaluation_matrix(valence)
        case "fourier":
            return fourier_matrix(valence)
        case "lagrange":
            return np.eye(valence**2)


def _start_tables(
    start: Start, num_gates: int, generator: np.random.Generator, valence: int
) -> NDArray[np.float64]:
    noise = generator.normal(size=(num_gates, valence**2))
    if start == "pass-through":
        return np.repeat(truth_values(valence), valence) + _TABLE_DEVIATION * noise
    return _COEFFICIENT_DEVIATION * noise @ evaluation_matrix(valence).T


def _mixed_tables(
    num_gates: int, generator: np.random.Generator, node: Node
) -> NDArray[np.float64]:
    """Return tables near to a weighted sum of the inputs."""
    values = np.stack(np.meshgrid(*map(truth_values, node.radices), indexing="ij"))
    weights = generator.uniform(0, 2, size=(num_gates, len(node.radices)))
    noise = generator.normal(size=(num_gates, node.num_rows))
    return _TABLE_DEVIATION * (weights @ values.reshape(len(values), -1) + noise)


def _add_normal(
    tables: Float[Array, "gate row"], noise: float, valence: int, *, key: Array
) -> Float[Array, "gate row"]:
    return tables + noise * jax.random.normal(key, tables.shape, tables.dtype)


def _draw_values(
    tables: Float[Array, "gate row"], noise: float, valence: int, *, key: Array
) -> Float[Array, "gate row"]:
    """Draw a truth value for every entry by the Gumbel-max trick; the gradient is the entry's."""
    values = jnp.asarray(truth_values(valence), dtype=tables.dtype)
    logits = -((tables[:, :, None] - values[None, None, :]) ** 2) / noise
    drawn = jnp.argmax(logits + jax.random.gumbel(key, logits.shape, logits.dtype), axis=2)
    return with_gradient_of(values[drawn], tables)


@functools.partial(jax.jit, static_argnames="recipe")
def harden_tables(
    recipe: Recipe, parameters: Parameters
) -> tuple[Float[Array, "_ table_row"], ...]:
    """Return the tables of truth values that every layer hardens to."""
    return tuple(recipe.table(layer_parameters) for layer_parameters in parameters)
