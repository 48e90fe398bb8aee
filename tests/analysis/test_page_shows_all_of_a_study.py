"""`scaling report` shows all of a study on one valid page that loads nothing: the answer first."""

import json
import re
import tomllib
from functools import cache
from pathlib import Path

import pytest

from scaling.journal.reading import find_journal, read_lines
from scaling.journal.record import RunLine, StudyLine
from scaling.report.descriptions import study_file
from scaling.report.publish import PAGE
from scaling.report.view.plots import drawings
from scaling.report.view.view import view_of
from scaling.study.file import read_study, study_from
from tests.support.documents import page, tables_markdown
from tests.support.html_outline import Outline
from tests.support.plans import flagged
from tests.support.published import FOLDERS, PUBLISHED
from tests.support.runs import crashed, with_, with_speed
from tests.support.studies import FakeStudy, Variants

HOSTILE = "<script>alert(1)</script>&\"'{{ 7 * 7 }}"
CONTROLS: Variants = {
    "compute": [{"iterations": 1000}],
    "shared": [{"sharing": "attribute-write", "iterations": 1000}],
}


def with_controls_that_fail(run: RunLine) -> RunLine:
    """What is shared gains as if it were not, and what is not gains nothing."""
    shares_nothing = run.cell.workload == "compute" and run.cell.workers > 1
    return with_speed(run, 0.5) if shares_nothing else run


STUDIES: dict[str, FakeStudy] = {
    "ladder": FakeStudy(
        arms=("3.14", "3.14t"),
        models=("threads", "processes"),
        workers=(1, 2),
        blocks=6,
        ticks=4,
        aa_pairs=True,
    ),
    "void": FakeStudy(
        name=HOSTILE,
        variants={f"own:{HOSTILE}": [{HOSTILE: HOSTILE}, {HOSTILE: "$x$"}], **CONTROLS},
        blocks=6,
        ticks=4,
        change=with_controls_that_fail,
    ),
    "all-invalid": FakeStudy(
        ticks=4,
        workers=(1, 2),
        change=lambda run: with_(crashed(run), signal=11, exit_code=-11, stderr=f"{HOSTILE}\n"),
    ),
}


@cache
def html(name: str) -> str:
    """With the plots of an answer; all are tested in `test_plots_show_every_run`."""
    study = STUDIES[name].study
    return page(study, list(drawings(study, "throughput", "over-processes")))


@cache
def outline(name: str) -> Outline:
    return Outline(html(name))


@pytest.mark.parametrize("name", STUDIES)
def test_it_is_well_made_and_can_be_walked_through_without_eyes_or_mouse(name: str) -> None:
    """And it refers to nothing outside."""
    shown = outline(name)
    assert shown.faults == []
    without_namespaces = re.sub(r'xmlns(:\w+)?="[^"]*"', "", html(name))
    assert not re.search(r"https?:", without_namespaces)
    assert shown.all("html")[0].attributes["lang"] == "en"
    for landmark in ("header", "main", "footer"):
        assert len(shown.all(landmark)) == 1
    assert shown.all("a")[0].attributes["href"] == "#answer"
    for each in shown.all("div"):
        if each.attributes.get("class", "").startswith("wide"):
            assert (each.attributes["tabindex"], each.attributes["role"]) == ("0", "region")
            assert {"aria-label", "aria-labelledby"} & each.attributes.keys()
    for figure in shown.all("figure"):
        assert len(figure.all("figcaption")[0].words) > 60  # says what is seen
    assert ("VOID" in shown.all("header")[0].words) == (name == "void")


def test_the_answer_is_a_sentence_a_plot_and_the_rows_of_the_terminal() -> None:
    study, answer = STUDIES["ladder"].study, outline("ladder").all("section")[0]
    view = view_of(study)
    assert answer.all("p")[0].words == view.sentence(study)
    (drawing,) = answer.all("svg")
    assert drawing.attributes["aria-label"].startswith("N workers over the best")
    (drawing,) = outline("void").all("section")[0].all("svg")  # where there are three Ns
    assert drawing.attributes["aria-label"].startswith("throughput · ")
    (grid,) = view.answers(study)
    (table,) = answer.all("table")
    rows = [row.words for row in table.all("tbody")[0].all("tr")]
    assert len(rows) == len(grid.rows) > 0
    for row, texts in zip(rows, grid.rows, strict=True):
        assert all(text.text in row and text.beside in row for text in texts)
    assert [each.words for each in answer.all("li")] == view.said(study)


def test_everything_else_is_folded_in_the_order_of_the_questions() -> None:
    """Every ratio and every table of the Markdown is there."""
    study, words = STUDIES["ladder"].study, outline("ladder").root.words
    tables = outline("ladder").all("main")[0].all("section")[-1]
    titles = [each.words for each in tables.all("summary")]
    asked = ["Gain of more workers", "What freed the speed: ", "Threads or processes", "Figures"]
    places = [next(at for at, each in enumerate(titles) if each.startswith(t)) for t in asked]
    assert places == sorted(places)
    assert len(tables.all("details")) == len(titles) >= len(tables.all("table"))
    assert [said for said in study.ratios["said"] if said and said not in words] == []
    of_markdown = re.findall(r"^### (.+)$", tables_markdown(study), re.MULTILINE)
    assert [title for title in of_markdown if title not in words] == []


def test_what_users_name_stays_text_and_no_valid_run_is_no_figure() -> None:
    """Also in plots, and where the template engine might take it for its own."""
    shown = outline("void")
    assert shown.all("script") == outline("all-invalid").all("script") == []
    assert HOSTILE in shown.root.text
    assert HOSTILE in "".join(each.text for each in shown.all("svg"))
    assert outline("all-invalid").all("figure") == []
    assert "crashed" in outline("all-invalid").root.text
    for name in ("app-starlette", "primitives"):  # small without its plots
        assert (PUBLISHED / "epyc-2-cores-3" / name / PAGE).stat().st_size <= 400_000


def first_line(folder: Path) -> StudyLine:
    line = next(read_lines(find_journal(folder), lambda _: None))
    assert isinstance(line, StudyLine)
    return line


def test_the_study_file_asks_for_the_same_study(tmp_path: Path) -> None:
    for folder in FOLDERS:
        asked = first_line(folder)
        text = study_file(asked)
        (tmp_path / "study.toml").write_text(text, encoding="utf-8")
        assert read_study(text, "study.toml").values["seed"] == asked.seed
        again = study_from(flagged(study=str(tmp_path / "study.toml")), running_build="3.14")
        document = json.loads(json.dumps(again.document))  # as a journal has it
        for key, value in asked.study.items():
            # Only `scaling app` asks for an application, and only 1.x for a precision.
            if key not in ("workloads", "application", "precision", "max_blocks"):
                assert document[key] == value, key
        kept = [{k: v for k, v in e.items() if v is not None} for e in document["workloads"]]
        assert kept == asked.study["workloads"]
    first = first_line(FOLDERS[0])
    scaled = with_(first, study=first.study | {"scale": 0.01, "primary": None})
    assert "scale" not in tomllib.loads(study_file(scaled)), "it would be scaled again"
