"""Verification of the hardware of a netlist file."""

import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from tempfile import mkdtemp
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from trilut.app.console import stages, talk
from trilut.circuit.format import load_circuit
from trilut.circuit.sequential import Circuit, SequentialNetlist
from trilut.errors import NetlistError, ToolError, TrilutError
from trilut.hdl.options import HardwareOptions
from trilut.measure.matching import features_for, netlist_dataset
from trilut.report.verification import verification_document, write_verification

if TYPE_CHECKING:
    from trilut.verify import Verification

__all__ = ["describe_verification", "verify_file"]


def verify_file(
    path: str | Path,
    options: HardwareOptions | None = None,
    *,
    output: str | Path | None = None,
    data: str | None = None,
    **settings: Any,
) -> "Verification":
    """Check the hardware of a netlist file against the netlist.

    Parameters
    ----------
    options : HardwareOptions, optional
        What shapes the hardware.
    output : path, optional
        Directory for ``verification.json`` and the logs. By default nothing is kept, but for the
        logs that a message names, in a temporary directory.
    data : str, optional
        The data set whose test samples are driven too; by default the one that the netlist was
        trained on, if it says so and the data are still there.
    settings
        As of :func:`trilut.verify.verify`.
    """
    output = None if output is None else Path(output)
    path = Path(path)
    netlist = load_circuit(path)
    settings |= {"samples": _samples_to_drive(netlist, data)}
    if output is not None:
        result = _verify_in(output, netlist, options, settings)
        write_verification(result, output)
        return result
    scratch = Path(mkdtemp(prefix="trilut-verify-"))
    told = ""
    try:
        result = _verify_in(scratch, netlist, options, settings)
        told = json.dumps(verification_document(result))
        return result
    except ToolError as error:
        told = str(error)
        raise
    finally:
        if str(scratch) not in told:
            shutil.rmtree(scratch, ignore_errors=True)


def _samples_to_drive(netlist: Circuit, data: str | None) -> NDArray[np.float64 | np.uint8] | None:
    """Return test samples, or None if nobody has named any and the netlist's own are gone."""
    if isinstance(netlist, SequentialNetlist):
        if data is not None:
            raise NetlistError(f"Netlist {netlist.name!r} has state, and takes no samples of a set")
        return None
    if data is None and "data" not in netlist.provenance:
        return None
    try:
        return features_for(netlist, netlist_dataset(netlist, name=data))
    except TrilutError as error:
        if data is not None:
            raise
        talk(f"No samples of a data set are driven: {error}")
        return None


def _verify_in(
    place: Path,
    netlist: Circuit,
    options: HardwareOptions | None,
    settings: Mapping[str, Any],
) -> "Verification":
    from trilut.verify import verify

    with stages() as show:
        stage = show.start("verify")
        result = verify(netlist, options, scratch=place, progress=stage.step, **settings)
        stage.finish(describe_verification(result))
    return result


def describe_verification(verification: "Verification") -> str:
    """Return how each level ended in a few words."""
    levels = verification.levels
    return ", ".join(f"{level.level.value} {level.outcome.value}" for level in levels)
