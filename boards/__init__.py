"""Boards: the place for designs that run on real hardware. It holds none yet."""
