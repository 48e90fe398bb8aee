"""The pages of this repository, and their parts that are made from registries.

A part stands between two comments that name it: `<!-- generated studies -->` and
`<!-- end of studies -->`. `python -m tests.support.pages` (`nox -s quotes`) writes all parts,
quoted figures (`tests.support.quotes`) and the page of all published studies as they are now. To
add a part, add a function that yields its rows.
"""

import ast
import json
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from scaling.analysis.table.columns import COLUMNS
from scaling.base.errors import UsageError
from scaling.builds.settings import SETTINGS
from scaling.builds.settings.setting import Setting
from scaling.cli import COMMANDS
from scaling.cli.program import EXAMPLE, app
from scaling.report.index import write_index
from scaling.study.definition import ENTRY_LISTS, OPTIONS, Option
from scaling.study.file import built_in_studies, built_in_summary
from scaling.study.services import SERVICES
from tests.support.children import ROOT
from tests.support.programs_picture import write_programs
from tests.support.quotes import corrected, figures, printed_counts
from tests.support.rule_picture import write_rule_picture
from tests.support.tables import PUBLISHED
from workers.worker.workload import built_in, load_workload, parameters_of

FOLDERS = ("*.md", "[a-z]*/*.md", "results/findings/*.md")
FILES = sorted(file for each in FOLDERS for file in ROOT.glob(each))
TEXTS = {file.relative_to(ROOT).as_posix(): file.read_text(encoding="utf-8") for file in FILES}
PART = re.compile(r"(<!-- generated (\w+) -->\n).*?(<!-- end of \2 -->)", re.DOTALL)

type Rows = Iterator[Sequence[str]]
PARTS: dict[str, Callable[[], str]] = {}


def rewritten(text: str) -> str:
    """The text with every part as it is made now."""
    return PART.sub(lambda found: f"{found[1]}\n{PARTS[found[2]]()}\n\n{found[3]}", text)


def part(*head: str) -> Callable[[Callable[[], Rows]], Callable[[], Rows]]:
    """The rows that a function yields are a table, and the part of the function's name."""

    def register(rows: Callable[[], Rows]) -> Callable[[], Rows]:
        PARTS[rows.__name__] = lambda: "\n".join(map(_line, (head, ["---"] * len(head), *rows())))
        return rows

    return register


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(' '.join(each.split()).replace('|', '\\|') or '–' for each in cells)} |"


def _code(text: str) -> str:
    return text and f"`{text}`"


def _summary(doc: str | None) -> str:
    return (doc or "").partition("\n\n")[0]


def _summary_of(file: Path) -> str:
    return _summary(ast.get_docstring(ast.parse(file.read_text(encoding="utf-8"))))


@part("column", "dtype", "unit", "better", "what it is")
def columns() -> Rows:
    for name, each in COLUMNS.items():
        yield _code(name), each.dtype, each.unit, each.better, each.definition


@part("command", "what it does", "example")
def commands() -> Rows:
    for name in COMMANDS:
        yield _code(name), _summary(app[name].help), _code(example_of(name))


def example_of(command: str) -> str:
    """The example at the end of a command's `--help`."""
    text = app[command].help_epilogue
    assert isinstance(text, str)
    return text.removeprefix(EXAMPLE)


def offered(command: str) -> dict[str, Any]:
    """What a command's `--help` lists, by its flags: `--pin/--no-pin`."""
    listed = app[command].assemble_argument_collection(
        default_parameter=app.default_parameter, parse_docstring=True
    )
    return {"/".join(each.names): each for each in listed if each.show}


def parsed(words: Sequence[str]) -> dict[str, Any]:
    """What a command gets from these words; raises where it does not take them."""
    _, bound, _ = app.parse_args(words, exit_on_error=False, print_error=False)
    return dict(bound.arguments)


@part("option", "key in a study file", "what it does")
def options() -> Rows:
    keys = {each.flag: _key(each) for each in OPTIONS.values() if each.flag}
    for flags, each in offered("plan").items():
        if flags != "--output":  # it is of this command alone
            value = each.parameter.metavar or ""
            yield _code(f"{flags} {value}".strip()), keys.get(flags, ""), each.parameter.help or ""
    for option in OPTIONS.values():
        if not option.flag:
            yield "", _key(option), option.help


def _key(option: Option) -> str:
    return _code(option.key) + " (of a workload, too)" * (option.key in ENTRY_LISTS)


@part("setting", "what it is", "set by")
def settings() -> Rows:
    yield from (_setting(each) for each in SETTINGS.values() if not each.is_remedy)


@part("remedy", "what it is", "set by", "recommended by")
def remedies() -> Rows:
    for each in SETTINGS.values():
        if each.is_remedy:
            yield *_setting(each), f"[source]({each.source})"


def _setting(each: Setting) -> Sequence[str]:
    made = {**each.cell, **each.parameters, **each.environment, **each.switches}
    set_by = ", ".join(_code(f"{name}={value}") for name, value in made.items())
    return _code(f"+{each.name}"), each.summary, set_by


@part("study", "what it asks")
def studies() -> Rows:
    for name in built_in_studies():
        yield f"[`{name}`](study/builtin/{name}.toml)", built_in_summary(name)


@part("workload", "what it does", "what is counted", "kind")
def workloads() -> Rows:
    for name, path in built_in().items():
        each = load_workload(name)
        kind = "finite" if each.finite else "served" if each.served else "windowed"
        file = path.partition(":")[0].removeprefix("workers.").replace(".", "/")
        yield f"[`{name}`]({file}.py)", _summary(each.__doc__), each.operation, kind


@part("workload", "parameter", "default", "choices", "what it is")
def parameters() -> Rows:
    for name in built_in():
        for key, facts in parameters_of(load_workload(name)).items():
            default = json.dumps(facts["default"], ensure_ascii=False).strip('"')
            choices = ", ".join(map(_code, facts["choices"] or ()))
            yield _code(name), _code(key), _code(default), choices, facts["summary"]


@part("service", "what it is", "asked for by", "program or package")
def services() -> Rows:
    for name, each in SERVICES.items():
        where = Path(each.module.removeprefix("workers.").replace(".", "/"))
        package = ROOT / "workers" / where / "__init__.py"
        file = where if package.is_file() else where.with_suffix(".py")
        about = _summary_of(package if package.is_file() else ROOT / "workers" / file)
        asked = _code(f"{each.asked_by}={name}") if each.asked_by else "the workload itself"
        yield f"[`{name}`]({file.as_posix()})", about, asked, each.program or each.package


@part("promise", "what is tested")
def promises() -> Rows:
    for folder in ("analysis", "workers"):
        for file in sorted((ROOT / "tests" / folder).glob("test_*.py")):
            name = file.stem.removeprefix("test_").replace("_", " ")
            yield f"[{name}]({folder}/{file.name})", _summary_of(file)


if __name__ == "__main__":
    write_index(PUBLISHED)
    write_programs(PUBLISHED)
    write_rule_picture(PUBLISHED)
    quoted, wrong = figures(), []
    for page, text in TEXTS.items():
        try:
            Path(page).write_text(corrected(rewritten(text), quoted), encoding="utf-8")
        except UsageError as error:
            wrong.append(f"{page}: {error}")
    print(*printed_counts(PUBLISHED), sep="\n")
    sys.exit("\n".join(wrong) or None)
