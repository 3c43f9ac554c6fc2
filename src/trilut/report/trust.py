"""Rows about how far answers can be trusted."""

from collections.abc import Mapping, Sequence

from trilut.measure.calibration import Coverage, Risk
from trilut.measure.tolerance import TolerancePoint
from trilut.report.summary import percent

__all__ = ["calibration_rows", "tolerance_rows"]


def calibration_rows(
    samples: str, risk: Risk | None, coverage: Coverage | None, check: Mapping[str, float | None]
) -> dict[str, str]:
    """Describe promises, what they rest on, and what came of them."""
    rows = {"calibrated on": samples}
    if risk is not None:
        whose = " of each class" if risk.per_class else ""
        rows["promise"] = (
            f"at most {percent(risk.risk)} of the answers{whose} are wrong, "
            f"with confidence {percent(risk.confidence)}"
        )
        rows["abstention margin"] = (
            f"{risk.margin}: {risk.answered} answered ({percent(risk.coverage)}), "
            f"{risk.errors} of them wrong"
        )
    if coverage is not None:
        rows["promise of sets"] = (
            f"the right class is in the set with probability {percent(coverage.coverage)}"
        )
        rows["set margin"] = f"{coverage.margin}: {coverage.mean_size:.2f} classes on average"
    rows["not promised"] = "anything about samples that are drawn otherwise, or another netlist"
    if check:
        error = check["error"]
        wrong = "" if error is None else f", {percent(error)} of them wrong"
        rows["check on the other half"] = (
            f"{check['samples']} samples, {percent(check['answered'] or 0)} answered{wrong}"
        )
        if "covered" in check:
            rows["check of sets"] = (
                f"{percent(check['covered'] or 0)} have the right class, "
                f"{check['set_size']:.2f} classes on average"
            )
    return rows


def tolerance_rows(points: Sequence[TolerancePoint]) -> dict[str, str]:
    """Describe what errors of features of each size could do."""
    return {
        f"tolerance {point.tolerance}": f"{percent(point.certain)} certain, certified accuracy "
        f"{percent(point.certified)}"
        for point in points
    }
