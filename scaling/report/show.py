"""`scaling show`: what a study says, the answer first; nothing is written."""

import json
import shlex
from pathlib import Path

from rich.console import Console

from scaling.analysis.tables.study import Study
from scaling.base.console import say
from scaling.report.files import read, say_incomplete
from scaling.report.render import terminal
from scaling.report.render.document import Document
from scaling.report.render.terminal import LINES, table
from scaling.report.view.view import view_of


def show(
    results: Path, console: Console, *, details: bool = False, json_to: Console | None = None
) -> None:
    """Print the answer of the study in `results`; with `details` all its tables after it.

    With `json_to` the answer is printed there as JSON instead.

    Raises:
        UsageError: there is no journal that could be read.
    """
    study = read(results, console)
    if json_to is not None:
        say(json_to, answer_json(study))
        return
    if not details:
        print_answer(study, console, LINES - 1)
        say(console, f"More: scaling show {shlex.quote(str(results))} --details")
        return
    print_answer(study, console, most=None)
    for grid in view_of(study).more(study, wide=False):
        console.print(table(grid, console))
        console.print()
    say_incomplete(study, console)


def print_answer(study: Study, console: Console, most: int | None = LINES) -> None:
    """Print the answer: brief notes alone where it has `most` lines."""
    view, is_brief = view_of(study), most is not None
    found = Document(
        study.line.name,
        view.sentence(study),
        answer=view.answers(study),
        notes=view.said(study, brief=is_brief),
    )
    terminal.print_answer(found, console, most)


def answer_json(study: Study) -> str:
    """The answer as JSON: the rows that the terminal and the page show."""
    return json.dumps(view_of(study).record(study), ensure_ascii=False, indent=2)
