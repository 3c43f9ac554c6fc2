"""The settings of a training, part by part; nothing here imports JAX, so that --help is instant."""

__all__: list[str] = []
