"""The view of a study: its sentence, answer, notes and other tables, by its first question."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import msgspec

from scaling.analysis.tables.study import Study
from scaling.journal.check_file import read_check
from scaling.report.check import checked
from scaling.report.render.grid import Grid
from scaling.report.view.answer import ANSWER, OTHERS, sentence
from scaling.report.view.application import (
    APPLICATION,
    CONFIGURATIONS,
    FINDINGS,
    copied_on_write,
    trade,
)
from scaling.report.view.declare import Note, Remark, Table
from scaling.report.view.deploy import DEPLOY
from scaling.report.view.notes import NOTES
from scaling.report.view.tables import DETAILS, SETTINGS

SCHEMA = 2  # of the answer as JSON; increase it when a key changes its meaning


@dataclass(frozen=True)
class View:
    """The views of a study: `otherwise` are the tables if the `answer` has no rows."""

    sentence: Note
    answer: tuple[Table, ...]
    otherwise: tuple[Table, ...]
    details: tuple[Table, ...]
    notes: tuple[Remark, ...] = tuple(NOTES)

    def answers(self, study: Study) -> list[Grid]:
        """The tables of the answer."""
        return _grids(self.answer, study) or _grids(self.otherwise, study)

    def more(self, study: Study, *, wide: bool) -> Iterator[Grid]:
        """All other tables, with those that are too `wide` for a terminal if asked for."""
        for each in self.details:
            if wide or not each.wide:
                yield from each.grids(study)

    def said(self, study: Study, *, brief: bool = False) -> list[str]:
        """The notes, in order of weight; with `brief` only brief ones."""
        asked = [remark.note for remark in self.notes if remark.brief or not brief]
        return [text for note in asked if (text := note(study))]

    def record(self, study: Study) -> dict[str, Any]:
        """The answer for JSON, with the rows that the tables show."""
        found = read_check(study.folder)
        check = {"check": msgspec.to_builtins(found) if found else None}
        return {
            "schema": SCHEMA,
            "study": study.line.name,
            "answer": self.sentence(study),
            "controls": study.soundness.status,
            "notes": self.said(study),
            **(check if "application" in study.line.study else {}),
            "tables": _records(self.answer, study) or _records(self.otherwise, study),
        }


def _grids(tables: Iterable[Table], study: Study) -> list[Grid]:
    return [grid for each in tables for grid in each.grids(study)]


def _records(tables: Iterable[Table], study: Study) -> dict[str, list[dict[str, Any]]]:
    return {each.title: rows for each in tables if (rows := each.records(study))}


STUDY = View(sentence, ANSWER, (OTHERS,), DETAILS)
OF_APPLICATION = View(
    trade,
    APPLICATION,
    ANSWER,
    (FINDINGS, CONFIGURATIONS, DEPLOY, *DETAILS),
    (Remark(checked), *NOTES, Remark(copied_on_write, brief=False)),
)
OF_SETTINGS = View(sentence, (SETTINGS,), ANSWER, DETAILS)


def view_of(study: Study) -> View:
    """The view of a study: of an application, of settings, or of scaling."""
    asked = study.line.study
    if list(asked.get("primary") or ()) == ["setting"]:
        return OF_SETTINGS
    return OF_APPLICATION if "application" in asked else STUDY
