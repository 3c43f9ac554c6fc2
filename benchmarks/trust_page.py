"""Make docs/trust-results.md of docs/trust-results.json.

Usage: python benchmarks/trust_page.py

What is not measured yet is left out; every table says how many seeds it has.
"""

import json
import math
import statistics
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from missing_features import DROPPED, KINDS
from trust import KINDS as TRUST_KINDS
from trust import NUM_SPLITS
from trust_rows import RESULTS, SETS

from trilut.files import write_atomically

SHOWN = (0.0, 0.1, 0.3, 0.5)
RIVALS = tuple(str(kind) for kind in KINDS if kind.recipe in ("binary", "DLGN"))

INTRODUCTION = """\
# Trust, measured

Made by `make bench-trust` (`benchmarks/missing_features.py`, `benchmarks/trust.py`, and
`benchmarks/trust_page.py`, which makes this page of `trust-results.json`). What the words mean is
in [How far an answer can be trusted](trust.md).
"""

MISSING = """\
## With features missing

Accuracy of the hardened circuit on the test set in per cent, mean ± standard deviation over the
seeds. Every value is lost on its own, and the same ones for all circuits. *Ternary* circuits take
a missing feature as UNKNOWN, *kleene* ones have information-monotone gates only. *Binary*
circuits have the same recipe, layers, steps and wiring, *DLGN* its own recipe; both have as many
thresholds as tell what the trits do, and take a missing feature as small. *Prepared*: trained
with 0 to 50 % missing, and chosen so. *Filled*: something in front of the circuit puts in the
median; a prepared one has been trained so.
"""

VERDICT = """\
### Prepared ternary circuits against the best of the binary ones

The difference in points to the binary circuit that is best at that share (prepared or not, filled
or not: chosen by its mean here, so in its favour), with its standard error over the seeds.
**Bold**: behind by more than one standard error.
"""

CERTAIN = """\
## Certain answers

Per cent of the answers to test samples that are certain, by the share of features that are
missing, and random completions that were tried for those: values of other samples, of the range,
and from beyond it. *Right* is the share of right ones among the certain answers with nothing
missing.
"""

RISK = """\
## Guaranteed risk

200 calibrations for each seed, with a confidence of 95 % and half as many samples as the test set
has. *Draws* are drawn with replacement from the test set, as if it were all samples that there
are; so whether a promise is broken is known exactly: that may happen in 5 % of the calibrations,
those without a promise counted too. *Splits* are halves of the test set: a promise is made from
one half, and the other half judges it. A half with few errors leaves many to the other, and the
judge is a small sample itself. So a judge may count more errors than were promised although the
promise holds. *Refuted* counts the splits in which that is no accident: fewer than 5 % of judges
would see so many errors if the risk were just as promised.
*Answered* is the mean share that is answered (draws), *at best* what could be if all labels were
known. Rows without a promise are sets that have too few samples, or too many errors, for it.
"""

TOLERANCE = """\
## Tolerance

Certified accuracy on the test set in per cent: answers that are certain, and right, if every
feature is off by up to this share of its range; and random errors within it that were tried.
"""

HARDWARE = """\
## In hardware

LUT4 equivalents of an ECP5 for the whole design after Yosys, before packing; the circuit of the
first seed, information-monotone and prepared.
"""


def main() -> None:
    results = json.loads(RESULTS.read_text())
    parts = [
        [INTRODUCTION, *(f"Machine: {each}.\n" for each in results["machines"])],
        missing_part(results.get("missing", {})),
        certain_part(results),
        risk_part(results.get("risk", {})),
        tolerance_part(results.get("tolerance", {})),
        hardware_part(results.get("hardware", {})),
    ]
    lines = [line for part in parts for line in part]
    page = RESULTS.with_suffix(".md")
    write_atomically(page, "\n".join(lines).rstrip() + "\n")
    print(page)


