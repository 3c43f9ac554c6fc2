"""Proof that a design computes its netlist, for every input and every order of events.

The design is read from its Verilog. That it is a pipeline which moves as a whole is one claim
(:mod:`trilut.verify.proof.stream`); then its registers can be left out, and what remains is
compared with what the netlist says (:mod:`trilut.verify.proof.specification`): the trits that enter
the sums by a SAT solver, the sums by algebra (:mod:`trilut.verify.proof.sums`), and the decision by
a SAT solver again.
"""

import dataclasses
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from trilut.circuit.interface import VerilogModule
from trilut.circuit.netlist import Netlist
from trilut.circuit.sequential import Circuit, SequentialNetlist
from trilut.verify.proof.claim import Claim, Finding
from trilut.verify.proof.claims import (
    prove_decision,
    prove_gates,
    prove_handshake,
    prove_latency,
    prove_packets,
    prove_structure,
    prove_sums,
    prove_walk,
    prove_whole_latency,
)
from trilut.verify.proof.design import PipelineError, ShapeError, UnclearError
from trilut.verify.proof.fabric import build_fabric
from trilut.verify.proof.sequential import build_loop, prove_state, prove_step
from trilut.verify.proof.subject import BLOCKS, STATE, Subject, read_subject
from trilut.verify.proof.unnamed import read_automaton, vector_functions
from trilut.verify.proof.whole import build_shown, build_whole, prove_results, prove_shown
from trilut.verify.proof.witness import Witness

__all__ = ["Proof", "prove_design"]


@dataclass(frozen=True, slots=True)
class Proof:
    """What a proof found.

    Parameters
    ----------
    claims : tuple of Claim
        The claims in the order they were tried, up to the first that is not proven.
    seconds : mapping
        Time of each step.
    """

    claims: tuple[Claim, ...]
    seconds: Mapping[str, float]

    @property
    def passed(self) -> bool:
        """Whether everything was proven."""
        return self.claims[-1].outcome is Finding.PROVEN

    @property
    def is_open(self) -> bool:
        """Whether nothing is known to be wrong though not all was proven."""
        return self.claims[-1].outcome is Finding.OPEN

    @property
    def proven(self) -> dict[str, str]:
        """What was proven, in words, by the names of the claims."""
        return {each.name: each.text for each in self.claims if each.outcome is Finding.PROVEN}

    @property
    def objection(self) -> str:
        """What could not be proven, or is wrong; empty if all was proven."""
        return "" if self.passed else self.claims[-1].text

    @property
    def counterexample(self) -> Witness | None:
        """An input for which the design is wrong, if one was found."""
        return self.claims[-1].counterexample

    def to_dict(self) -> dict[str, Any]:
        """Return everything as JSON can hold it."""
        witness = self.counterexample
        return {
            "claims": self.proven,
            "objection": self.objection,
            "counterexample": None if witness is None else asdict(witness),
            "is_open": self.is_open,
            "seconds": dict(self.seconds),
        }


class _Steps:
    """The steps of a proof: which one runs, and how long each took."""

    def __init__(self, progress: Callable[[str], None]):
        self._progress = progress
        self.seconds: dict[str, float] = {}
        self.claim = ""

    @contextmanager
    def step(self, name: str, claim: str) -> Iterator[None]:
        """Run a step, in which a claim is tried."""
        self._progress(name)
        self.claim = claim
        start = time.monotonic()
        try:
            yield
        finally:
            self.seconds[name] = time.monotonic() - start


def prove_design(
    netlist: Circuit,
    design: VerilogModule,
    work: Path,
    *,
    progress: Callable[[str], None] | None = None,
) -> Proof:
    """Prove that a design computes its netlist.

    Parameters
    ----------
    netlist : Netlist or SequentialNetlist
        What it must compute.
    design : VerilogModule
        The design.
    work : Path
        Directory for scratch files and logs.
    progress : callable, optional
        Called with a line of text when a step begins.

    Raises
    ------
    ToolError
        If Yosys is missing or fails.
    """
    steps = _Steps(progress or (lambda line: None))
    if isinstance(netlist, SequentialNetlist):
        attempts = _sequential_claims(netlist, design, work, steps)
        return Proof(tuple(_tried_by_name(attempts, steps)), steps.seconds)
    if design.interface.is_combinational:
        claims = _tried(_combinational_claims(netlist, design, work, steps), steps)
        return Proof(tuple(claims), steps.seconds)
    claims, has_names = _named_claims(netlist, design, work, steps)
    last = claims[-1]
    # An example, or a text that is not clear, stands whatever the parts are called.
    if (
        last.outcome is Finding.PROVEN
        or last.counterexample
        or (has_names and last.name == "structure")
    ):
        return Proof(tuple(claims), steps.seconds)
    others = _tried(_unnamed_claims(netlist, design, work, steps), steps)
    if others[-1].outcome is Finding.PROVEN:
        return Proof(tuple(others), steps.seconds)
    if last.outcome is Finding.OPEN:
        text = f"{last.text}; by its ports alone: {others[-1].text}"
        claims = [*others[:-1], dataclasses.replace(others[-1], text=text)]
    return Proof(tuple(claims), steps.seconds)


