"""The commands, one function to add each to the parser and one to run it."""