def spread(values: Sequence[float]) -> str:
    """Return mean and standard deviation as text."""
    if len(values) == 1:
        return f"{values[0]:.2f}"
    return f"{statistics.mean(values):.2f} ± {statistics.stdev(values):.2f}"


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Return the lines of a table in Markdown."""
    return [
        f"| {' | '.join(head)} |",
        f"{'|---' * len(head)}|",
        *(f"| {' | '.join(row)} |" for row in rows),
        "",
    ]


def curves(results: dict[str, Any], name: str, kind: str) -> list[list[float]]:
    """Return the accuracies of a kind of circuit, seed by seed."""
    return [rows[kind] for _, rows in sorted(results.get(name, {}).items()) if kind in rows]


def missing_part(results: dict[str, Any]) -> Iterator[str]:
    """Yield the tables of all kinds, and how the ternary ones do."""
    yield MISSING
    for name in SETS:
        rows = []
        for kind in map(str, KINDS):
            found = curves(results, name, kind)
            if found:
                cells = [
                    spread([curve[DROPPED.index(share)] for curve in found]) for share in SHOWN
                ]
                rows.append([kind, *cells, str(len(found))])
        if rows:
            yield from table([name, *(f"{100 * share:.0f} %" for share in SHOWN), "seeds"], rows)
    yield VERDICT
    head = ["set", *(f"{k}, {100 * s:.0f} %" for k in ("ternary", "kleene") for s in SHOWN[1:])]
    rows, means = [], []
    for name in SETS:
        differences = [
            against_the_best(results, name, f"{kind}, prepared", DROPPED.index(share))
            for kind in ("ternary", "kleene")
            for share in SHOWN[1:]
        ]
        if all(each is not None for each in differences):
            rows.append([name, *(text for _, text in differences)])
            means.append([mean for mean, _ in differences])
    if rows:
        mean = [f"{statistics.mean(column):+.2f}" for column in zip(*means, strict=True)]
        yield from table(head, [*rows, ["**mean**", *mean]])


def against_the_best(
    results: dict[str, Any], name: str, kind: str, place: int
) -> tuple[float, str] | None:
    """Return the mean difference to the best binary circuit, and it with its standard error."""
    own = [curve[place] for curve in curves(results, name, kind)]
    found = [[curve[place] for curve in curves(results, name, rival)] for rival in RIVALS]
    # Kinds are compared seed by seed, with as many as the best known ones have.
    count = min(len(own), max(map(len, found)))
    if not count:
        return None
    best = max((rival[:count] for rival in found if len(rival) >= count), key=statistics.mean)
    differences = [mine - theirs for mine, theirs in zip(own, best, strict=False)]
    mean = statistics.mean(differences)
    if len(differences) == 1:
        return mean, f"{mean:+.2f}"
    error = statistics.stdev(differences) / math.sqrt(len(differences))
    text = f"{mean:+.2f} ± {error:.2f}"
    return mean, f"**{text}**" if mean < -error - 1e-6 else text


def each_kind(
    results: dict[str, Any], row: Callable[[list[Any]], list[list[str]]]
) -> Iterator[list[str]]:
    """Yield rows of all sets and kinds that there are, from the results of all seeds."""
    for name in SETS:
        for kind in map(str, TRUST_KINDS):
            found = [
                rows[kind] for _, rows in sorted(results.get(name, {}).items()) if kind in rows
            ]
            for cells in row(found) if found else ():
                yield [
                    f"{name}{', certainty' * kind.endswith('certainty')}",
                    *cells,
                    str(len(found)),
                ]


def mean(found: list[Any], place: int, what: str, digits: int = 1) -> str:
    """Return the mean over seeds of what there is."""
    values = [points[place][what] for points in found if points[place][what] is not None]
    return f"{statistics.mean(values):.{digits}f}" if values else "–"


def tries(found: list[Any]) -> list[str]:
    """Return how many tries were made, and how many changed something."""
    return [
        f"{sum(point[what] for points in found for point in points):,}"
        for what in ("tried", "changed")
    ]


def certain_part(results: dict[str, Any]) -> Iterator[str]:
    """Yield the table of certain answers, and what was proven."""
    found = results.get("certain", {})
    shares = next(
        (
            [point["missing"] for point in points]
            for seeds in found.values()
            for kinds in seeds.values()
            for points in kinds.values()
        ),
        [],
    )

    def row(found: list[Any]) -> list[list[str]]:
        cells = [mean(found, place, "certain") for place in range(len(shares))]
        accuracy = [mean(found, 0, "accuracy", 2), mean(found, 0, "right", 2)]
        return [[*cells, *accuracy, *tries(found)]]

    yield CERTAIN
    head = ["set", *(f"{100 * share:.0f} % missing" for share in shares)]
    head += ["accuracy", "right", "completions", "changed", "seeds"]
    yield from table(head, list(each_kind(found, row)))
    proofs = [
        proof
        for seeds in results.get("proof", {}).values()
        for kinds in seeds.values()
        for proof in kinds.values()
    ]
    by_sat = [proof["sat"] for proof in proofs if "sat" in proof]
    yield (
        "That no value of a missing feature changes an output is proven by induction over the "
        f"gates for all {len(proofs)} circuits. For {len(by_sat)} of them, of up to 500 gates, a "
        "SAT solver, which knows nothing of monotone gates, proves it for each of "
        f"{sum(by_sat)} outputs again.\n"
    )


def risk_part(results: dict[str, Any]) -> Iterator[str]:
    """Yield the tables of promises."""

    def row(found: list[Any]) -> list[list[str]]:
        lines = []
        for place, first in enumerate(found[0]["risks"]):
            points = [each["risks"][place] for each in found]
            promised = sum(point["draws"]["promised"] for point in points)
            if not promised:
                continue
            total = NUM_SPLITS * len(points)
            broken = [sum(point[how]["broken"] for point in points) for how in ("draws", "splits")]
            refuted = [point["splits"].get("refuted") for point in points]
            shown = [
                statistics.mean(
                    point["draws"][what] for point in points if point["draws"][what] is not None
                )
                for what in ("error", "answered")
            ]
            best = statistics.mean(point["best"] for point in points)
            lines.append(
                [
                    f"{100 * first['risk']:.0f} %",
                    str(first["samples"]),
                    f"{promised} of {total}",
                    *(f"{each} ({100 * each / total:.1f} %)" for each in broken),
                    str(sum(refuted)) if None not in refuted else "–",
                    f"{shown[0]:.2f} %",
                    f"{shown[1]:.1f} % ({best:.1f} %)",
                ]
            )
        return lines

    def sets(found: list[Any]) -> list[list[str]]:
        covered = statistics.mean(each["sets"]["covered"] for each in found)
        size = statistics.mean(each["sets"]["size"] for each in found)
        return [[f"{covered:.2f} %", f"{size:.2f}"]]

    yield RISK
    head = ["set", "risk", "samples", "promised", "broken (draws)", "broken (splits)"]
    head += ["refuted", "error"]
    yield from table([*head, "answered (at best)", "seeds"], list(each_kind(results, row)))
    yield "Prediction sets with a coverage of 95 %: how often they have the class, and size.\n"
    yield from table(["set", "covered", "classes", "seeds"], list(each_kind(results, sets)))


def tolerance_part(results: dict[str, Any]) -> Iterator[str]:
    """Yield the table of certified accuracies."""

    def row(found: list[Any]) -> list[list[str]]:
        places = range(len(found[0]))
        return [[*(mean(found, place, "certified") for place in places), *tries(found)]]

    yield TOLERANCE
    head = ["set", "1 %", "2 %", "5 %", "errors tried", "changed", "seeds"]
    yield from table(head, list(each_kind(results, row)))


def hardware_part(results: dict[str, Any]) -> Iterator[str]:
    """Yield the table of what the ports take, and what was checked."""
    rows, verdicts = [], []
    for name in SETS:
        for _, kinds in sorted(results.get(name, {}).items()):
            for found in kinds.values():
                plain = found["plain"]["lut4"]
                cells = [
                    f"{found[kind]['lut4']:,} ({found[kind]['lut4'] / plain - 1:+.1%})"
                    for kind in ("certain", "set", "both")
                ]
                cycles = f"{found['plain']['cycles']} → {found['both']['cycles']}"
                registers = f"{found['plain']['ff']:,} → {found['both']['ff']:,}"
                rows.append([name, f"{plain:,}", *cells, registers, cycles])
                verdicts += [
                    f"- {name}, {level}: {verdict}" for level, verdict in found["verified"].items()
                ]
    if rows:
        yield HARDWARE
        head = ["set", "plain", "`--certain`", "`--prediction-set`", "both", "FF", "cycles"]
        yield from table(head, rows)
        yield "The designs with both ports, checked against the netlist:\n"
        yield from verdicts


if __name__ == "__main__":
    main()
