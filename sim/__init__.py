"""Stage sim."""
