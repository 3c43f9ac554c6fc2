"""Engines: software that computes what a netlist says, the plain way or fast."""
