"""Proof: that Verilog computes its netlist, for every input and every order of events."""
