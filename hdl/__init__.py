"""Stage hdl."""
