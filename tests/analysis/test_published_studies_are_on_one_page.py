"""`index.html` beside the machines has what their studies are about, and each figure is a link."""

import re
from dataclasses import replace
from functools import cache
from pathlib import Path
from urllib.parse import unquote

import pytest
from msgspec import json

from scaling.analysis.ratios import Ratio
from scaling.analysis.results import StudyResults
from scaling.base.console import new_console
from scaling.base.errors import UsageError
from scaling.base.formats import number
from scaling.report.index import counts, index_page, is_index, write_index
from scaling.report.publish import PAGE, publish
from scaling.report.tables.findings import named
from scaling.study.questions import CPU, MEMORY, OVER_PROCESSES, THROUGHPUT
from tests.analysis.test_page_shows_all_of_a_study import (
    CONTROLS,
    with_controls_that_fail,
    with_controls_that_hold,
)
from tests.support.cli import Command
from tests.support.html_outline import Element, Outline
from tests.support.pages import TEXTS
from tests.support.published import FOLDERS, PUBLISHED
from tests.support.studies import FakeStudy

MOST_BYTES = 300_000
OUTSIDE = "<a> refers to "  # the outline's words for a link to another file
STUDY = FakeStudy(
    name="compared",
    variants={"echo": [{"payload_bytes": 256}, {"payload_bytes": 1024}], **CONTROLS},
    arms=("3.14", "3.14t"),
    models=("threads", "processes", "forked"),
    workers=(1, 2),
    blocks=6,
    ticks=4,
    change=with_controls_that_hold,
)
VOID = replace(STUDY, change=with_controls_that_fail)
SMALL = replace(STUDY, variants={"echo": [{}]}, models=("threads", "processes"), blocks=2)
BREAKING = {"environment.json": ("{", "["), "comparison.csv": (",2,", ",two,")}
# The counts that the README and the page of findings quote: their keys, by headings of `counts`.
QUOTED = {
    "throughput over processes": ["over.cases", "over.faster", "over.slower", "over.same"],
    "P99 over processes": ["p99.cases", "p99.faster", "p99.slower"],
}
# The columns of what is not loaded at a rate, with the question and measure of each.
ASKED = {
    "throughput over one worker": ("gain", THROUGHPUT, "threads"),
    "throughput over processes": (OVER_PROCESSES, THROUGHPUT, ""),
    "CPU time over processes": (OVER_PROCESSES, CPU, ""),
    "memory over fresh processes": (OVER_PROCESSES, MEMORY, "processes"),
    "memory over forked processes": (OVER_PROCESSES, MEMORY, "forked"),
}


@cache
def committed() -> Outline:
    return Outline((PUBLISHED / PAGE).read_text(encoding="utf-8"))


def tables(page: Outline) -> list[Element]:
    """Those of programs: all but the list of studies, which is the last."""
    return page.all("table")[:-1]


def lines(table: Element) -> list[dict[str, Element]]:
    """The cells of each line, by the heading of their column."""
    first, *others = table.all("tr")
    headings = [each.words for each in first.children]
    return [dict(zip(headings, line.children, strict=True)) for line in others]


def links(within: Element) -> list[str]:
    return [each.attributes["href"] for each in within.all("a")]


# ------------------------------------------------------------------------------ what is committed


def test_it_is_what_is_written_now() -> None:
    text = (PUBLISHED / PAGE).read_text(encoding="utf-8")
    assert index_page(PUBLISHED) == text, "`nox -s quotes` writes it"
    assert is_index(PUBLISHED / PAGE)


def test_every_link_leads_to_a_study_and_every_study_is_linked() -> None:
    elsewhere = {each for each in links(committed().root) if not each.startswith("#")}
    files = {PUBLISHED / unquote(each) for each in elsewhere}
    assert files == {folder / PAGE for folder in FOLDERS}
    assert all(file.is_file() for file in files)


def test_it_is_small_valid_and_loads_nothing() -> None:
    """`Outline` also finds headings, captions and scopes that a screen reader would miss."""
    assert (PUBLISHED / PAGE).stat().st_size < MOST_BYTES
    assert [each for each in committed().faults if not each.startswith(OUTSIDE)] == []
    assert not {each.tag for each in committed().elements} & {"script", "img", "iframe"}
    assert [each.attributes["href"] for each in committed().all("link")] == ["data:,"]


def test_every_line_says_machine_study_date_and_build_and_its_figures_lead_there() -> None:
    found = [line for table in tables(committed()) for line in lines(table)]
    assert len(found) > len(FOLDERS)
    for line in found:
        where, program, *cells = line.values()
        (folder,) = {(PUBLISHED / unquote(link)).parent for link in links(where)}
        environment = json.decode((folder / "environment.json").read_bytes())
        assert where.words.startswith(folder.parent.name)
        assert f"{folder.name}, {environment['date']}3.1" in where.words  # a line for each
        assert where.words.endswith("PGO")
        assert " threads on 3.1" in program.words
        figures = [cell for cell in cells if cell.words != "–"]
        assert figures
        for cell in figures:
            assert cell.attributes["data-of"] in line
            assert links(cell) == links(where)
            (verdict,) = [
                each for each in cell.all("span") if "verdict" in each.attributes["class"]
            ]
            assert verdict.attributes["class"] == f"verdict {verdict.words}"
            assert cell.words.startswith(cell.all("b")[0].words)


