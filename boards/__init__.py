"""Stage boards."""
