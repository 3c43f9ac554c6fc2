"""The page of tables.py: docs/tables.md, made from docs/tables-results.json."""

import statistics
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from trilut.files import write_atomically

__all__ = ["PAGE", "RESULTS", "write_page"]

PAGE = Path("docs/tables.md")
RESULTS = Path("docs/tables-results.json")

# What is above this line is written by hand.
MARK = "<!-- From here on: benchmarks/tables.py, from tables-results.json -->"

WANTED = {
    "normal": ("Defaults", 1.5, 60.0),
    "best": ("`--effort best`", 0.7, None),
    "quick": ("`--effort quick`", None, None),
}
# How far below HGB a table may be, and tables of more classes than others.
MOST_DISTANCE, MOST_OF = 4.0, {"letter": 5.0}
# How many times as large as the trees a circuit may be.
MOST_RATIO = 1.1

Row = Mapping[str, Any]


def write_page(rows: Mapping[str, Row], names: Sequence[str]) -> None:
    """Write what has been measured as Markdown."""
    text, mark, _ = PAGE.read_text().partition(MARK)
    assert mark, f"{PAGE} has no line {MARK}"
    lines = [text + mark, ""]
    for effort, (title, _, _) in WANTED.items():
        own = {
            name: [row for key, row in sorted(rows.items()) if key.startswith(f"{effort}/{name}/")]
            for name in names
        }
        measured = {name: found for name, found in own.items() if found}
        if measured:
            lines += [f"## {title}", "", *table_lines(measured), "", *verdicts(effort, measured)]
            if absent := [name for name in names if name not in measured]:
                lines.append(f"- Not measured yet: {', '.join(absent)}.")
            lines.append("")
    made_with = sorted({row["made_with"] for row in rows.values()})
    lines += [f"Measured on two cores, shared with other work: {'; '.join(made_with)}.", ""]
    write_atomically(PAGE, "\n".join(lines))


def table_lines(measured: Mapping[str, Sequence[Row]]) -> list[str]:
    """Return a table in Markdown, a line for each table with the means over its seeds."""
    lines = [
        "| table | train × features, classes | seeds | TriLUT | HGB | distance | CPU s | LUT4 | "
        "trees LUT4 | ours ÷ trees | trees test | MHz |",
        "|---|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    for name, found in measured.items():
        first = found[0]
        worse = any(row["trees"]["validation"] < row["validation"] for row in found)
        speeds = [row["fmax_mhz"] for row in found if row["fmax_mhz"]]
        cells = [
            name,
            f"{first['samples']:,} × {first['features']}, {first['classes']}",
            str(len(found)),
            f"{100 * mean(found, lambda row: row['test']):.2f}",
            f"{100 * mean(found, lambda row: row['hgb']['test']):.2f}",
            f"{distance(found):+.2f}",
            f"{mean(found, seconds):.0f}",
            f"{mean(found, lambda row: row['lut4']):,.0f}",
            f"{mean(found, lambda row: row['trees']['lut4']):,.0f}{'*' if worse else ''}",
            f"{ratio(found):.2f}",
            f"{100 * mean(found, lambda row: row['trees']['test']):.2f}",
            f"{speeds[0]:.0f}" if speeds else "–",
        ]
        lines.append(f"| {' | '.join(cells)} |")
    return lines


def verdicts(effort: str, measured: Mapping[str, Sequence[Row]]) -> list[str]:
    """Say what was wanted, and what came out."""
    _, most, most_seconds = WANTED[effort]
    distances = {name: distance(found) for name, found in measured.items()}
    average = statistics.fmean(distances.values())
    wanted = "" if most is None else f" (wanted: at most {most})"
    lines = [f"- Mean distance {average:+.2f} pp{wanted}."]
    if most_seconds is not None:
        far = {
            name: gap for name, gap in distances.items() if gap > MOST_OF.get(name, MOST_DISTANCE)
        }
        lines.append(f"- Further from HGB than wanted (4 pp, letter 5): {listed(far, '+.2f')}.")
        slowest = max(measured, key=lambda name: max(map(seconds, measured[name])))
        longest = max(map(seconds, measured[slowest]))
        lines.append(
            f"- The longest training took {longest:.0f} CPU-seconds, of {slowest} "
            f"(wanted: at most {most_seconds:.0f})."
        )
    ratios = {name: ratio(found) for name, found in measured.items()}
    larger = {name: each for name, each in ratios.items() if each > MOST_RATIO}
    smaller = sum(each < 1 for each in ratios.values())
    lines += [
        f"- Ours ÷ trees: geometric mean {statistics.geometric_mean(ratios.values()):.2f}; smaller "
        f"on {smaller} of {len(ratios)} tables (wanted: at least half); more than the {MOST_RATIO} "
        f"that were wanted on the others: {listed(larger, '.2f')}.",
    ]
    return lines


def listed(numbers: Mapping[str, float], form: str) -> str:
    ordered = sorted(numbers.items(), key=lambda item: -item[1])
    return ", ".join(f"{name} {number:{form}}" for name, number in ordered) or "none"


def mean(found: Sequence[Row], of: Callable[[Row], float]) -> float:
    return statistics.fmean(of(row) for row in found)


def seconds(row: Row) -> float:
    return float(row["cpu_seconds"])


def distance(found: Sequence[Row]) -> float:
    """Return by how many points HGB is better."""
    return 100 * mean(found, lambda row: row["hgb"]["test"] - row["test"])


def ratio(found: Sequence[Row]) -> float:
    """Return how many times as large as the trees the circuit is."""
    return mean(found, lambda row: row["lut4"]) / mean(found, lambda row: row["trees"]["lut4"])
