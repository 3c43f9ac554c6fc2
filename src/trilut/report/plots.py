"""Figures of a synthesis, as SVG text."""

from collections.abc import Mapping, Sequence
from typing import Any

from trilut.report.svg import new_figure, plain_text, styled, svg_text

__all__ = ["block_figure", "pareto_figure", "path_figure", "section_figures", "seeds_figure"]

_BLUE, _ORANGE, _GREEN, _GREY = "#4c78a8", "#f58518", "#54a24b", "#bab0ac"


def section_figures(section: Mapping[str, Any]) -> list[str]:
    """Draw what a section has: blocks, the critical path, and the spread of the seeds."""
    figures = []
    if section["blocks"]:
        figures.append(block_figure(section["blocks"], asic=section["asic"] is not None))
    if section["critical_path"]:
        figures.append(path_figure(section["critical_path"]))
    if len(section["fmax_seeds_mhz"]) > 1:
        figures.append(seeds_figure(section["fmax_seeds_mhz"], section["goal_mhz"]))
    return figures


@styled
def block_figure(blocks: Mapping[str, Mapping[str, Any]], *, asic: bool) -> str:
    """Draw the area and the flip-flops of each block, in the order of the data's way."""
    names = list(blocks)[::-1]
    key = "area" if asic else _largest_lut(blocks)
    figure = new_figure(5.4, min(12, 1.2 + 0.28 * len(names)))
    axis = figure.subplots()
    places = range(len(names))
    area = [blocks[name][key] for name in names]
    registers = [blocks[name]["ff"] for name in names]
    if asic:
        axis.barh(list(places), area, 0.5, color=_BLUE)
    else:
        label = f"{key[:4].upper()} equivalents"
        axis.barh([place + 0.2 for place in places], area, 0.4, label=label, color=_BLUE)
        axis.barh([place - 0.2 for place in places], registers, 0.4, label="FF", color=_GREY)
        axis.legend(loc="best")
    axis.set_yticks(list(places), [plain_text(name) for name in names])
    axis.set_title("Area by block")
    return svg_text(figure)


def _largest_lut(blocks: Mapping[str, Mapping[str, Any]]) -> str:
    totals = {
        key: sum(cells.get(key, 0) for cells in blocks.values())
        for key in ("lut4_equivalents", "lut6_equivalents")
    }
    return max(totals, key=lambda key: totals[key])


@styled
def path_figure(hops: Sequence[Mapping[str, Any]]) -> str:
    """Draw the critical path along time, logic and routing in two colours."""
    figure = new_figure(5.4, 1.9)
    axis = figure.subplots()
    time = 0.0
    colours = {"routing": _ORANGE, "clk-to-q": _GREEN, "setup": _GREEN, "clk-skew": _GREY}
    seen = set()
    for hop in hops:
        colour = colours.get(hop["kind"], _BLUE)
        label = {_ORANGE: "routing", _GREEN: "register", _GREY: "clock skew"}.get(colour, "logic")
        axis.barh(
            0,
            hop["delay_ns"],
            0.5,
            left=time,
            color=colour,
            edgecolor="white",
            linewidth=0.8,
            label=None if label in seen else label,
        )
        seen.add(label)
        time += hop["delay_ns"]
    axis.set_yticks([])
    axis.set_ylim(-0.5, 0.5)
    axis.set_xlabel("ns")
    axis.set_title(f"Critical path, {time:.2f} ns")
    axis.legend(ncols=4, loc="upper center", bbox_to_anchor=(0.5, -0.35))
    return svg_text(figure)


@styled
def seeds_figure(seeds: Mapping[str, float], goal: float) -> str:
    """Draw the frequency of each seed of the placer beside the goal."""
    figure = new_figure(4, 2.4)
    axis = figure.subplots()
    values = sorted(seeds.values())
    axis.plot(range(1, len(values) + 1), values, "o", color=_BLUE)
    axis.axhline(goal, color=_GREY, linestyle="--", linewidth=1)
    axis.annotate("goal", (1, goal), textcoords="offset points", xytext=(0, 3))
    axis.set_xlabel("seeds, slowest first")
    axis.set_ylabel("Fmax, MHz")
    axis.set_title("Seeds of the placer")
    return svg_text(figure)


@styled
def pareto_figure(points: Sequence[Mapping[str, Any]], name: str, key: str) -> str:
    """Draw a figure of points against their area, those that no other beats joined by a line.

    Parameters
    ----------
    points : sequence of mapping
        Points of an exploration with an ``area`` and the figure.
    name : str
        Which front to draw, as the points' ``best_in`` calls it.
    key : str
        The figure: ``validation``, the accuracy that designs are chosen by, or ``latency_ns``.
    """
    is_accuracy = key == "validation"
    scale, label = (100, "validation accuracy (%)") if is_accuracy else (1, "latency (ns)")
    figure = new_figure(5.4, 3.8)
    axis = figure.subplots()
    front = sorted((p for p in points if name in p["best_in"]), key=lambda point: point["area"])
    axis.step(
        [point["area"] for point in front],
        [scale * point[key] for point in front],
        where="post",
        color=_GREY,
        zorder=1,
    )
    for pipeline in sorted({point["pipeline"] for point in points}):
        own = [point for point in points if point["pipeline"] == pipeline]
        axis.plot(
            [point["area"] for point in own],
            [scale * point[key] for point in own],
            "o",
            alpha=0.85,
            label=f"pipeline {pipeline}",
        )
    for point in points:
        axis.annotate(
            str(point["point"]),
            (point["area"], scale * point[key]),
            xytext=(4, 3),
            textcoords="offset points",
            fontsize="x-small",
        )
    axis.set_xlabel(f"area ({points[0]['unit']})")
    axis.set_ylabel(label)
    axis.set_title(f"Area and {name}")
    axis.grid()
    axis.legend()
    return svg_text(figure)
