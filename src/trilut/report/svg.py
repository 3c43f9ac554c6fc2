"""Figures as SVG text: one style for all, and ink that follows the page.

What draws is imported when something is drawn: who draws nothing need not have it.
"""

import functools
import io
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from trilut.text import cut, visible

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["CLASS_COLOURS", "new_figure", "plain_text", "styled", "svg_file", "svg_text"]

CLASS_COLOURS = ("#4c78a8", "#f58518", "#54a24b", "#e45756", "#72b7b2", "#b279a2")
"""One for each class, from the start again if there are more."""

# Replaced by the colour of the text around the figure, so no figure may use it for anything else.
_INK = "#1f2329"
_FAINT = "#8a8f98"
# Inches from which on a figure is given the whole width of a page.
_WIDE = 7.0
_STYLE: dict[str, Any] = {
    "text.color": _INK,
    "axes.labelcolor": _INK,
    "xtick.labelcolor": _INK,
    "ytick.labelcolor": _INK,
    "xtick.color": _FAINT,
    "ytick.color": _FAINT,
    "axes.edgecolor": _FAINT,
    "axes.linewidth": 0.8,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlelocation": "left",
    "axes.titlesize": "medium",
    "axes.titleweight": "bold",
    "axes.axisbelow": True,
    "grid.color": _FAINT,
    "grid.alpha": 0.25,
    "grid.linewidth": 0.6,
    "legend.frameon": False,
    "font.size": 9,
}

_Parameters = ParamSpec("_Parameters")
_Drawn = TypeVar("_Drawn")


def styled(draw: Callable[_Parameters, _Drawn]) -> Callable[_Parameters, _Drawn]:
    """Let a function draw in the style of all figures, whatever the user has set matplotlib to."""

    @functools.wraps(draw)
    def drawn(*args: _Parameters.args, **kwargs: _Parameters.kwargs) -> _Drawn:
        import matplotlib
        from matplotlib import rcsetup

        cycle = {"axes.prop_cycle": rcsetup.cycler(color=CLASS_COLOURS)}
        with matplotlib.rc_context():
            matplotlib.rcdefaults()
            matplotlib.rcParams.update(_STYLE | cycle)
            return draw(*args, **kwargs)

    return drawn


def new_figure(width: float, height: float) -> "Figure":
    """Return an empty figure of a size in inches."""
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained")


def svg_text(figure: "Figure") -> str:
    """Return a figure as an SVG element of a page: without background, in the page's ink.

    A figure for the whole width has the class ``wide``.
    """
    text = _render(figure, transparent=True).replace(_INK, "currentColor")
    return text.replace("<svg", '<svg class="wide"', 1) if figure.get_figwidth() > _WIDE else text


def svg_file(figure: "Figure") -> str:
    """Return a figure as an SVG file: dark on white, wherever it is shown."""
    return _render(figure, transparent=False)


def _render(figure: "Figure", *, transparent: bool) -> str:
    import matplotlib

    text = io.StringIO()
    # Without a date and with fixed ids, equal figures give equal text.
    with matplotlib.rc_context({"svg.hashsalt": "trilut"}):
        figure.savefig(text, format="svg", metadata={"Date": None}, transparent=transparent)
    return text.getvalue()[text.getvalue().index("<svg") :]


def plain_text(name: str) -> str:
    """Return a name that matplotlib prints as it is."""
    # A dollar sign would start mathematics.
    return cut(visible(name), 60).replace("$", r"\$")
