"""What the tests of the command line share."""

from trilut.cli import main


def fails(capsys, *arguments):
    """Run a command that must fail with one line, and return that line."""
    assert main([str(argument) for argument in arguments]) == 1
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.count("\n") == 1
    return captured.err.removeprefix("trilut: error: ").rstrip("\n")
