"""The pages of this repository, and their parts that are made from registries.

A part stands between two comments that name it: `<!-- generated studies -->` and
`<!-- end of studies -->`. `python -m tests.support.pages` (`nox -s quotes`) writes all parts and all
quoted figures as they are now.
"""

import ast
import json
import re
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import typer

from scaling.analysis.table.columns import columns_markdown
from scaling.base.console import new_console
from scaling.builds.settings import SETTINGS
from scaling.cli import COMMANDS
from scaling.cli.program import app
from scaling.report.quotes.check import quotes
from scaling.study.definition import OPTIONS
from scaling.study.file import built_in_studies, built_in_summary
from scaling.study.services import SERVICES
from tests.support.children import ROOT
from workers.worker.registry import built_in, load_workload
from workers.worker.workload import parameters_of

FILES = sorted(
    file
    for pattern in ("*.md", "[a-z]*/*.md", "results/findings/*.md")
    for file in ROOT.glob(pattern)
)
TEXTS = {file.relative_to(ROOT).as_posix(): file.read_text(encoding="utf-8") for file in FILES}
PUBLISHED = ROOT / "results" / "published"
PART = re.compile(r"(<!-- generated (\w+) -->\n).*?(<!-- end of \2 -->)", re.DOTALL)
EXAMPLE = "Example: "
PROGRAM: Any = typer.main.get_command(app)  # what click makes of the commands


def rewritten(text: str) -> str:
    """The text with every part as it is made now."""
    return PART.sub(lambda found: f"{found[1]}\n{PARTS[found[2]]()}\n\n{found[3]}", text)


def table(head: str, rows: Iterable[Sequence[str]]) -> str:
    names = head.split(", ")
    lines = [names, ["---"] * len(names), *([_cell(each) for each in row] for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|") or "–"


def _code(text: str) -> str:
    return text and f"`{text}`"


def _summary(doc: str | None) -> str:
    return (doc or "").partition("\n\n")[0]


def _summary_of(file: Path) -> str:
    return _summary(ast.get_docstring(ast.parse(file.read_text(encoding="utf-8"))))


def commands() -> str:
    every = {name: PROGRAM.commands[name] for name in COMMANDS}
    rows = (
        (_code(name), _summary(each.help), _code(each.epilog.removeprefix(EXAMPLE)))
        for name, each in every.items()
    )
    return table("command, what it does, example", rows)


def options() -> str:
    keys = {each.parameter: each.key for each in OPTIONS.values() if each.flag}
    on_command_line = (
        (
            _code(" ".join(filter(None, ["/".join(each.opts + each.secondary_opts), each.metavar]))),
            _code(keys.get(each.name, "")),
            each.help,
        )
        for each in PROGRAM.commands["plan"].params
    )
    in_file = (("", _code(each.key), each.help) for each in OPTIONS.values() if not each.flag)
    return table("option, key in a study file, what it does", [*on_command_line, *in_file])


def settings(*, remedies: bool = False) -> str:
    def row(name: str) -> list[str]:
        each = SETTINGS[name]
        made = {**each.cell, **each.parameters, **each.environment, **each.switches}
        set_by = ", ".join(_code(f"{key}={value}") for key, value in made.items())
        source = [f"[source]({each.source})"] if remedies else []
        return [_code(f"+{name}"), each.summary, set_by, *source]

    head = "setting, what it is, set by" + ", recommended by" * remedies
    return table(head, (row(name) for name in SETTINGS if SETTINGS[name].is_remedy == remedies))


def studies() -> str:
    rows = (
        (f"[`{name}`](study/builtin/{name}.toml)", built_in_summary(name))
        for name in built_in_studies()
    )
    return table("study, what it asks", rows)


def workloads() -> str:
    def row(name: str, module: str) -> list[str]:
        each = load_workload(name)
        kind = "finite" if each.finite else "served" if each.served else "windowed"
        file = module.removeprefix("workers.").replace(".", "/")
        return [f"[`{name}`]({file}.py)", _summary(each.__doc__), each.operation, kind]

    rows = (row(name, path.partition(":")[0]) for name, path in built_in().items())
    return table("workload, what it does, what is counted, kind", rows)


def parameters() -> str:
    rows = (
        (
            _code(name),
            _code(key),
            _code(json.dumps(facts["default"], ensure_ascii=False).strip('"')),
            ", ".join(map(_code, facts["choices"] or ())),
            facts["summary"],
        )
        for name in built_in()
        for key, facts in parameters_of(load_workload(name)).items()
    )
    return table("workload, parameter, default, choices, what it is", rows)


def services() -> str:
    def row(name: str) -> list[str]:
        each = SERVICES[name]
        folder = each.module.replace(".", "/").removeprefix("workers/")
        asked = _code(f"{each.asked_by}={name}") if each.asked_by else "the workload itself"
        about = _summary_of(ROOT / "workers" / folder / "__init__.py")
        return [f"[`{name}`]({folder})", about, asked, each.program or each.package]

    return table("service, what it is, asked for by, program or package", map(row, SERVICES))


def promises() -> str:
    rows = (
        (
            f"[{file.stem.removeprefix('test_').replace('_', ' ')}]({file.parent.name}/{file.name})",
            _summary_of(file),
        )
        for folder in ("analysis", "workers")
        for file in sorted((ROOT / "tests" / folder).glob("test_*.py"))
    )
    return table("promise, what is tested", rows)


PARTS = {
    "columns": columns_markdown,
    "commands": commands,
    "options": options,
    "parameters": parameters,
    "promises": promises,
    "remedies": lambda: settings(remedies=True),
    "services": services,
    "settings": settings,
    "studies": studies,
    "workloads": workloads,
}


if __name__ == "__main__":
    for page, text in TEXTS.items():
        Path(page).write_text(rewritten(text), encoding="utf-8")
    sys.exit(not quotes([*map(Path, TEXTS)], PUBLISHED, new_console(), write=True))
