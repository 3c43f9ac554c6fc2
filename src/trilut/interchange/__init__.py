"""Other formats: netlists out of TriLUT, and circuits of others in."""

from trilut.interchange.exporters import EXPORTERS, Exporter, export_netlist, gates_alone
from trilut.interchange.importers import IMPORTERS, Importer, import_netlist
from trilut.interchange.logic import bit_encoder

__all__ = [
    "EXPORTERS",
    "IMPORTERS",
    "Exporter",
    "Importer",
    "bit_encoder",
    "export_netlist",
    "gates_alone",
    "import_netlist",
]
