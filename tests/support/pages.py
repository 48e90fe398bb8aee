"""The pages of this repository, and their parts that are made from registries.

A part stands between two comments that name it: `<!-- generated studies -->` and
`<!-- end of studies -->`. `python -m tests.support.pages` (`nox -s quotes`) writes all parts and all
quoted figures as they are now.
"""

import ast
import json
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import typer

from scaling.analysis.table.columns import columns_markdown
from scaling.base.console import new_console
from scaling.builds.settings import REMEDIES, SETTINGS
from scaling.builds.settings.setting import Setting
from scaling.cli import COMMANDS
from scaling.cli.program import app
from scaling.report.quotes.check import quotes
from scaling.study.definition import OPTIONS
from scaling.study.file import built_in_studies, built_in_summary
from scaling.study.services import SERVICES
from tests.support.children import ROOT
from workers.worker.registry import built_in, load_workload
from workers.worker.workload import parameters_of

FOLDERS = ("*.md", "[a-z]*/*.md", "results/findings/*.md")
PAGES = sorted(file for folder in FOLDERS for file in ROOT.glob(folder))
RESULTS = ROOT / "results" / "published"
PART = re.compile(r"(<!-- generated (\w+) -->\n).*?(<!-- end of \2 -->)", re.DOTALL)
BLANK = "–"
EXAMPLE = "Example: "


def name_of(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


def rewritten(text: str) -> str:
    """The text with every part as it is made now."""
    return PART.sub(lambda found: f"{found[1]}\n{PARTS[found[2]]()}\n\n{found[3]}", text)


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(map(_cell, line))} |" for line in lines)


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|") or BLANK


def _code(text: str) -> str:
    return f"`{text}`" if text else ""


def _first_sentence(file: Path) -> str:
    """What a module says about itself, in its first paragraph."""
    about = ast.get_docstring(ast.parse(file.read_text(encoding="utf-8"))) or ""
    return about.partition("\n\n")[0]


def program() -> Any:
    """The commands as click has them: by name, each with help, example and parameters."""
    return typer.main.get_command(app)


def commands() -> str:
    def rows() -> Iterator[Sequence[str]]:
        for name in COMMANDS:
            command = program().commands[name]
            about = command.help.partition("\n\n")[0]
            yield _code(name), about, _code(command.epilog.removeprefix(EXAMPLE))

    return table(("command", "what it does", "example"), rows())


def options() -> str:
    keys = {each.parameter: each.key for each in OPTIONS.values() if each.flag}

    def rows() -> Iterator[Sequence[str]]:
        for each in program().commands["plan"].params:
            flag = "/".join([*each.opts, *each.secondary_opts])
            yield _code(f"{flag} {each.metavar or ''}".strip()), _code(
                keys.get(each.name, "")
            ), each.help
        for option in OPTIONS.values():
            if not option.flag:
                yield "", _code(option.key), option.help

    return table(("option", "key in a study file", "what it does"), rows())


def settings() -> str:
    rows = ((_code(f"+{each.name}"), each.summary, _made_by(each))
            for each in SETTINGS.values() if not each.is_remedy)  # fmt: skip
    return table(("setting", "what it is", "set by"), rows)


def remedies() -> str:
    rows = ((_code(f"+{each.name}"), each.summary, _made_by(each), f"[source]({each.source})")
            for each in REMEDIES.values())  # fmt: skip
    return table(("remedy", "what it is", "set by", "recommended by"), rows)


def _made_by(setting: Setting) -> str:
    made = {**setting.cell, **setting.parameters, **setting.environment, **setting.switches}
    return ", ".join(_code(f"{name}={value}") for name, value in made.items())


def studies() -> str:
    rows = ((f"[`{name}`](study/builtin/{name}.toml)", built_in_summary(name))
            for name in built_in_studies())  # fmt: skip
    return table(("study", "what it asks"), rows)


def workloads() -> str:
    def rows() -> Iterator[Sequence[str]]:
        for name, path in built_in().items():
            kind = load_workload(name)
            file = path.partition(":")[0].removeprefix("workers.").replace(".", "/")
            about = (kind.__doc__ or "").partition("\n\n")[0]
            way = "finite" if kind.finite else "served" if kind.served else "windowed"
            yield f"[`{name}`]({file}.py)", about, kind.operation, way

    return table(("workload", "what it does", "what is counted", "kind"), rows())


def parameters() -> str:
    def rows() -> Iterator[Sequence[str]]:
        for name in built_in():
            for parameter, facts in parameters_of(load_workload(name)).items():
                default = json.dumps(facts["default"], ensure_ascii=False).strip('"')
                choices = ", ".join(map(_code, facts["choices"] or ()))
                yield _code(name), _code(parameter), _code(default), choices, facts["summary"]

    return table(("workload", "parameter", "default", "choices", "what it is"), rows())


def services() -> str:
    def rows() -> Iterator[Sequence[str]]:
        for name, each in SERVICES.items():
            folder = each.module.rpartition(".")[2]
            about = _first_sentence(ROOT / "workers/services" / folder / "__init__.py")
            needs = f"program {each.program}" if each.program else each.package
            asked = _code(f"{each.asked_by}={name}") if each.asked_by else "the workload itself"
            yield f"[`{name}`](services/{folder})", about, asked, needs

    return table(("service", "what it is", "asked for by", "needs"), rows())


def promises() -> str:
    files = (file for folder in ("analysis", "workers")
             for file in sorted((ROOT / "tests" / folder).glob("test_*.py")))  # fmt: skip
    rows = (
        (f"[{file.stem.removeprefix('test_').replace('_', ' ')}]({file.parent.name}/{file.name})",
         _first_sentence(file))
        for file in files
    )  # fmt: skip
    return table(("promise", "what is tested"), rows)


PARTS = {
    each.__name__: each
    for each in (
        *(commands, options, settings, remedies, studies, workloads, parameters, services),
        promises,
    )
} | {"columns": columns_markdown}


def main() -> bool:
    """Write every part and every figure; return whether all figures are right in the end."""
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        if (new := rewritten(text)) != text:
            page.write_text(new, encoding="utf-8")
    return quotes(PAGES, RESULTS, new_console(), write=True)


if __name__ == "__main__":
    sys.exit(not main())
