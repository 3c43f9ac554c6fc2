"""What the site has beside the pages of this folder: pages made of the code, and files of the tree.

MkDocs calls these functions; mkdocs.yml names this module.
"""

import argparse
import html
import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

from trilut.cli import command_parser

ROOT = Path(__file__).parent.parent

API = {
    "trilut": "The facade",
    "trilut.training": "Training",
    "trilut.sim": "Simulators",
    "trilut.hdl": "Hardware",
    "trilut.verify": "Verification",
    "trilut.synth": "Synthesis",
    "trilut.boards": "Boards",
    "trilut.temporal": "Temporal logic",
    "trilut.interchange": "Other formats",
    "trilut.circuit.gates": "Gates",
}
"""The modules whose public names have a page."""

# Pages of the root that belong to the site, too.
_PAGES = ("CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md")
_LINK = re.compile(r"\]\((?!\w+:|#)([^)#\s]+)")
# Docstrings name things as Sphinx does: :class:`Netlist`.
_ROLE = re.compile(r":(?:py|class|func|meth|attr|mod|data):(?=<code>|`)")


def on_config(config: Any) -> Any:
    """Fill in the pages of the API where ``nav`` says so."""
    (reference,) = (part["Reference"] for part in config.nav if "Reference" in part)
    (place,) = (index for index, item in enumerate(reference) if item == {"API": "API"})
    reference[place] = {"API": [{title: _api_path(module)} for module, title in API.items()]}
    return config


def on_files(files: Files, config: Any) -> Files:
    """Add the pages that are made of the code, those of the root, and files that pages link to."""
    made = {"reference/commands.md": commands_page(command_parser())}
    made |= {_api_path(module): _api_page(module, title) for module, title in API.items()}
    made |= {name: (ROOT / name).read_text() for name in _PAGES}
    for path in {path for page in files.documentation_pages() for path in _outside(page)}:
        made[f"tree/{path}"] = (ROOT / path).read_text()
    for path, text in made.items():
        files.append(File.generated(config, path, content=text))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Point links that leave the folder to what the site has in their place."""
    here = page.file.src_uri

    def there(match: re.Match[str]) -> str:
        path = _in_tree(here, match[1])
        return "](" + (match[1] if path is None else _relative(here, _site_path(path)))

    return _LINK.sub(there, markdown)


def on_page_content(content: str, **_: Any) -> str:
    """Take the roles out of docstrings."""
    return _ROLE.sub("", content)


def commands_page(parser: argparse.ArgumentParser) -> str:
    """Write the commands, their options and examples, as the parsers have them."""
    parts = ["# Commands\n", f"{parser.description}\n"]
    parts.append("Every command has `--help`, and prints JSON with `--json`.\n")
    (commands,) = (
        action for action in parser._actions if isinstance(action, argparse._SubParsersAction)
    )
    for name, command in sorted(commands.choices.items()):
        parts += [f"## {name}\n", *_command(command)]
    return "\n".join(parts)


def _command(parser: argparse.ArgumentParser) -> list[str]:
    parts = [f"{_escaped(parser.description or '')}\n"]
    if parser.epilog:
        parts.append(f"```\n{parser.epilog.removeprefix('example: ')}\n```\n")
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for name, command in action.choices.items():
                parts += [f"### {parser.prog.removeprefix('trilut ')} {name}\n", *_command(command)]
    rows = [_option(parser, action) for action in parser._actions if _is_shown(action)]
    return [*parts, "| | |", "|---|---|", *rows, ""] if rows else parts


def _is_shown(action: argparse.Action) -> bool:
    hidden = (argparse._HelpAction, argparse._SubParsersAction)
    return action.help != argparse.SUPPRESS and not isinstance(action, hidden)


def _option(parser: argparse.ArgumentParser, action: argparse.Action) -> str:
    metavar = action.metavar if isinstance(action.metavar, str) else action.dest.upper()
    values = "" if action.nargs == 0 else f" {'|'.join(map(str, action.choices or [metavar]))}"
    names = [f"{name}{values}" for name in action.option_strings] or [values.strip()]
    # A bar would end the cell of the table.
    codes = (f"<code>{html.escape(name).replace('|', '&#124;')}</code>" for name in names)
    text = parser._get_formatter()._expand_help(action) if action.help else ""
    return f"| {', '.join(codes)} | {_escaped(text)} |"


def _escaped(text: str) -> str:
    return re.sub(r"([\\`*_\[\]<>|])", r"\\\1", text)


def _api_path(module: str) -> str:
    return f"reference/api/{module}.md"


def _api_page(module: str, title: str) -> str:
    return f"# {title}: `{module}`\n\n::: {module}\n"


def _in_tree(page: str, link: str) -> Path | None:
    """Return the file of the tree that a link of a page names, if it is outside of the folder."""
    is_of_root = page in _PAGES
    start = ROOT if is_of_root else ROOT / "docs" / Path(page).parent
    path = (start / link).resolve()
    if not path.exists() or not path.is_relative_to(ROOT):
        return None
    if path.is_dir():
        path = next(path.glob("*.py"))
    relative = path.relative_to(ROOT)
    return None if relative.parts[0] == "docs" and not is_of_root else relative


def _outside(page: File) -> set[Path]:
    """Return the files outside of the folder that a page links to, but for those with a page."""
    links = _LINK.findall(page.content_string)
    found = {_in_tree(page.src_uri, link) for link in links}
    return {path for path in found if path is not None and str(path) not in _PAGES}


def _site_path(path: Path) -> str:
    """Return where the site has a file of the tree."""
    if str(path) in _PAGES:
        return str(path)
    return str(path.relative_to("docs")) if path.parts[0] == "docs" else f"tree/{path}"


def _relative(page: str, path: str) -> str:
    return "../" * (len(Path(page).parts) - 1) + path
