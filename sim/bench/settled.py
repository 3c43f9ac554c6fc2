"""The bench of a design without a clock: inputs are set, logic settles, outputs are read."""

from random import Random
from typing import Any

from cocotb.triggers import Timer

from trilut.sim.bench.job import Job, Model, ViolationKind
from trilut.sim.bench.ports import Payload, Ports, is_resolved
from trilut.sim.bench.scoreboard import Scoreboard

__all__ = ["settled_report"]


async def settled_report(dut: Any, job: Job, model: Model) -> dict[str, object]:
    """Drive all vectors and return the report.

    They come once in their order and once in another: a design that remembers anything of the
    vector before would have to remember right twice.
    """
    ports = Ports(dut, job, model)
    scoreboard = Scoreboard(ports, job, len(model))
    everything, rng = slice(0, len(model)), Random(job.seed)
    ports.choose_margin(everything, rng)
    vectors = [transfer for (transfer,) in ports.vectors(everything)]
    order = list(range(len(model)))
    first = [await _settled(ports, vectors[vector]) for vector in order]
    rng.shuffle(order)
    for vector in order:
        if await _settled(ports, vectors[vector]) != first[vector]:
            message = f"vector {vector} gave another result when it came again"
            scoreboard.violation(ViolationKind.UNSTABLE, vector, message)
    for name, texts in zip(ports.outputs, zip(*first, strict=True), strict=True):
        for vector, text in enumerate(texts):
            if not is_resolved(text):
                scoreboard.violation(ViolationKind.UNRESOLVED, vector, f"{name} is {text}")
    scoreboard.compare(0, first, in_step=True)
    steps = dict.fromkeys(("cycles", "input_stalls", "output_stalls", "resets", "max_latency"), 0)
    return {**scoreboard.report(), "num_driven": 2 * len(model), **steps}


async def _settled(ports: Ports, vector: Payload) -> Payload:
    """Set the inputs to a vector and return the outputs when nothing moves any more."""
    for handle, text in zip(ports.inputs.values(), vector, strict=True):
        handle.value = text
    await Timer(1, "step")
    return tuple([str(handle.value) for handle in ports.outputs.values()])
