"""What a circuit is and means: trits, gates, encoder, head, netlist, and its file; numpy only."""
