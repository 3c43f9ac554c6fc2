import re
from pathlib import Path

ROOT = Path(__file__).parent.parent


def test_python_examples_of_the_readme_run(tmp_path, monkeypatch, capsys):
    text = (ROOT / "README.md").read_text()
    example, estimator = re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL)
    monkeypatch.chdir(tmp_path)
    names = {}
    exec(compile(example, "README.md", "exec"), names)
    assert capsys.readouterr().out.startswith("[")
    verilog = tmp_path / "rtl" / "trilut_top.v"
    first = verilog.read_bytes()
    train, test = names["moons"].train, names["moons"].test
    names |= {"X": train.x[:100], "y": train.y[:100], "X_test": test.x, "y_test": test.y}
    exec(compile(estimator, "README.md", "exec"), names)
    assert verilog.read_bytes() != first


def test_every_linked_page_exists():
    for page in [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]:
        for link in re.findall(r"\]\(([^)#]+)", page.read_text()):
            # The site makes this page of the parsers.
            if link.endswith("reference/commands.md"):
                continue
            assert (page.parent / link).exists(), f"{page.name} links to {link}"
