"""The cocotb test bench of a generated design; runs inside the simulator.

It drives every vector of a job through the design, with pauses on both sides and resets in the
middle of traffic, and compares each result with the model. The bench passes as a cocotb test
whenever it could do its work: what the design did wrong is in the results file.
"""

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain, cycle, repeat
from pathlib import Path
from random import Random
from typing import Any

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import RisingEdge

from trilut.files import write_atomically
from trilut.sim.bench.job import JOB_VARIABLE, Job, Model, ViolationKind
from trilut.sim.bench.ports import Payload, Ports, is_resolved, port_objection
from trilut.sim.bench.scoreboard import Scoreboard
from trilut.sim.bench.settled import settled_report

__all__ = ["Bench", "Driver", "Monitor", "Pace", "regression"]

# How often a packet of a wrong length comes before a right one.
_BROKEN = 0.1
# A round of more vectors would hold too many of them as text.
_MAX_ROUND = 512


@dataclass(frozen=True, slots=True)
class Pace:
    """How one side of a stream pauses: the chances, each cycle, to pause and to go on."""

    pause: float
    resume: float

    def next(self, running: bool, rng: Random) -> bool:
        """Say whether to run in the next cycle."""
        return rng.random() >= self.pause if running else rng.random() < self.resume


_FULL = Pace(pause=0, resume=1)
_RANDOM = Pace(pause=0.3, resume=0.7)
_BURSTS = Pace(pause=0.03, resume=0.1)
_NEVER = Pace(pause=1, resume=0)

# Source and sink of each round; the rounds repeat until all vectors are through.
_ROUNDS = (
    (_FULL, _FULL),
    (_RANDOM, _FULL),
    (_FULL, _RANDOM),
    (_RANDOM, _RANDOM),
    (_BURSTS, _BURSTS),
)


class Driver:
    """Offers vectors at the input and holds each transfer until the design takes it.

    Between packets comes a packet of a wrong length now and then, which the design must drop.
    """

    def __init__(self, ports: Ports, scoreboard: Scoreboard, rng: Random) -> None:
        self._ports = ports
        self._valid = ports.in_valid
        self._ready = ports.in_ready
        self._handles = list(ports.inputs.values())
        self._scoreboard = scoreboard
        self._rng = rng
        self._vectors: list[list[Payload]] = []
        # The transfers of the packet under way that were not taken yet, and whether to drop it.
        self._left: list[Payload] = []
        self._is_broken = False
        self._must_drop = False
        self._pace = _FULL
        self._running = True
        self.offering = False
        self.taken_at: list[int] = []
        self.num_transfers = 0
        self.num_stalls = 0

    def begin(self, vectors: list[list[Payload]], pace: Pace) -> None:
        """Set the vectors to drive."""
        self._vectors = vectors
        self._pace = pace
        self.taken_at = []
        self.num_transfers = 0
        self.stop()

    def stop(self) -> None:
        """Offer nothing from the next cycle on."""
        self._left = []
        self._is_broken = self._must_drop = False
        self._running = True
        self.offering = False
        self._valid.value = 0

    @property
    def done(self) -> bool:
        """Whether the design has taken all vectors."""
        return len(self.taken_at) == len(self._vectors)

    def sample(self, cycle: int) -> bool:
        """Look at the handshake at a rising edge; return whether a transfer went in."""
        self._check_framing(cycle)
        if not self.offering:
            return False
        ready = str(self._ready.value)
        if ready == "1":
            self.offering = False
            self.num_transfers += 1
            self._left = self._left[1:]
            if not self._left and not self._is_broken:
                self.taken_at.append(cycle)
            self._must_drop = not self._left and self._is_broken
            return True
        if ready != "0":
            self._scoreboard.violation(ViolationKind.UNRESOLVED, cycle, f"in_ready is {ready}")
        self.num_stalls += 1
        return False

    def _check_framing(self, cycle: int) -> None:
        """Check that the design says of a packet that it drops, in the cycle after its end."""
        if self._ports.framing_error is None:
            return
        expected, self._must_drop = str(int(self._must_drop)), False
        got = str(self._ports.framing_error.value)
        if got != expected:
            message = f"framing_error is {got}, expected {expected}"
            self._scoreboard.violation(ViolationKind.FRAMING, cycle, message)

    def drive(self) -> None:
        """Set the signals for the next cycle."""
        if self.offering:
            return
        self._running = self._pace.next(self._running, self._rng)
        self.offering = self._running and not self.done
        self._valid.value = int(self.offering)
        if self.offering and not self._left:
            self._next_packet()
        # Between transfers the ports carry some other one, which the design must not take.
        payload = self._left[0] if self.offering else self._rng.choice(self._vectors)[-1]
        for port, text in zip(self._handles, payload, strict=True):
            port.value = text

    def _next_packet(self) -> None:
        vector = self._vectors[len(self.taken_at)]
        has_packets = self._ports.framing_error is not None
        self._is_broken = has_packets and self._rng.random() < _BROKEN
        self._left = self._ports.broken_packet(vector, self._rng) if self._is_broken else vector


