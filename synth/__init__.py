"""Stage synth."""
