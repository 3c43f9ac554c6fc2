"""A small design at once, from its inputs to its results, where its sums are not recognised.

Nothing inside the design but the block ``control`` needs a name. What the netlist says is written
with plain adders and comparisons, and a SAT solver compares the two, bit by bit.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise

from trilut.verify.proof import specification
from trilut.verify.proof.aig import TRUE, Aig, Literal
from trilut.verify.proof.claim import Claim, Finding
from trilut.verify.proof.design import Bit
from trilut.verify.proof.fabric import NUM_WORDS
from trilut.verify.proof.inputs import Inputs, example_words, read_bits
from trilut.verify.proof.pipeline import Pipeline
from trilut.verify.proof.replay import result_of
from trilut.verify.proof.stream import advance_bit
from trilut.verify.proof.subject import Subject
from trilut.verify.proof.sweep import Sweeper
from trilut.verify.proof.unnamed import Automaton
from trilut.verify.proof.witness import Witness, reference

__all__ = ["Whole", "build_shown", "build_whole", "prove_results", "prove_shown"]

# Of one bit of a result; a sum of 30 trits takes some ten thousand.
_MAX_CONFLICTS = 200_000
_TOO_MUCH = "The results are too much to be proven at once"


@dataclass(frozen=True, slots=True, eq=False)
class Whole:
    """A whole design without its registers, and what its netlist says.

    Parameters
    ----------
    aig : Aig
        The graph.
    inputs : Inputs
        One vector.
    results : mapping
        The result ports.
    expected : mapping
        What they should be.
    pipeline : Pipeline, optional
        The design up to the block ``control``, if that was looked for.
    bits : sequence of Bit
        What enters that block.
    """

    aig: Aig
    inputs: Inputs
    results: Mapping[str, Sequence[Literal]]
    expected: Mapping[str, Sequence[Literal]]
    pipeline: Pipeline | None = None
    bits: Sequence[Bit] = ()


def build_whole(subject: Subject) -> Whole:
    """Build a design and what its netlist says in one graph.

    Raises
    ------
    PipelineError
        If the design is no pipeline.
    """
    aig, main = Aig(), subject.main
    inputs = Inputs(aig, subject.netlist, always_present=subject.always_present)
    margin = aig.inputs(subject.margin_bits)
    expected = _expected(subject, aig, inputs, margin)
    known = {
        bit: literal
        for port, literals in inputs.ports.items()
        for bit, literal in zip(subject.vector[port], literals, strict=True)
    }
    if subject.interface.is_combinational:
        known |= dict(zip(main.ports.get("abstain_margin", ()), margin, strict=True))
        pipeline = Pipeline(aig, main, known)
        results = {port: pipeline.literals(main.ports[port]) for port in expected}
        return Whole(aig, inputs, results, expected)
    known[advance_bit(subject)] = TRUE
    # The margin counts when a result enters the last stage, after which there is the control.
    later = {
        bit: (literal, subject.latency - 2)
        for bit, literal in zip(main.ports.get("abstain_margin", ()), margin, strict=True)
    }
    pipeline = Pipeline(aig, main, known, later=later)
    bits = subject.pins("control", "i")
    after = dict(zip(subject.pins("control", "o"), pipeline.literals(bits), strict=True))
    outputs = Pipeline(aig, main, after)
    results = {port: outputs.literals(subject.results[port]) for port in expected}
    return Whole(aig, inputs, results, expected, pipeline, bits)


def build_shown(
    subject: Subject, automaton: Automaton, shown: Sequence[Mapping[str, Sequence[Literal]]]
) -> list[Whole]:
    """Return what a design of which no names are known shows, and what its netlist says."""
    aig, inputs = automaton.aig, automaton.inputs
    expected = _expected(subject, aig, inputs, ())
    return [Whole(aig, inputs, results, expected) for results in shown]


def _expected(
    subject: Subject, aig: Aig, inputs: Inputs, limit: Sequence[Literal]
) -> dict[str, list[Literal]]:
    """Return what a netlist says of the bits of each result port."""
    nets = specification.gates(aig, subject.netlist, inputs.trits)
    trits = [nets[net] for net in subject.netlist.outputs]
    if subject.netlist.head is None:
        return {"out_trits": [plane for trit in trits for plane in trit]}
    head, interface = subject.head, subject.interface
    ends = list(accumulate(head.group_sizes, initial=0))
    groups = [trits[first:last] for first, last in pairwise(ends)]
    scores = [specification.score(aig, group, head.score_bits) for group in groups]
    chosen = specification.first_highest(aig, scores)
    margins = [
        specification.margin_over(aig, score, [*scores[:index], *scores[index + 1 :]])
        for index, score in enumerate(scores)
    ]
    margin = [
        aig.any(aig.both(is_class, bit) for is_class, bit in zip(chosen, bits, strict=True))
        for bits in zip(*margins, strict=True)
    ]
    ports = {
        "out_class": [
            aig.any(each for index, each in enumerate(chosen) if index >> place & 1)
            for place in range(interface.port("out_class").width)
        ],
        "out_unknown": [specification.abstains(aig, margin, limit, head.abstain_margin)],
    }
    if interface.has_port("out_margin"):
        ports["out_margin"] = margin[: interface.port("out_margin").width]
    if subject.gives_scores:
        ports["out_scores"] = [bit for score in scores for bit in score]
    if subject.gives_certain:
        unknowns = [specification.num_unknown(aig, group, head.score_bits) for group in groups]
        ports["out_certain"] = [specification.certain_answer(aig, chosen, scores, unknowns)]
    if subject.gives_set:
        sets = [specification.members(aig, best, scores, head.set_margin) for best in scores]
        ports["out_set"] = [
            aig.any(aig.both(*each) for each in zip(chosen, bits, strict=True))
            for bits in zip(*sets, strict=True)
        ]
    return ports


def prove_results(subject: Subject, whole: Whole, reason: str = "") -> Claim:
    """Prove all results at once; if that takes too long, the reason why it was tried remains."""
    sweeper = Sweeper(whole.aig)
    patterns = whole.inputs.patterns(whole.aig, NUM_WORDS)
    sweeper.sweep(range(1, len(whole.aig)), (), patterns)
    try:
        for port, expected in whole.expected.items():
            for bit, got in zip(expected, whole.results[port], strict=True):
                example = sweeper.difference(bit, got, max_conflicts=_MAX_CONFLICTS)
                if example is not None:
                    text = f"Port {port!r} is wrong"
                    return Claim(
                        "results", Finding.REFUTED, text, _witness(subject, whole, example)
                    )
    except TimeoutError:
        text = f"{reason}, and all at once is too much to be proven" if reason else _TOO_MUCH
        return Claim("results", Finding.OPEN, text)
    text = (
        f"{', '.join(whole.expected)} are what {subject.netlist.num_gates} gates"
        f"{' and a head' if subject.netlist.head else ''} say "
        f"({sweeper.num_merged} equal nodes, {sweeper.num_questions} questions)"
    )
    return Claim("results", Finding.PROVEN, text)


def prove_shown(subject: Subject, wholes: Sequence[Whole]) -> Claim:
    """Prove all that a design shows of a vector, in different states."""
    claims = [prove_results(subject, whole) for whole in wholes]
    if not claims:
        return Claim("results", Finding.OPEN, "No result ever comes out")
    return next((each for each in claims if each.outcome is not Finding.PROVEN), claims[0])


def _witness(subject: Subject, whole: Whole, example: Mapping[Literal, bool]) -> Witness | None:
    """Return what the reference says of an example; it knows nothing of a port for the margin."""
    if subject.margin_bits:
        return None
    values = whole.aig.simulate(example_words(example))
    vector = whole.inputs.vector(values, 0)
    ports = {
        port: read_bits(values, bits, 0)
        for port, bits in whole.results.items()
        if port != "out_scores"
    }
    expected = reference(subject.netlist, whole.inputs.encoded(vector), ports)[0]
    return Witness(whole.inputs.named(vector), expected, result_of(ports))