class Monitor:
    """Takes results at the output and watches that each holds until it is taken."""

    def __init__(self, ports: Ports, scoreboard: Scoreboard, rng: Random) -> None:
        self._valid = ports.out_valid
        self._ready = ports.out_ready
        self._ports = ports.outputs
        self._handles = list(ports.outputs.values())
        self._scoreboard = scoreboard
        self._rng = rng
        self._pace = _FULL
        self._held: Payload | None = None
        self.ready = False
        self.received: list[Payload] = []
        self.given_at: list[int] = []
        self.num_stalls = 0

    def begin(self, pace: Pace) -> None:
        """Forget what came so far."""
        self._pace = pace
        self.received = []
        self.given_at = []
        self.drive()

    @property
    def is_held(self) -> bool:
        """Whether a result waits."""
        return self._held is not None

    def forget_held(self) -> None:
        """Expect no result to hold over a reset."""
        self._held = None

    def sample(self, cycle: int) -> bool:
        """Look at the handshake at a rising edge; return whether a result came out."""
        valid = str(self._valid.value)
        if valid != "1":
            if valid != "0":
                self._scoreboard.violation(ViolationKind.UNRESOLVED, cycle, f"out_valid is {valid}")
            if self._held is not None:
                self._scoreboard.violation(
                    ViolationKind.UNSTABLE, cycle, "out_valid fell before out_ready rose"
                )
            self._held = None
            return False
        payload = tuple([str(handle.value) for handle in self._handles])
        self._check(payload, cycle)
        if not self.ready:
            self._held = payload
            self.num_stalls += 1
            return False
        self._held = None
        self.received.append(payload)
        self.given_at.append(cycle)
        return True

    def _check(self, payload: Payload, cycle: int) -> None:
        held = self._held if self._held is not None else payload
        for name, text, before in zip(self._ports, payload, held, strict=True):
            if not is_resolved(text):
                self._scoreboard.violation(ViolationKind.UNRESOLVED, cycle, f"{name} is {text}")
            if text != before:
                message = f"{name} changed from {before} to {text} while out_ready was low"
                self._scoreboard.violation(ViolationKind.UNSTABLE, cycle, message)

    def drive(self) -> None:
        """Set the signals for the next cycle."""
        ready = self._pace.next(self.ready, self._rng)
        if ready != self.ready:
            self._ready.value = int(ready)
            self.ready = ready


