"""How good a circuit is, and what is in it: metrics, evaluation on samples, analysis of gates."""