def _named_claims(
    netlist: Netlist, design: VerilogModule, work: Path, steps: _Steps
) -> tuple[list[Claim], bool]:
    """Try to prove a design by the names of its parts, and say whether it has them."""
    try:
        return _tried(_claims(netlist, design, work, steps), steps), True
    except ShapeError as error:
        reason = str(error)
    try:
        return _tried(_whole_claims(netlist, design, work, steps, reason), steps), True
    except ShapeError as error:
        return [Claim(steps.claim, Finding.OPEN, str(error))], False


def _tried(attempts: Iterator[Claim], steps: _Steps) -> list[Claim]:
    """Return claims up to the first that is not proven.

    Raises
    ------
    ShapeError
        If the head is not recognised.
    """
    claims: list[Claim] = []
    try:
        for claim in attempts:
            claims.append(claim)
            if claim.outcome is not Finding.PROVEN:
                break
    except ShapeError:
        raise
    except PipelineError as error:
        outcome = Finding.OPEN if isinstance(error, UnclearError) else Finding.REFUTED
        claims.append(Claim(steps.claim, outcome, str(error)))
    return claims


def _tried_by_name(attempts: Iterator[Claim], steps: _Steps) -> list[Claim]:
    """Return claims about a design whose parts must have their names."""
    try:
        return _tried(attempts, steps)
    except ShapeError as error:
        return [Claim(steps.claim, Finding.OPEN, str(error))]


def _sequential_claims(
    netlist: SequentialNetlist, design: VerilogModule, work: Path, steps: _Steps
) -> Iterator[Claim]:
    """Try to prove a design with state."""
    with steps.step("read", "structure"):
        subject = read_subject(netlist, design, work, blocks=(*BLOCKS, STATE))
        claim = prove_structure(subject)
    yield claim
    yield from _stream_claims(subject, steps)
    if netlist.num_states:
        with steps.step("state", "state"):
            claim = prove_state(subject)
        yield claim
    with steps.step("step", "step"):
        claim = prove_step(subject, build_loop(subject))
    yield claim


def _stream_claims(subject: Subject, steps: _Steps) -> Iterator[Claim]:
    """Try the claims about vectors and results on their way, whatever is computed."""
    with steps.step("stream", "handshake"):
        claim = prove_handshake(subject)
    yield claim
    if subject.has_loader:
        with steps.step("packets", "packets"):
            claim = prove_packets(subject)
        yield claim


def _claims(netlist: Netlist, design: VerilogModule, work: Path, steps: _Steps) -> Iterator[Claim]:
    """Try one claim after the other; each may build on those before."""
    with steps.step("read", "structure"):
        subject = read_subject(netlist, design, work)
        claim = prove_structure(subject)
    yield claim
    yield from _stream_claims(subject, steps)
    with steps.step("gates", "gates"):
        fabric = build_fabric(subject)
        claim = prove_gates(subject, fabric)
    yield claim
    if netlist.head is not None:
        with steps.step("sums", "sums"):
            claim, constant = prove_sums(subject, fabric)
        yield claim
        with steps.step("decision", "decision"):
            claim = prove_decision(subject, fabric, constant)
        yield claim
    with steps.step("latency", "latency"):
        claim = prove_latency(subject, fabric)
    yield claim


def _combinational_claims(
    netlist: Netlist, design: VerilogModule, work: Path, steps: _Steps
) -> Iterator[Claim]:
    """Try to prove a design without a clock."""
    with steps.step("read", "structure"):
        subject = read_subject(netlist, design, work)
        claim = prove_structure(subject)
    yield claim
    with steps.step("results", "results"):
        claim = prove_results(subject, build_whole(subject))
    yield claim


def _unnamed_claims(
    netlist: Netlist, design: VerilogModule, work: Path, steps: _Steps
) -> Iterator[Claim]:
    """Try to prove a design by its ports alone."""
    with steps.step("read by ports", "structure"):
        subject = read_subject(netlist, design, work, blocks=())
        claim = prove_structure(subject)
    yield claim
    with steps.step("states", "handshake"):
        automaton = read_automaton(subject)
        claim, walk = prove_walk(subject, automaton)
    yield claim
    with steps.step("results", "results"):
        claim = prove_shown(
            subject, build_shown(subject, automaton, vector_functions(automaton, walk))
        )
    yield claim


def _whole_claims(
    netlist: Netlist, design: VerilogModule, work: Path, steps: _Steps, reason: str
) -> Iterator[Claim]:
    """Try to prove at once a design whose head is not recognised, for a reason."""
    with steps.step("read", "structure"):
        subject = read_subject(netlist, design, work, blocks=BLOCKS[:1])
        claim = prove_structure(subject)
    yield claim
    yield from _stream_claims(subject, steps)
    with steps.step("results", "results"):
        whole = build_whole(subject)
        claim = prove_results(subject, whole, reason)
    yield claim
    with steps.step("latency", "latency"):
        claim = prove_whole_latency(subject, whole)
    yield claim
