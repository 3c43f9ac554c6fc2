"""Other formats: netlists out of TriLUT, and circuits of others in."""

from trilut.interchange.exporters import EXPORTERS, Exporter, export_netlist, gates_alone

__all__ = ["EXPORTERS", "Exporter", "export_netlist", "gates_alone"]
