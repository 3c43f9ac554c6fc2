"""The claims that together say that a design computes its netlist, one function for each."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np

from trilut.circuit.kinds import MAX_SCORE, Kind
from trilut.verify.proof import specification
from trilut.verify.proof.aig import FALSE, TRUE, Aig, Literal, Words
from trilut.verify.proof.claim import Claim, Finding
from trilut.verify.proof.codes import Code, CodeError, find_code, trit_code
from trilut.verify.proof.design import Bit, PipelineError, ShapeError
from trilut.verify.proof.fabric import NUM_WORDS, Fabric
from trilut.verify.proof.inputs import read_integer
from trilut.verify.proof.loader import check_loader
from trilut.verify.proof.pipeline import Pipeline
from trilut.verify.proof.replay import explain, search, whole_outputs
from trilut.verify.proof.stream import check_stream
from trilut.verify.proof.structure import check_structure
from trilut.verify.proof.subject import Subject
from trilut.verify.proof.sums import SumError, SumInput, Worth, prove_sum
from trilut.verify.proof.sweep import HARD_SOLVER, Sweeper
from trilut.verify.proof.unnamed import Automaton, Walk, walk_states
from trilut.verify.proof.whole import Whole
from trilut.verify.proof.witness import Witness

__all__ = [
    "prove_decision",
    "prove_gates",
    "prove_handshake",
    "prove_latency",
    "prove_packets",
    "prove_structure",
    "prove_sums",
    "prove_walk",
    "prove_whole_latency",
]

_VALUES = range(-MAX_SCORE, MAX_SCORE + 1)

# Not the wires inside a level: carries, and the pins of a part's own cells.
_BETWEEN_LEVELS = re.compile(r"(?:class|sure|possible)_\d+_level_\d+")


def prove_structure(subject: Subject) -> Claim:
    """Prove that it is clear what a design does: whose clock is whose, and who drives what.

    Raises
    ------
    PipelineError
        If it is not.
    """
    count = check_structure(subject)
    registers = f"{count} registers have the rising edge of 'clk'"
    if subject.interface.is_combinational:
        registers = "there is no register"
    text = f"{registers}, every bit has one driver, and there is no latch, loop or undefined value"
    return Claim("structure", Finding.PROVEN, text)


def prove_handshake(subject: Subject) -> Claim:
    """Prove that vectors pass the design in order, each once.

    Raises
    ------
    PipelineError
        If they do not.
    """
    count = check_stream(subject)
    text = (
        f"{count} registers move as one pipeline of {subject.latency} stages; results "
        "hold while they wait, none is lost, doubled or overtaken"
    )
    return Claim("handshake", Finding.PROVEN, text)


def prove_packets(subject: Subject) -> Claim:
    """Prove that a vector is what a packet of the right length says.

    Raises
    ------
    PipelineError
        If it is not.
    """
    num_beats = check_loader(subject)
    beats = f"{num_beats} beats" if num_beats > 1 else "one beat"
    text = (
        f"every packet of {beats} is one vector, the first beat lowest, and none is lost, doubled "
        "or overtaken; one of another length is dropped and raises 'framing_error'"
    )
    return Claim("packets", Finding.PROVEN, text)


def prove_walk(subject: Subject, automaton: Automaton) -> tuple[Claim, Walk]:
    """Prove the same of a design of which no names are known, with its latency.

    Raises
    ------
    PipelineError
        If it does not hold, or could not be shown.
    """
    walk = walk_states(automaton, subject.latency)
    text = (
        f"in all {walk.num_states:,} states of {walk.num_control} registers of control, results "
        f"are of the vectors that went in, in their order, each once and after {subject.latency} "
        f"cycles, and hold while they wait ({walk.num_data} registers of data)"
    )
    return Claim("handshake", Finding.PROVEN, text), walk


def prove_gates(subject: Subject, fabric: Fabric) -> Claim:
    """Prove the trits that leave the gates, and that none of them has the illegal code.

    Raises
    ------
    PipelineError
        If the design is no pipeline.
    ShapeError
        If it is not known which trit is which.
    """
    pipeline, sweeper, netlist = fabric.pipeline, fabric.sweeper, subject.netlist
    for bit in fabric.outputs.values():
        pipeline.literal(bit)
    named = (
        pipeline.literal(bit) >> 1
        for wires in subject.main.nets.values()
        for bit in wires
        if pipeline.is_known(bit)
    )
    targets = [node for node in named if node >= fabric.first_of_design]
    anchors = [literal >> 1 for trit in fabric.nets for literal in trit]
    sweeper.sweep(targets, anchors, fabric.inputs.patterns(fabric.aig, NUM_WORDS))
    for output, places in enumerate(fabric.places):
        witness = _wrong_output(subject, fabric, output, places)
        if witness is not None:
            if fabric.is_split:
                raise ShapeError("Which output enters which of several ports is not known")
            text = f"Output {output} of the gates is wrong"
            return Claim("gates", Finding.REFUTED, text, witness)
    if netlist.head is None:
        ports = whole_outputs(subject, fabric)
        for place, literal in enumerate(ports["out_trits"]):
            output, plane = divmod(place, 2)
            example = sweeper.difference(fabric.nets[netlist.outputs[output]][plane], literal)
            if example is not None:
                text = f"Trit {output} of port 'out_trits' is wrong"
                return Claim("gates", Finding.REFUTED, text, explain(subject, fabric, example))
    text = (
        f"{len(netlist.outputs)} {_outputs_text(subject)} equal the tables of {netlist.num_gates} "
        f"gates for every input, and are never the illegal code "
        f"({sweeper.num_merged} equal nodes, {sweeper.num_questions} questions)"
    )
    return Claim("gates", Finding.PROVEN, text)


def _outputs_text(subject: Subject) -> str:
    kinds = subject.netlist.kinds[subject.netlist.outputs]
    return "output trits" if np.all(kinds == Kind.TRIT) else "outputs"


def _wrong_output(subject: Subject, fabric: Fabric, output: int, places: range) -> Witness | None:
    """Return an input for which wires that enter the sums are not what an output says."""
    net = fabric.entering[output]
    bits = {place: fabric.outputs[place] for place in places if place in fabric.outputs}
    wires = fabric.pipeline.literals(list(bits.values()))
    if subject.netlist.kinds[net] == Kind.SCORE:
        number = specification.value(fabric.aig, fabric.nets[net])
        try:
            code = find_code(fabric.aig, fabric.sweeper, number, wires, fabric.simulation)
        except CodeError as error:
            return _first_wrong(subject, fabric, output, error)
        fabric.codes[output] = code
        return None
    # The one wire of a bit is TRUE for +1.
    planes = fabric.nets[net][-len(places) :]
    for place, wire in zip(bits, wires, strict=True):
        example = fabric.sweeper.difference(planes[place - places.start], wire)
        if example is not None:
            return explain(subject, fabric, example)
    return None


def _first_wrong(subject: Subject, fabric: Fabric, output: int, error: CodeError) -> Witness:
    """Return for which of two inputs a design that has one word for both is wrong.

    Raises
    ------
    ShapeError
        If it is not wrong at its ports: then the wires stand for something else.
    """
    for example in error.examples:
        witness = explain(subject, fabric, example)
        if witness.expected != witness.got:
            return witness
    raise ShapeError(f"What the wires of output {output} stand for is not clear")


def prove_sums(subject: Subject, fabric: Fabric) -> tuple[Claim, int]:
    """Prove what enters the decision, given the trits that leave the gates.

    Returns
    -------
    claim, constant
        The claim, and the constant that all sums have in common.

    Raises
    ------
    PipelineError
        If the design is no pipeline.
    """
    codes = _codes(fabric)
    try:
        num_sums, constant = _summed(subject, fabric, codes)
    except SumError as error:
        witness = search(subject, fabric)
        outcome = Finding.OPEN if witness is None else Finding.REFUTED
        return Claim("sums", outcome, str(error), witness), 0
    what = "difference of the two scores" if num_sums == 1 else f"{num_sums} scores"
    text = f"{what} equal the sums of {len(codes)} {_summands_text(subject)}" + (
        f", all with the constant {constant:+d}" if constant else ""
    )
    if subject.gives_certain:
        text = (
            f"bounds of the {what} equal the counts of {len(codes)} trits: of those that are "
            "TRUE, and of those that are not FALSE"
        )
    return Claim("sums", Finding.PROVEN, text), constant


def _summands_text(subject: Subject) -> str:
    kinds = subject.netlist.kinds[subject.netlist.outputs]
    names = {Kind.TRIT: "trits", Kind.BIT: "bits", Kind.SCORE: "scores"}
    return " and ".join(name for kind, name in names.items() if np.any(kinds == kind))


def _codes(fabric: Fabric) -> list[Code]:
    """Return what the wires of each net that enters the sums stand for.

    A value that no input gives is proven to be impossible, and left out.
    """
    aig, (_, simulated) = fabric.aig, fabric.simulation
    codes = []
    for output, (net, places) in enumerate(zip(fabric.entering, fabric.places, strict=True)):
        if output in fabric.codes:
            codes.append(fabric.codes[output])
            continue
        minus, plus = fabric.nets[net]
        low, high = (_words(simulated, literal) for literal in (minus, plus))
        occur = {-1: low.any(), 0: (~(low | high)).any(), 1: high.any()}
        is_value = {-1: minus, 0: aig.both(minus ^ 1, plus ^ 1), 1: plus}
        values = [
            value
            for value, occurs in occur.items()
            if occurs or fabric.sweeper.example([is_value[value]]) is not None
        ]
        # The one wire of a bit is TRUE for +1.
        codes.append({word[-len(places) :]: value for word, value in trit_code(values).items()})
    return codes


def _words(simulated: Words, literal: Literal) -> Words:
    return ~simulated[literal >> 1] if literal & 1 else simulated[literal >> 1]


def _summed(subject: Subject, fabric: Fabric, codes: Sequence[Code]) -> tuple[int, int]:
    """Return how many sums there are, and the constant that they have in common.

    Raises
    ------
    SumError
        If they are no such sums, or could not be shown to be.
    """
    aig = Aig()
    inner = [bit for bit, _ in subject.wiring("groupsum")]
    inputs: list[SumInput] = []
    known: dict[Bit, Literal] = {}
    for output, (places, code) in enumerate(zip(fabric.places, codes, strict=True)):
        # Of a score there are the wires that were proven.
        used = [each for each in places if output not in fabric.codes or each in fabric.outputs]
        inputs.append(SumInput(tuple(aig.inputs(len(used))), code))
        known |= dict(zip((inner[each] for each in used), inputs[-1].wires, strict=True))
    groupsum, outside = subject.through("groupsum", aig, known, cuts=_between_levels(subject))
    scores = Pipeline(aig, subject.main, outside).literals(subject.score_bits())
    numbers = subject.numbers(scores)
    worths = _bound_worths(subject) if subject.gives_certain else _score_worths(subject)
    constants = [
        prove_sum(aig, number, inputs, _of_entering(subject, fabric, worth), groupsum.drivers)
        for number, worth in zip(numbers, worths, strict=True)
    ]
    if subject.gives_certain:
        if any(constants):
            raise SumError(f"The bounds are off by {constants}")
    elif len(set(constants)) > 1 or ((subject.gives_scores or len(numbers) == 1) and constants[0]):
        raise SumError(f"The sums are off by {sorted(set(constants))}")
    return subject.num_sums, constants[0]


def _between_levels(subject: Subject) -> set[Bit]:
    """Return the wires between the levels of a sum, where to cut it by their names."""
    nets = subject.block("groupsum").nets
    names = filter(_BETWEEN_LEVELS.fullmatch, nets)
    return {bit for name in names for bit in nets[name] if isinstance(bit, int)}


def _signs(subject: Subject) -> list[list[int]]:
    """Return for each sum how each output counts: its class, or the difference of the two."""
    sizes = subject.head.group_sizes
    if subject.num_sums == 1:
        return [np.repeat([1, -1], sizes).tolist()]
    return [np.repeat(np.arange(len(sizes)) == own, sizes).tolist() for own in range(len(sizes))]


def _score_worths(subject: Subject) -> list[list[Worth]]:
    """Return for each score, or their one difference, what each output counts."""
    return [[{v: sign * v for v in _VALUES} for sign in signs] for signs in _signs(subject)]


def _bound_worths(subject: Subject) -> list[list[Worth]]:
    """Return for each bound what each output counts: if it is TRUE, and if it is not FALSE.

    In a difference, what is not FALSE counts from −1 on, so that the two bounds add up to it.
    """
    above = subject.num_sums == 1
    sure: list[list[Worth]] = [
        [{v: int(sign * v > 0) for v in _VALUES} for sign in signs] for signs in _signs(subject)
    ]
    possible: list[list[Worth]] = [
        [{v: abs(sign) * int(sign * v >= 0) - above for v in _VALUES} for sign in signs]
        for signs in _signs(subject)
    ]
    return sure + possible


def _of_entering(subject: Subject, fabric: Fabric, worths: Sequence[Worth]) -> list[Worth]:
    """Return what each trit that enters the sums counts, of which several can be one net."""
    if len(fabric.entering) == len(worths):
        return list(worths)
    totals = {net: dict.fromkeys(_VALUES, 0) for net in fabric.entering}
    for net, worth in zip(subject.netlist.outputs.tolist(), worths, strict=True):
        for value in _VALUES:
            totals[net][value] += worth[value]
    return [totals[net] for net in fabric.entering]


def prove_decision(subject: Subject, fabric: Fabric, constant: int) -> Claim:
    """Prove the decision, given all scores that can occur with the constant of the sums.

    Raises
    ------
    PipelineError
        If the design is no pipeline.
    """
    head = subject.head
    aig = Aig()
    wiring = subject.wiring("argmax")
    scores_in = {outer: aig.input() for _, outer in wiring}
    limit = aig.inputs(subject.margin_bits)
    known = {inner: scores_in[outer] for inner, outer in wiring}
    _, outside = subject.through("argmax", aig, known, margin=limit)
    outputs = Pipeline(aig, subject.main, subject.past_control(aig, outside))
    entering = Pipeline(aig, subject.main, scores_in)
    numbers = subject.numbers(entering.literals(subject.score_bits()))
    ports = {port: outputs.literals(bits) for port, bits in subject.results.items()}
    sweeper = Sweeper(aig, _limits(subject, aig, numbers, constant), solver=HARD_SOLVER)
    for text, literals in _wrong_decisions(subject, aig, numbers, ports, limit):
        example = sweeper.example(literals)
        if example is not None:
            values = [_signed_value(number, example) for number in numbers]
            text = f"{text} for {_shown(subject, values, constant)}"
            return Claim("decision", Finding.REFUTED, text, search(subject, fabric))
    below = (
        "what port 'abstain_margin' says when the last stage takes a result"
        if limit
        else head.abstain_margin
    )
    more = {"certain": subject.gives_certain, "prediction set": subject.gives_set}
    told = "".join(f"{name}, " for name, is_told in more.items() if is_told)
    text = (
        f"first highest of {len(head.classes)} scores, margin, {told}and abstention below "
        f"{below}, for all scores that fit the groups"
    )
    return Claim("decision", Finding.PROVEN, text)


def _shown(subject: Subject, values: Sequence[int], constant: int) -> str:
    """Return the scores that enter the decision, or their bounds, as text."""
    count = subject.num_sums
    what = "score difference" if count == 1 else "scores"
    if not subject.gives_certain:
        return f"{what} {', '.join(str(value - constant) for value in values)}"
    scores, unknown = [], []
    for sure, entering, size in zip(
        values[:count], values[count:], _sum_sizes(subject), strict=True
    ):
        possible = entering + size if count == 1 else entering
        scores.append(sure + possible - size)
        unknown.append(possible - sure)
    return f"{what} {', '.join(map(str, scores))} with {', '.join(map(str, unknown))} UNKNOWN"


def _sum_sizes(subject: Subject) -> Sequence[int]:
    """Return how many outputs each sum has."""
    head = subject.head
    return [head.num_outputs] if subject.num_sums == 1 else head.group_sizes


def _limits(
    subject: Subject, aig: Aig, numbers: Sequence[Sequence[Literal]], constant: int
) -> list[Literal]:
    """Return that all numbers are in the range of their groups, and bounds in their order."""
    sizes, limits = _sum_sizes(subject), []
    if not subject.gives_certain:
        for number, size in zip(numbers, sizes, strict=True):
            most = subject.head.limit * size
            limits += _between(aig, number, constant - most, constant + most)
        return limits
    scores, unknowns = _scores(subject, aig, numbers)
    for score, unknown, size in zip(scores, unknowns, sizes, strict=True):
        limits += _between(aig, unknown, 0, size)
        for bound in specification.bounds(aig, score, unknown):
            limits += _between(aig, bound, -size, size)
    return limits


def _scores(
    subject: Subject, aig: Aig, numbers: Sequence[Sequence[Literal]]
) -> tuple[list[Sequence[Literal]], list[Sequence[Literal]]]:
    """Return the scores that enter the decision, and how many outputs of each are UNKNOWN.

    With bounds, outputs that are TRUE and that are not FALSE are counted: the score is what they
    come to, less the number of outputs, and what is UNKNOWN is between them.
    """
    count = subject.num_sums
    if not subject.gives_certain:
        return list(numbers), []
    scores: list[Sequence[Literal]] = []
    unknowns: list[Sequence[Literal]] = []
    bounds = zip(numbers[:count], numbers[count:], _sum_sizes(subject), strict=True)
    for sure, possible, size in bounds:
        width = len(sure) + 2
        number = [TRUE if size >> place & 1 else FALSE for place in range(width)]
        counted = possible
        if count == 1:
            # There, what is not FALSE counts from −1 on.
            counted = specification.signed_sum(aig, possible, number, width)
        both = specification.signed_sum(aig, sure, counted, width)
        scores.append(specification.difference(aig, both, number, width))
        unknowns.append(specification.difference(aig, counted, sure, width))
    return scores, unknowns


def _between(aig: Aig, number: Sequence[Literal], lowest: int, highest: int) -> list[Literal]:
    return [
        specification.at_least(aig, number, lowest, signed=True),
        specification.at_least(aig, number, highest + 1, signed=True) ^ 1,
    ]


def _wrong_decisions(
    subject: Subject,
    aig: Aig,
    numbers: Sequence[Sequence[Literal]],
    ports: Mapping[str, list[Literal]],
    limit: Sequence[Literal],
) -> Iterator[tuple[str, list[Literal]]]:
    """Yield what would be wrong if some literals could all be TRUE."""
    count = subject.num_sums
    scores, unknowns = _scores(subject, aig, numbers)
    if count == 1:
        # As if the second score were 0 and had no UNKNOWN outputs: the difference has them all.
        scores, unknowns = [scores[0], [FALSE]], [*unknowns, [FALSE]]
    chosen, unknown = ports["out_class"], ports["out_unknown"]
    abstain_margin = subject.head.abstain_margin
    for index, is_class in enumerate(specification.first_highest(aig, scores)):
        code = aig.all(bit ^ 1 ^ (index >> place & 1) for place, bit in enumerate(chosen))
        yield "The class is wrong", [is_class, code ^ 1]
        # One class at a time: then the solver need not compare all with all.
        others = [score for other, score in enumerate(scores) if other != index]
        expected = specification.margin_over(aig, scores[index], others)
        if "out_margin" in ports:
            margin = [*ports["out_margin"], FALSE]
            yield "The margin is wrong", [is_class, specification.equal(aig, margin, expected) ^ 1]
        else:
            abstains = specification.abstains(aig, expected, limit, abstain_margin)
            yield "The abstention is wrong", [is_class, aig.differ(unknown[0], abstains)]
        if subject.gives_certain:
            certain = specification.is_certain(aig, index, scores, unknowns)
            wrong = aig.differ(ports["out_certain"][0], certain)
            yield "What is certain is wrong", [is_class, wrong]
        if subject.gives_set:
            members = specification.members(aig, scores[index], scores, subject.head.set_margin)
            for other, (got, want) in enumerate(zip(ports["out_set"], members, strict=True)):
                text = f"Class {other} in the prediction set is wrong"
                yield text, [is_class, aig.differ(got, want)]
    if "out_margin" in ports:
        # The margin is known to be right by now.
        margin = [*ports["out_margin"], FALSE]
        abstains = specification.abstains(aig, margin, limit, abstain_margin)
        yield "The abstention is wrong", [aig.differ(unknown[0], abstains)]
    if subject.gives_scores:
        pairs = zip(subject.split(ports["out_scores"], count), scores, strict=True)
        for index, pair in enumerate(pairs):
            yield f"Score {index} is wrong", [specification.equal(aig, *pair) ^ 1]


def _signed_value(number: Sequence[Literal], example: Mapping[Literal, bool]) -> int:
    bits = [int(example.get(literal & ~1, False)) ^ (literal & 1) for literal in number]
    return read_integer(bits, signed=True)


def prove_latency(subject: Subject, fabric: Fabric) -> Claim:
    """Prove that every result belongs to one vector: all paths have the same registers.

    Raises
    ------
    PipelineError
        If they have not.
    """
    passed, is_exact = _registers_passed(fabric.pipeline, fabric.outputs.values())
    for block in ("groupsum", "argmax") if subject.netlist.head else ():
        aig = Aig()
        known = {inner: aig.input() for inner, _ in subject.wiring(block)}
        limit = aig.inputs(subject.margin_bits)
        pipeline, _ = subject.through(block, aig, known, margin=limit)
        netlist = subject.block(block)
        outputs = (
            bit
            for port, direction in netlist.directions.items()
            if direction == "output"
            for bit in netlist.ports[port]
        )
        more, has_data = _registers_passed(pipeline, outputs)
        passed, is_exact = passed + more, is_exact and has_data
    return _latency(subject, passed, is_exact=is_exact)


def prove_whole_latency(subject: Subject, whole: Whole) -> Claim:
    """Prove the same of a whole design.

    Raises
    ------
    PipelineError
        If it does not hold.
    """
    assert whole.pipeline is not None
    passed, is_exact = _registers_passed(whole.pipeline, whole.bits)
    return _latency(subject, passed, is_exact=is_exact)


def _latency(subject: Subject, passed: int, *, is_exact: bool) -> Claim:
    # The last register is that of the result in control.
    passed += 1
    if passed > subject.latency or (is_exact and passed < subject.latency):
        raise PipelineError(
            f"A vector passes {passed} registers, but the latency is {subject.latency}"
        )
    return Claim("latency", Finding.PROVEN, f"every path has {subject.latency} registers")


def _registers_passed(pipeline: Pipeline, outputs: Iterable[Bit]) -> tuple[int, bool]:
    """Return how many registers lie before some outputs, and whether a vector passes them.

    It does not if all outputs are constant; then that many are on the longest path.
    """
    constants, data = {0}, set[int]()
    for bit in outputs:
        (constants if pipeline.is_constant(bit) else data).add(pipeline.depth(bit))
    if len(data) > 1:
        passes = " and ".join(map(str, sorted(data)))
        raise PipelineError(f"Bits of one result pass {passes} registers")
    if data and max(constants) > min(data):
        raise PipelineError(
            f"A constant is there only after {max(constants)} registers, but its result after "
            f"{min(data)}"
        )
    return max(data or constants), bool(data)
