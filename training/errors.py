"""What can go wrong in a training."""

from trilut.errors import TrilutError

__all__ = ["TrainingError"]


class TrainingError(TrilutError):
    """A training that cannot be started as configured, or that has failed."""
