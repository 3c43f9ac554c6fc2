"""The bench: Verilog of a netlist in a Verilog simulator, compared with the netlist."""
