"""The explorer page of a netlist file."""

from pathlib import Path

from trilut.app.rundir import dataset_if_any
from trilut.circuit.format import load_circuit
from trilut.circuit.netlist import Netlist
from trilut.errors import DataError
from trilut.files import write_atomically
from trilut.measure.matching import samples_for
from trilut.report.explorer import ExplorerSamples, explorer_page

__all__ = ["write_explorer"]


def write_explorer(
    net: str | Path, output: str | Path, *, data: str | None = None, num_samples: int = 24
) -> int:
    """Write a page that runs the circuit of a file in the browser; return how many samples it has.

    Parameters
    ----------
    net : path
        A netlist file, of a circuit with or without state.
    output : path
        The page.
    data : str, optional
        Data set whose first test samples are in the page; by default the one that the netlist was
        trained on, if it can be read. Without any, the page has inputs to set all the same.
    num_samples : int
        How many of them.

    Raises
    ------
    TrilutError
        If the netlist cannot be read, a data set that is named cannot be used, or the page cannot
        be written.
    """
    circuit = load_circuit(net)
    samples = None
    if isinstance(circuit, Netlist):
        samples = _samples(circuit, data, num_samples)
    elif data is not None:
        raise DataError(f"Netlist {circuit.name!r} has state, so it has no samples of a data set")
    write_atomically(Path(output), explorer_page(circuit, samples))
    return 0 if samples is None else len(samples.vectors)


def _samples(netlist: Netlist, data: str | None, num_samples: int) -> ExplorerSamples | None:
    dataset = dataset_if_any(netlist, data, without="none in the page")
    if dataset is None:
        return None
    return ExplorerSamples.first(netlist, samples_for(netlist, dataset), num_samples)
