"""Standard cells: liberty files, static timing, switching activity."""
