"""Runs commands as if some packages and programs were not installed; a script for test_extras."""

import contextlib
import importlib.metadata
import io
import json
import shutil
import sys
import traceback


class Without:
    """A finder of modules that does not find some.

    Nothing is left in sys.modules, where packages look to see what is there.
    """

    def __init__(self, finder, modules):
        self.finder, self.modules = finder, modules

    def find_spec(self, name, path=None, target=None):
        """Return what a module is loaded from, None if it is hidden."""
        is_hidden = name.partition(".")[0] in self.modules
        return None if is_hidden else self.finder.find_spec(name, path, target)

    def __getattr__(self, name):
        return getattr(self.finder, name)


def block(modules: list[str], packages: list[str], programs: list[str]) -> None:
    """Hide modules from imports, packages from their metadata, and programs from PATH."""
    sys.meta_path[:] = [Without(finder, modules) for finder in sys.meta_path]
    find, which = importlib.metadata.Distribution.from_name, shutil.which

    def from_name(name: str) -> importlib.metadata.Distribution:
        if name in packages:
            raise importlib.metadata.PackageNotFoundError(name)
        return find(name)

    importlib.metadata.Distribution.from_name = from_name
    shutil.which = lambda name, *args, **kwargs: (
        None if name in programs else which(name, *args, **kwargs)
    )


def run(command: list[str]) -> tuple[int | str, str, str]:
    """Run a command, and return its status or traceback, and what it printed."""
    from trilut.cli import main

    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            status = main(command)
        except SystemExit as end:
            status = end.code
        except Exception:
            status = traceback.format_exc()
    return status, out.getvalue(), err.getvalue()


if __name__ == "__main__":
    task = json.loads(sys.argv[1])
    block(task["modules"], task["packages"], task["programs"])
    print(json.dumps([run(command) for command in task["commands"]]))
