"""``python -m trilut``."""

from trilut.cli import run

run()