@pytest.mark.parametrize(("heading", "quoted"), QUOTED.items())
def test_one_function_counts_for_the_page_and_the_texts(heading: str, quoted: list[str]) -> None:
    found = counts(PUBLISHED).set_index("heading").loc[heading]
    for key in quoted:
        (figure,) = re.findall(rf"(\d+)<!-- {re.escape(key)} -->", "".join(TEXTS.values()))
        assert int(figure) == found[key.partition(".")[2]]
    title = f"{heading[0].upper()}{heading[1:]}, {found['cases']} cases: "
    (sentence,) = [
        each.words
        for each in committed().all("section")[0].all("li")
        if each.words.startswith(title)
    ]
    said = {word: int(count) for word, count in re.findall(r"(\w+) in (\d+)", sentence)}
    assert said == {word: count for word, count in found.items() if word != "cases" and count}


# ---------------------------------------------------------------------------------- what is shown


def published(study: FakeStudy, folder: Path) -> StudyResults:
    """Publish a study in a folder; its results."""
    journal = study.write(folder.parent / "measuring" / folder.name)
    publish(journal.parent, folder, new_console(quiet=True))
    return study.results


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "published"


def written(root: Path) -> Outline:
    write_index(root)
    return Outline((root / PAGE).read_text(encoding="utf-8"))


def as_shown(ratio: Ratio) -> str:
    return " ".join(filter(None, (number(ratio.point), ratio.bounds, ratio.verdict.word)))


@pytest.mark.usefixtures("undrawn")
def test_figures_and_words_are_those_of_the_study(root: Path) -> None:
    results = published(STUDY, root / "epyc-64-cores" / "compare")
    page = written(root)
    (table,) = tables(page)
    found = lines(table)
    assert list(found[0]) == ["where", "program", *ASKED]
    assert len(found) == 2  # one for each size
    for line, size in zip(found, (256, 1024), strict=True):
        assert line["program"].words == (
            f"echo · payload_bytes={size} · asyncio2 threads on 3.14t, processes on 3.14"
        )
        for heading, (question, measure, model) in ASKED.items():
            (ratio,) = [
                each
                for each in results.ratios.where(question)
                if each.asked_measure == measure
                and named(each.of) == "2 threads on 3.14t"
                and each.of.parameters.get("payload_bytes") == size
                and model in ("", each.over.model)
            ]
            assert line[heading].words == as_shown(ratio)
            assert links(line[heading]) == [f"epyc-64-cores/compare/{PAGE}"]


@pytest.mark.usefixtures("undrawn")
def test_each_machine_has_its_lines_and_no_control_any(root: Path) -> None:
    published(STUDY, root / "epyc-64-cores" / "compare")
    published(replace(STUDY, seed=2), root / "another machine" / "scale")
    page = written(root)
    (table,) = tables(page)
    assert [line["where"].words.partition("scale")[0] for line in lines(table)][:2] == (
        ["another machine"] * 2
    )
    assert [each.words for each in page.all("h2")] == [
        "The verdicts, counted",
        "echo",
        "Every study",
    ]
    assert "another%20machine/scale/index.html" in links(table)
    answer = page.all("section")[0]
    counted = [each.words for each in answer.all("li")]
    assert len(counted) == len(ASKED)
    assert all(", 4 cases: " in each for each in counted)


@pytest.mark.usefixtures("undrawn")
def test_of_a_void_study_no_ratio_is_shown(root: Path) -> None:
    published(VOID, root / "epyc-64-cores" / "compare")
    page = written(root)
    assert tables(page) == []
    (line,) = lines(page.all("table")[-1])
    assert line["controls"].words == "void"
    assert links(line["study"]) == [f"epyc-64-cores/compare/{PAGE}"]


@pytest.mark.usefixtures("undrawn")
@pytest.mark.parametrize("file", BREAKING)
def test_a_file_that_cannot_be_read_is_named(file: str, root: Path) -> None:
    published(SMALL, root / "epyc-64-cores" / "compare")
    broken = root / "epyc-64-cores" / "compare" / file
    broken.write_text(broken.read_text().replace(*BREAKING[file]))
    with pytest.raises(UsageError, match=f"{file}: .* Publish that study again"):
        write_index(root)


# ---------------------------------------------------------------------------------- who writes it


@pytest.mark.slow
@pytest.mark.usefixtures("undrawn")
def test_publish_writes_it_anew_where_there_is_one_and_no_other_page(
    root: Path, command: Command
) -> None:
    results = SMALL.write(root.parent / "measured").parent
    for place in ("compare", "scale"):
        assert command("publish", str(results), str(root / "mine" / place)).returncode == 0
        assert (root / PAGE).exists() == (place == "scale")
        if place == "compare":
            write_index(root)
    shown = Outline((root / PAGE).read_text(encoding="utf-8"))
    assert {f"mine/{place}/{PAGE}" for place in ("compare", "scale")} <= set(links(shown.root))
    (root / PAGE).write_text("<title>My own</title>")
    assert command("publish", str(results), str(root / "mine" / "compare")).returncode == 0
    assert (root / PAGE).read_text() == "<title>My own</title>"
