"""Sums of trits: GroupSum, and the compressors of the families' own cells."""
