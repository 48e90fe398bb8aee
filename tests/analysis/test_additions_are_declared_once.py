"""A question, a table, a plot and a note are each written in one place and seen everywhere."""

from collections.abc import Iterator
from dataclasses import replace

import pytest

from scaling.report import csv
from scaling.report.output import print_answer
from scaling.report.render.grid import Heading
from scaling.report.view import plots, view
from scaling.report.view.declare import Remark, Table, figure
from scaling.report.view.notes import NOTES
from scaling.report.view.tables import of_question
from scaling.study.questions import QUESTIONS, THROUGHPUT, AskedRatio
from scaling.study.sections import Scope
from tests.support.documents import page, tables_markdown
from tests.support.printing import printed_by
from tests.support.studies import FakeStudy

LAG = "lag_max_s"
STUDY = FakeStudy(workers=(1, 2), blocks=8, ticks=4, models=("threads", "processes"))
pytestmark = pytest.mark.usefixtures("unrendered")


@pytest.mark.usefixtures("undrawn")
def test_a_question_is_answered_in_page_markdown_and_csv(monkeypatch: pytest.MonkeyPatch) -> None:
    def lags(scope: Scope) -> Iterator[AskedRatio]:
        for cell in scope.cells:
            if cell.model == "threads" and cell.workers == 2:
                over = next(
                    each for each in scope.cells if each.model == "processes" and each.workers == 2
                )
                yield AskedRatio("lateness", LAG, cell, (over,), True)

    monkeypatch.setitem(QUESTIONS, "lags", lags)
    added = of_question("lateness", "How late loops are")
    monkeypatch.setattr(view, "STUDY", replace(view.STUDY, details=(*view.STUDY.details, added)))
    study = replace(STUDY).study
    (ratio,) = study.ratios.query("question == 'lateness'").to_dict("records")
    for text in (page(study), tables_markdown(study)):
        assert "How late loops are" in text
        assert str(ratio["said"]) in text
    rows = csv.comparison(study)
    assert rows.loc[rows["question"] == "lateness", "word"].tolist() == [ratio["word"]]


@pytest.mark.usefixtures("undrawn")
def test_a_table_and_a_note_are_in_terminal_page_and_markdown(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    table = Table(
        "Work of each configuration",
        "estimates",
        where="not twin",
        rows={"": ("model",), "N": ("workers",)},
        columns=(figure(Heading("round trips/s"), THROUGHPUT),),
    )
    brief = Remark(lambda study: f"It has {len(study.runs)} runs.")
    long = Remark(lambda study: "Many words.", brief=False)
    changed = replace(view.STUDY, answer=(table,), notes=(*NOTES, brief, long))
    monkeypatch.setattr(view, "STUDY", changed)
    study = STUDY.study
    printed = printed_by(lambda to: print_answer(study, to))
    assert "Many words." not in printed
    for text in (printed, page(study), tables_markdown(study)):
        assert "Work of each configuration" in text
        assert f"It has {len(study.runs)} runs." in text
    assert view.view_of(study).record(study)["tables"].keys() == {table.title}


def test_a_plot_is_a_figure_of_the_study(monkeypatch: pytest.MonkeyPatch) -> None:
    added = plots.Plot("lag", "worst loop lag", plots.over_workers, LAG)
    monkeypatch.setattr(plots, "PLOTS", (added,))
    (drawn,) = plots.drawings(STUDY.study)
    assert (drawn.name, drawn.title) == ("lag-echo", "worst loop lag · echo")
    assert "worst loop lag · echo" in page(STUDY.study)
