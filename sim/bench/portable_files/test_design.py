"""Drive every vector of vectors.csv through the design, and compare each result.

Both sides pause at random, so that back-pressure is tried too. The first wrong result fails the
test with the vector, what was expected and what came.
"""

import csv
from pathlib import Path
from random import Random
from typing import Any

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import RisingEdge

PAUSE = 0.2  # the chance, each cycle, that a side pauses
PATIENCE = 10_000  # cycles without a result after which the design counts as hung


def read_vectors() -> list[dict[str, Any]]:
    """Return a dictionary for each line: its origin, and the value of each port."""
    with open(Path(__file__).with_name("vectors.csv"), newline="") as file:
        rows = list(csv.DictReader(file))
    return [
        {name: value if name == "origin" else int(value, 16) for name, value in row.items()}
        for row in rows
    ]


async def reset(dut: Any) -> None:
    """Reset for three cycles, with both sides quiet."""
    dut.rst.value = 1
    dut.in_valid.value = 0
    dut.out_ready.value = 0
    for _ in range(3):
        await RisingEdge(dut.clk)
    dut.rst.value = 0


async def drive(dut: Any, vectors: list[dict[str, Any]], rng: Random) -> None:
    """Offer each vector until the design takes it."""
    for vector in vectors:
        while rng.random() < PAUSE:
            await RisingEdge(dut.clk)
        dut.in_valid.value = 1
        for name, value in vector.items():
            if name.startswith("in_"):
                getattr(dut, name).value = value
        await RisingEdge(dut.clk)
        while not int(dut.in_ready.value):
            await RisingEdge(dut.clk)
        dut.in_valid.value = 0


async def check(dut: Any, vectors: list[dict[str, Any]], rng: Random) -> None:
    """Compare the result of each vector."""
    outputs = [name for name in vectors[0] if name.startswith("out_")]
    for number, vector in enumerate(vectors):
        got = await take(dut, outputs, rng)
        expected = {name: vector[name] for name in outputs}
        assert got == expected, (
            f"vector {number} ({vector['origin']}): expected {expected}, got {got}; inputs "
            + ", ".join(f"{name} = {value:#x}" for name, value in vector.items() if "in_" in name)
        )


async def take(dut: Any, outputs: list[str], rng: Random) -> dict[str, int]:
    """Wait for the next result, with pauses, and return it."""
    for _ in range(PATIENCE):
        ready = rng.random() >= PAUSE
        dut.out_ready.value = int(ready)
        await RisingEdge(dut.clk)
        if ready and int(dut.out_valid.value):
            return {name: int(getattr(dut, name).value) for name in outputs}
    raise AssertionError(f"no result for {PATIENCE} cycles")


@cocotb.test()
async def every_vector(dut: Any) -> None:
    """Drive and check all vectors, and see that nothing else comes out."""
    vectors = read_vectors()
    Clock(dut.clk, 10, "ns").start()
    await reset(dut)
    driver = cocotb.start_soon(drive(dut, vectors, Random(1)))
    await check(dut, vectors, Random(2))
    await driver
    dut.out_ready.value = 1
    for _ in range(64):
        await RisingEdge(dut.clk)
        assert not int(dut.out_valid.value), "a result came out for which no vector went in"
    dut._log.info("%d vectors, all as the netlist says", len(vectors))
