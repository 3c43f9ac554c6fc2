"""Step time of training: layouts and forms against each other, growth with size, nodes, gap.

Times are those of the processor, all threads together: a machine that is busy otherwise lengthens
others much more.

Run: python benchmarks/training_steps.py [--quick] [--part forms,growth,nodes,gap]
"""

import argparse
import resource
import statistics
import time
from collections.abc import Callable, Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax  # type: ignore[import-untyped]  # it has no types

from trilut.circuit.gates import exponents, gate_table, polynomial
from trilut.data import load_dataset
from trilut.training import TrainingConfig, fit_dataset, layer_accuracies
from trilut.training.mixture import MixtureRecipe
from trilut.training.network import Samples, Topology
from trilut.training.node import TWO_TRITS, Node, node_named
from trilut.training.objective import cross_entropy
from trilut.training.recipes import HardRecipe, PaperRecipe, Recipe
from trilut.training.search import Wired, WireSearch, choose_wires, start_search
from trilut.training.step import State, Task, run_steps
from trilut.training.wiring import Wiring, random_wiring

INPUTS, CLASSES, BATCH = 9216, 10, 100
TAU = 33.3
ADAM = optax.adam(0.01)
# The paper's six networks.
SIZES = {
    "small": (12_000,) * 4,
    "deeper": (12_000,) * 5,
    "medium": (24_000,) * 4,
    "large": (36_000,) * 4,
    "vlarge": (48_000,) * 4,
    "huge": (128_000,) * 4,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a tenth of the size, fewer runs")
    parser.add_argument(
        "--part", metavar="NAME,…", default="forms,growth,nodes,gap", help="what to measure"
    )
    args = parser.parse_args()
    parts = args.part.split(",")
    shrink, repeats = (10, 3) if args.quick else (1, 7)
    print(f"JAX {jax.__version__}, {jax.device_count()} × {jax.devices()[0].device_kind}\n")
    if "forms" in parts:
        compare_forms(tuple(width // shrink for width in SIZES["small"]), repeats)
    if "growth" in parts:
        show_growth({name: tuple(w // shrink for w in layers) for name, layers in SIZES.items()})
    if "nodes" in parts:
        show_nodes(repeats)
    if "gap" in parts:
        show_gap(steps=300 if args.quick else 3000)


def compare_forms(layers: tuple[int, ...], repeats: int) -> None:
    """Time all forms in turn, several rounds, so that a busy machine is unfair to none."""
    steps = dict(forms(layers))
    for step in steps.values():
        step()
    seconds: dict[str, list[float]] = {name: [] for name in steps}
    for _ in range(repeats):
        for name, step in steps.items():
            seconds[name].append(timed(step))
    fastest = {name: min(times) for name, times in seconds.items()}
    reference = fastest["PST [gate, batch], Horner"]
    print(f"Step of {INPUTS} → {'+'.join(map(str, layers))}, batch {BATCH}, Adam included")
    print("| form | best ms | median ms | ÷ PST |\n|---|---|---|---|")
    for name, best in fastest.items():
        median = statistics.median(seconds[name])
        print(f"| {name} | {1e3 * best:.1f} | {1e3 * median:.1f} | {best / reference:.2f} |")
    print()


def forms(layers: tuple[int, ...]) -> Iterator[tuple[str, Callable[[], Any]]]:
    wiring = random_wiring(INPUTS, layers, seed=42)
    yield "PST [gate, batch], Horner", product_step(PaperRecipe(TAU), layers, wiring)
    yield "hard [gate, batch]", product_step(HardRecipe(TAU), layers, wiring)
    yield "hard, learned wiring of 64 candidates", product_step(HardRecipe(TAU), layers, None)
    yield "DLGN folded [gate, batch]", product_step(MixtureRecipe(TAU), layers, wiring)
    yield "DLGN naive [gate, batch]", product_step(MixtureRecipe(TAU, naive=True), layers, wiring)
    yield "PST [batch, gate], stacked monomials", plain_step(stacked_monomials, 9, layers, wiring)
    yield "DLGN [batch, gate], stacked gates", plain_step(stacked_gates, 16, layers, wiring)


def product_step(
    recipe: Recipe, layers: tuple[int, ...], wiring: Wiring | None, *, num_steps: int = 2
) -> Callable[[], Any]:
    """Return steps of the training as the product does them; without a wiring, they search."""
    if wiring is not None:
        return steps_of(recipe, layers, Wired(wiring), random_samples(), num_steps=num_steps)
    rules = WireSearch(0.03, 10**6)
    search = start_search(INPUTS, layers, candidates=64)
    wired = Wired(choose_wires(rules, search), search, rules)
    return steps_of(recipe, layers, wired, random_samples(), num_steps=num_steps)


def steps_of(
    recipe: Recipe,
    layers: tuple[int, ...],
    wired: Wired,
    samples: Samples,
    *,
    num_steps: int,
    node: Node = TWO_TRITS,
) -> Callable[[], Any]:
    """Return steps: at least two, because wires are searched in every second one."""
    generator = np.random.default_rng(0)
    parameters = tuple(recipe.init(num_gates, generator) for num_gates in layers)
    # Donated buffers cannot be shared, so that every form has its own.
    wiring = jax.tree.map(jnp.copy, wired.wiring)
    task = Task(Topology(CLASSES, node=node), ADAM, 10**6, wired.rules)
    state = State(parameters, wiring, wired.search, ADAM.init(parameters), jnp.int32(0))
    chosen = jnp.tile(jnp.arange(len(samples.labels), dtype=jnp.int32), (num_steps, 1))

    def step() -> Any:
        nonlocal state
        state, losses = run_steps(state, chosen, samples, recipe=recipe, task=task)
        return losses

    step.num_steps = num_steps  # type: ignore[attr-defined]  # read by timed
    return step


def random_samples(shape: tuple[int, int] = (BATCH, INPUTS), *, radix: int = 3) -> Samples:
    generator = np.random.default_rng(1)
    levels = generator.integers(0, radix, shape)
    inputs = (2 * levels // (radix - 1) - 1).astype(np.int8)
    labels = generator.integers(0, CLASSES, shape[0]).astype(np.int32)
    return Samples(jnp.asarray(inputs), jnp.asarray(labels))


def plain_step(
    evaluate: Callable[..., jax.Array], size: int, layers: tuple[int, ...], wiring: Wiring
) -> Callable[[], Any]:
    """Return a step as a straightforward program has it: values [batch, gate], nothing folded."""
    generator = np.random.default_rng(0)
    parameters = [
        jnp.asarray(generator.normal(0, 0.45, (width, size)), jnp.float32) for width in layers
    ]
    samples = random_samples()
    inputs = samples.inputs.astype(jnp.float32)

    def loss_of(parameters: list[jax.Array], inputs: jax.Array, labels: jax.Array) -> jax.Array:
        values = inputs
        for weights, parents in zip(parameters, wiring, strict=True):
            values = evaluate(weights, values[:, parents.a], values[:, parents.b])
        scores = jnp.sum(values.reshape(BATCH, -1, CLASSES), axis=1).T
        return cross_entropy(scores / TAU, labels)

    @jax.jit
    def train_step(parameters: Any, optimizer: Any, inputs: Any, labels: Any) -> Any:
        loss, gradient = jax.value_and_grad(loss_of)(parameters, inputs, labels)
        update, optimizer = ADAM.update(gradient, optimizer)
        return optax.apply_updates(parameters, update), optimizer, loss

    optimizer = ADAM.init(parameters)

    def step() -> Any:
        nonlocal parameters, optimizer
        parameters, optimizer, loss = train_step(parameters, optimizer, inputs, samples.labels)
        return loss

    return step


def stacked_monomials(weights: jax.Array, a: jax.Array, b: jax.Array) -> jax.Array:
    monomials = jnp.stack([a**i * b**j for i, j in exponents(3)], axis=-1)
    return jnp.clip(jnp.sum(monomials * weights[None], axis=-1), -1, 1)


def stacked_gates(logits: jax.Array, a: jax.Array, b: jax.Array) -> jax.Array:
    share = jax.nn.softmax(logits, axis=1)
    gates = [
        c + ca * a + cb * b + cab * a * b
        for c, ca, cb, cab in polynomial(gate_table(np.arange(16), 2), 2).tolist()
    ]
    return jnp.sum(jnp.stack(gates, axis=-1) * share[None], axis=-1)


def timed(step: Callable[[], Any]) -> float:
    """Return the seconds of the processor for one step."""
    started = time.process_time()
    jax.block_until_ready(step())
    return (time.process_time() - started) / getattr(step, "num_steps", 1)


def show_growth(sizes: dict[str, tuple[int, ...]]) -> None:
    print("Cost over the paper's sizes, recipe hard, random wiring")
    print("| size | gates | ms a step | µs a gate | state MB | peak RSS MB |")
    print("|---|---|---|---|---|---|")
    for name, layers in sizes.items():
        wiring = random_wiring(INPUTS, layers, seed=42)
        step = product_step(HardRecipe(TAU), layers, wiring, num_steps=8)
        step()
        # Eight steps a call: the memory of a call is new to the process, and costs once.
        seconds = timed(step)
        num_gates = sum(layers)
        # Nine entries a gate with two moments each, four bytes all, and two parents.
        state = num_gates * (3 * 9 + 2) * 4 / 1e6
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3
        print(
            f"| {name} | {num_gates} | {1e3 * seconds:.1f} "
            f"| {1e6 * seconds / num_gates:.2f} | {state:.1f} | {peak:.0f} |"
        )
    print()


def show_nodes(repeats: int) -> None:
    """Compare layers that take about as many LUT6 on a Xilinx 7, sums included."""
    print("Step of one layer over 784 inputs, batch 128, learned wiring among all of them")
    print("| gates | rows of a table | ms a step | µs a gate |\n|---|---|---|---|")
    for name, output, num_gates in (
        ("2t", None, 1000), ("3t", "bit", 1390), ("4b", None, 1390), ("6b", None, 1270)
    ):  # fmt: skip
        node = node_named(name, output)
        radix = node.radices[0]
        kinds = np.full(784, radix, dtype=np.int8)
        rules = WireSearch(0.03, 10**6, num_inputs=784, slots=(len(node.radices),))
        search = start_search(784, (num_gates,), node=node, kinds=kinds)
        wired = Wired(choose_wires(rules, search), search, rules)
        recipe = HardRecipe(TAU, node=None if node == TWO_TRITS else node)
        samples = random_samples((128, 784), radix=radix)
        step = steps_of(recipe, (num_gates,), wired, samples, num_steps=8, node=node)
        step()
        seconds = min(timed(step) for _ in range(repeats))
        print(
            f"| {num_gates} of {name} → {output or 'its own kind'} | {node.num_rows} "
            f"| {1e3 * seconds:.1f} | {1e6 * seconds / num_gates:.1f} |",
            flush=True,
        )
    print()


def show_gap(steps: int) -> None:
    print(f"Validation accuracy on digits with the first n layers hardened, {steps} steps")
    print("| recipe | n = 0 | 1 | 2 | 3 |\n|---|---|---|---|---|")
    digits = load_dataset("digits")
    for recipe in ("paper", "paper-then-hard", "hard", "dlgn"):
        config = TrainingConfig.of(recipe=recipe, layers=(1000, 1000, 1000), steps=steps)
        row = layer_accuracies(fit_dataset(digits, config), digits.validation)
        print(f"| {recipe} | {' | '.join(f'{100 * value:.1f}' for value in row)} |", flush=True)


if __name__ == "__main__":
    main()