class Bench:
    """The design with a driver, a monitor and a scoreboard around it."""

    def __init__(self, dut: Any, job: Job, model: Model) -> None:
        self._job = job
        self._model = model
        self._num_vectors = len(model)
        self._ports = Ports(dut, job, model)
        self._reset = dut.rst
        self._edge = RisingEdge(dut.clk)
        self._rng = Random(job.seed)
        self._scoreboard = Scoreboard(self._ports, job, len(model))
        self._driver = Driver(self._ports, self._scoreboard, self._rng)
        self._monitor = Monitor(self._ports, self._scoreboard, self._rng)
        self._cycle = 0
        self._num_driven = 0
        self._num_resets = 0
        self._num_jams = 0
        self._max_latency = 0

    async def run(self) -> dict[str, object]:
        """Drive all vectors and return the report."""
        self._ports.in_valid.value = self._ports.out_ready.value = 0
        await self._resetting(2)
        for part, source, sink in self._plan():
            if self._scoreboard.hopeless:
                break
            await self._traffic(part, source, sink)
            paused = source is not _FULL or sink is not _FULL
            if paused and self._scoreboard.in_step and part.stop < self._num_vectors:
                await self._interrupt(part, source, sink)
        return {
            **self._scoreboard.report(),
            "num_driven": self._num_driven,
            "cycles": self._cycle,
            "input_stalls": self._driver.num_stalls,
            "output_stalls": self._monitor.num_stalls,
            "resets": self._num_resets,
            "max_latency": self._max_latency,
        }

    def _plan(self) -> Iterator[tuple[slice, Pace, Pace]]:
        """Give the rounds: the vectors, and the pace of the source and of the sink.

        A round holds whole sequences: after a reset another one begins.
        """
        total, first = self._num_vectors, 0
        # A vector alone shows the latency.
        most = min(_MAX_ROUND, max(4, (total - 4) // 10))
        sizes = chain((1, 1, 1, 1), repeat(most))
        paces = chain([(_FULL, _FULL)] * 4, cycle(_ROUNDS))
        for size, (source, sink) in zip(sizes, paces, strict=False):
            if first == total:
                return
            end = self._model.end(min(first + size, total) - 1)
            yield slice(first, end), source, sink
            first = end

    async def _interrupt(self, part: slice, source: Pace, sink: Pace) -> None:
        """Drive some vectors again and reset in the middle of them, with results waiting or not."""
        cut = self._rng.randrange(1, (2 * self._job.latency + 8) * self._job.num_transfers)
        await self._traffic(part, source, sink, cut=cut)
        await self._resetting(self._rng.randrange(1, 3))
        # Now and then the next vectors follow at once.
        if self._rng.random() < 0.5:
            await self._watch_for_leftovers(_FULL, self._job.latency + 4)
        await self._jam(part)
        await self._resetting(1)
        # A place for a result that is still full shows if nothing is taken, at once; a stage later.
        if self._num_jams % 2:
            await self._watch_for_leftovers(_NEVER, 4)
        else:
            await self._watch_for_leftovers(_RANDOM, self._job.latency + 4)

    async def _jam(self, part: slice) -> None:
        """Drive vectors and take no result, until all places for results are full."""
        self._num_jams += 1
        self._driver.begin(self._ports.vectors(part), _FULL)
        self._monitor.begin(_NEVER)
        # The places need not fill one right after the other.
        for _ in range(self._job.latency + self._rng.randrange(1, 6 * self._job.num_transfers)):
            await self._edge
            self._cycle += 1
            self._driver.sample(self._cycle)
            self._monitor.sample(self._cycle)
            self._driver.drive()
        self._num_driven += len(self._driver.taken_at)

    async def _watch_for_leftovers(self, sink: Pace, cycles: int) -> None:
        """Offer nothing after a reset, and see that no result is there, to be taken or not."""
        self._monitor.begin(sink)
        for _ in range(cycles):
            await self._edge
            self._cycle += 1
            if self._monitor.sample(self._cycle) or self._monitor.is_held:
                message = "out_valid rose after a reset though no vector had gone in since"
                self._scoreboard.violation(ViolationKind.LEFTOVER, self._cycle, message)
                await self._drain()
                return
            self._monitor.drive()

    async def _drain(self) -> None:
        """Take what is left in the design, so that it is not taken for results of later vectors."""
        self._monitor.begin(_FULL)
        for _ in range(self._job.latency + 4):
            await self._edge
            self._cycle += 1
            self._monitor.sample(self._cycle)

    async def _resetting(self, cycles: int) -> None:
        """Reset the design; what is offered meanwhile must not go in."""
        self._reset.value = 1
        for _ in range(cycles):
            await self._edge
            self._cycle += 1
        self._reset.value = 0
        self._num_resets += 1
        self._driver.stop()
        self._monitor.forget_held()

    async def _traffic(
        self, part: slice, source: Pace, sink: Pace, *, cut: int | None = None
    ) -> None:
        """Drive some vectors and check their results.

        Parameters
        ----------
        part : slice
            The vectors.
        source, sink : Pace
            How the two sides pause.
        cut : int, optional
            Stop at once when so many transfers have gone in.
        """
        self._ports.choose_margin(part, self._rng)
        stalls_before = self._driver.num_stalls
        self._driver.begin(self._ports.vectors(part), source)
        self._monitor.begin(sink)
        was_cut = await self._until_quiet(cut)
        taken_at, given_at = self._driver.taken_at, self._monitor.given_at
        self._num_driven += len(taken_at)
        num_missing = 0 if was_cut else max(0, len(taken_at) - len(given_at))
        num_extra = max(0, len(given_at) - len(taken_at))
        in_step = num_missing == num_extra == 0
        num_right = self._scoreboard.compare(part.start, self._monitor.received, in_step=in_step)
        where = f"the first {num_right} results from vector {part.start} on are right"
        if num_missing:
            message = f"{num_missing} of {len(taken_at)} vectors gave no result; {where}"
            self._scoreboard.violation(ViolationKind.LOST, self._cycle, message)
        if num_extra:
            message = f"out_valid rose though no vector was in the design; {where}"
            self._scoreboard.violation(ViolationKind.EXTRA, self._cycle, message)
        if not in_step:
            await self._resetting(2)
        latencies = [given - taken for taken, given in zip(taken_at, given_at, strict=False)]
        self._max_latency = max([self._max_latency, *latencies])
        if in_step and source is _FULL and sink is _FULL:
            self._check_timing(part.start, latencies, self._driver.num_stalls - stalls_before)

    async def _until_quiet(self, cut: int | None) -> bool:
        """Run until all results are in and no more come; return whether it ended by the cut."""
        driver, monitor = self._driver, self._monitor
        # Cycles in which the design could have moved something and did not.
        num_idle = 0
        enough_idle = self._job.latency + 4
        too_idle = 2 * self._job.latency + 64
        # At once: also in the first cycle after a reset.
        driver.drive()
        while num_idle < too_idle:
            await self._edge
            self._cycle += 1
            taken, given = driver.sample(self._cycle), monitor.sample(self._cycle)
            if taken or given:
                num_idle = 0
            elif monitor.ready and (driver.offering or driver.done):
                num_idle += 1
            num_inside = len(driver.taken_at) - len(monitor.received)
            if num_inside < 0 or (driver.done and num_inside == 0 and num_idle >= enough_idle):
                return False
            if cut is not None and driver.num_transfers >= cut:
                return True
            driver.drive()
            monitor.drive()
        if not driver.done:
            message = f"in_ready stayed low for {too_idle} cycles in which out_ready was high"
            self._scoreboard.violation(ViolationKind.HANG, self._cycle, message)
        return False

    def _check_timing(self, first: int, latencies: list[int], num_stalls: int) -> None:
        """Check vectors that went through while nothing but the design could stall them."""
        promised = self._job.latency
        if num_stalls:
            message = f"in_ready was low for {num_stalls} cycles though out_ready was always high"
            self._scoreboard.violation(ViolationKind.THROUGHPUT, self._cycle, message)
        for vector, latency in enumerate(latencies, start=first):
            if latency != promised:
                message = f"vector {vector} took {latency} cycles, promised are {promised}"
                self._scoreboard.violation(ViolationKind.LATENCY, self._cycle, message)
                break


@cocotb.test()
async def regression(dut: Any) -> None:
    """Do the job that the environment names and write its results beside it."""
    path = Path(os.environ[JOB_VARIABLE])
    job = Job.read(path)
    model = Model.read(path.with_suffix(".npz"))
    results = path.with_suffix(".results.json")
    objection = port_objection(dut, job.interface)
    if objection:
        write_atomically(results, json.dumps({"objection": objection}))
        return
    if job.interface.is_combinational:
        write_atomically(results, json.dumps(await settled_report(dut, job, model), indent=1))
        return
    dut.rst.value = 0
    Clock(dut.clk, 2, unit="step").start()
    if not job.selects:
        report = await Bench(dut, job, model).run()
        write_atomically(results, json.dumps(report, indent=1))
    seen: list[bool] = []
    for number in job.selects:
        dut.select.value = number
        report = await Bench(dut, job, model).run()
        is_whole = report["num_checked"] == dict(job.origins)
        seen.append(bool(report["num_mismatches"] or report["num_violations"] or not is_whole))
        # One of them may bring the simulator down.
        write_atomically(results, json.dumps({"seen": seen}))
