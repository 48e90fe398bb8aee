"""`scaling report` shows all of a study on one valid page that loads nothing: the answer first."""

import json
import re
import tomllib
from contextlib import nullcontext
from dataclasses import replace
from functools import cache
from pathlib import Path

import pandas as pd
import pytest

from scaling.analysis.results import StudyResults
from scaling.analysis.sections import sections
from scaling.analysis.table.load import Journal
from scaling.base import formats
from scaling.base.console import new_console
from scaling.base.errors import ScalingError, UsageError
from scaling.journal.reading import find_journal, read_lines
from scaling.journal.record import RunLine, StudyLine
from scaling.report.output import write_again
from scaling.report.page.facts import study_file
from scaling.report.page.render import page
from scaling.report.plots.style import RC, ROLES, SPARE
from scaling.report.tables.comparison import QUESTIONS
from scaling.report.tables.findings import times
from scaling.study.definition import Options
from scaling.study.file import read_study, study_from
from tests.support.cli import Command
from tests.support.html_outline import Element, Outline
from tests.support.published import FOLDERS
from tests.support.runs import crashed, finite, throttled, with_, with_speed
from tests.support.studies import FakeStudy, Variants
from tests.support.unrendered import unrendered

HOSTILE = "<script>alert(1)</script>&\"'{{ 7 * 7 }}"
CONTROLS: Variants = {
    "compute": [{"iterations": 1000}],
    "shared": [{"sharing": "attribute-write", "iterations": 1000}],
}


def with_controls_that_hold(run: RunLine) -> RunLine:
    """What is shared gains nothing."""
    shares = run.cell.workload == "shared" and run.cell.workers > 1
    return with_speed(run, 0.5) if shares else run


def with_controls_that_fail(run: RunLine) -> RunLine:
    """What is shared gains as if it were not, and what is not gains nothing."""
    shares_nothing = run.cell.workload == "compute" and run.cell.workers > 1
    return with_speed(run, 0.5) if shares_nothing else run


BOTH = ("threads", "processes")
LADDER = ("3.14", "3.14+mimalloc", "3.14t+gil", "3.14t")
TWO_LOOPS = FakeStudy(loops=("asyncio", "uvloop"), workers=(1, 2), blocks=8)

STUDIES: dict[str, FakeStudy] = {
    "eight-blocks": FakeStudy(
        name="compared",
        variants={"echo": [{"payload_bytes": 1024}], **CONTROLS},
        arms=LADDER,
        models=BOTH,
        workers=(1, 2),
        blocks=8,
        ticks=4,
        aa_pairs=True,
        change=with_controls_that_hold,
    ),
    "ladder": FakeStudy(arms=LADDER, models=BOTH, workers=(1, 2), blocks=6, ticks=4),
    "one-arm": FakeStudy(workers=(1, 2)),
    "one-worker": FakeStudy(workers=(1,), blocks=1),
    "void": FakeStudy(
        variants={"echo": [{}], **CONTROLS}, workers=(1, 2), change=with_controls_that_fail
    ),
    "finite": FakeStudy(
        variants={"spawn": [{"tasks": 1000}]},
        workers=(1, 2),
        blocks=6,
        change=finite(lambda run: 2 + 0.01 * run.block),
    ),
    "swept": FakeStudy(variants={"echo": [{"size": 1}, {"size": 2}]}, workers=(1, 2)),
    "two-loops": TWO_LOOPS,
    "some-invalid": FakeStudy(
        workers=(1, 2), change=lambda run: throttled(run) if run.block == 1 else run
    ),
    "all-invalid": FakeStudy(
        workers=(1, 2),
        # On standard error is what no page should take for its own.
        change=lambda run: with_(crashed(run), signal=11, exit_code=-11, stderr=f"{HOSTILE}\n"),
    ),
    "hostile": FakeStudy(
        name="h", variants={f"own:{HOSTILE}": [{HOSTILE: HOSTILE}, {HOSTILE: "$x$"}]}
    ),
    "laws": FakeStudy(workers=(1, 2, 3, 4, 6, 8, 16), cores=8, logical=8, blocks=6),
}

# Those in which somebody looks at pictures.
PICTURED = ("ladder", "one-arm", "hostile", "laws")


@cache
def html(name: str) -> str:
    with nullcontext() if name in PICTURED else unrendered():
        return page(STUDIES[name].results)


@cache
def outline(name: str) -> Outline:
    return Outline(html(name))


def part(name: str, of: str) -> Element:
    (found,) = [each for each in outline(of).all("section") if each.attributes["id"] == name]
    return found


def listed_parts(of: str) -> list[str]:
    return [each.attributes["id"] for each in outline(of).all("section")]


@pytest.mark.parametrize("name", STUDIES)
def test_it_is_well_made_and_can_be_walked_through_without_eyes_or_mouse(name: str) -> None:
    """And it refers to nothing outside."""
    shown = outline(name)
    assert shown.faults == []
    assert not re.search(r"https?:", html(name))
    assert shown.all("html")[0].attributes["lang"] == "en"
    for landmark in ("header", "nav", "main", "footer"):
        assert len(shown.all(landmark)) == 1
    first = next(each for each in shown.elements if each.tag == "a")
    assert first.attributes["href"] == "#answer"
    linked = [link.attributes["href"] for link in shown.all("nav")[0].all("a")]
    assert linked == [f"#{each}" for each in listed_parts(name)]
    always = ["answer", "question", "machine", "noise", "steadiness", "validity", "again"]
    assert [each for each in listed_parts(name) if each in always] == always
    scrolled = [
        each for each in shown.elements if each.attributes.get("class", "").startswith("wide")
    ]
    assert scrolled
    for each in scrolled:
        assert each.attributes["tabindex"] == "0"
        assert each.attributes["role"] == "region"
        assert {"aria-label", "aria-labelledby"} & each.attributes.keys()


def test_a_comparison_has_all_parts() -> None:
    parts = ["curves", "ladder", "processes", "memory"]
    assert [each for each in listed_parts("eight-blocks") if each in parts] == parts
    kinds = {
        each.attributes["aria-labelledby"].split("-")[1] for each in outline("ladder").all("svg")
    }
    assert kinds >= {"verdicts", "throughput", "efficiency", "memory", "ladder", "trade"}


def test_the_answer_is_a_sentence_a_picture_and_a_table_of_verdicts() -> None:
    answer = part("answer", "eight-blocks")
    assert re.search(
        r"echo · asyncio: 2 threads on 3\.14t do [\d.]+× \(95 % interval [\d.]+–[\d.]+\) the round "
        r"trips of 1 thread\. Over 2 processes on [\d.+a-z]+ that is [\d.]+× \(95 % interval ",
        answer.words,
    )
    assert len(answer.all("svg")) == 1
    (table,) = answer.all("table")
    assert [cell.words for cell in table.all("tr")[0].all("th")] == [
        "question",
        "ratio",
        "95 % interval",
        "verdict",
    ]
    assert len(table.all("tr")) == 1 + 2
    assert "another program" in answer.words
    assert "compute" not in answer.words  # a control is judged, not answered


def rows_of(table: Element) -> list[str]:
    return [row.words for row in table.all("tr")[1:]]


def test_every_ratio_has_one_row_in_the_answer_or_in_the_table_of_its_question() -> None:
    compared = STUDIES["eight-blocks"].results.compared
    tables = part("verdicts", "eight-blocks").all("table")
    titles = [table.all("caption")[0].words for table in tables]
    assert len(set(titles)) == len(titles)
    assert {"How it scales", "What freed the speed", "Threads or processes"} <= set(titles)
    answer = rows_of(part("answer", "eight-blocks").all("table")[0])
    rows = [*answer, *(row for table in tables for row in rows_of(table))]
    found = [
        each
        for one in compared
        for question in QUESTIONS
        for each in question.findings(one)
        if each.ratio.n
    ]
    assert len(found) > len(answer)
    for each in found:
        figures = f"{times(each.ratio)} {each.ratio.bounds}"
        own = [row for row in rows if f" {figures} " in row]
        alike = [one for one in found if f"{times(one.ratio)} {one.ratio.bounds}" == figures]
        assert len(own) == len(alike), each.question


def test_what_belongs_to_a_row_of_the_answer_says_so_in_full() -> None:
    (table,) = [
        table
        for table in part("verdicts", "eight-blocks").all("table")
        if table.all("caption")[0].words == "Threads or processes"
    ]
    (cpu,) = [row for row in rows_of(table) if "CPU time per operation" in row and "echo" in row]
    assert re.match(r"echo · asyncio 2 threads on 3\.14t over 2 \w+ on [\d.+a-z]+: CPU time", cpu)


# Of part and study.
SAID: dict[tuple[str, str], tuple[str, ...]] = {
    ("answer", "one-arm"): ("inconclusive, too few blocks", "too few for a verdict"),
    ("answer", "one-worker"): ("a gain needs valid runs",),
    ("verdicts", "eight-blocks"): ("95 % interval over 8 blocks",),
    ("curves", "finite"): ("finish s",),
    ("loops", "two-loops"): ("with uvloop over asyncio", "What the loop changed"),
    ("laws", "laws"): ("It says nothing of other worker counts",),
    ("noise", "one-arm"): ("No A/A pairs were run",),
    ("steadiness", "one-arm"): ("Too few blocks",),
    ("steadiness", "eight-blocks"): ("first block to last",),
    ("validity", "eight-blocks"): ("The controls hold.",),
    ("validity", "void"): ("fails",),
    ("validity", "some-invalid"): (
        "6 runs: 2 invalid, 4 valid.",
        "throttled",
        "excluded from every figure",
    ),
    ("validity", "all-invalid"): ("signal 11",),
}


def test_each_part_says_what_it_found_or_why_there_is_nothing() -> None:
    words = {place: part(*place).words for place in SAID}
    unsaid = {place: [each for each in SAID[place] if each not in words[place]] for place in SAID}
    assert not any(unsaid.values()), unsaid


def test_what_a_study_does_not_have_is_no_part_of_its_page() -> None:
    assert not {"loops", "sweeps"} & {*listed_parts("one-arm")}
    assert "verdicts" not in listed_parts("one-arm")  # the answer has all of its ratios
    assert not re.search(r"×[^;.]*, faster", part("answer", "one-arm").words)
    assert "figure" not in {each.tag for each in outline("all-invalid").elements}


@pytest.mark.parametrize("name", ["eight-blocks", "finite"])
def test_every_figure_of_the_tables_is_there_with_its_spread(name: str) -> None:
    study = STUDIES[name].journal
    behind = [table.words for table in part("curves", name).all("table")]
    for section in sections(study.frame, study.study):
        for curve in section.curves:
            for point in curve.points:
                for value in (point.throughput, point.efficiency):
                    figure = f"{formats.number(value.point)} {value.bounds}".strip()
                    assert any(figure in each for each in behind), (curve.key, figure)


def test_a_swept_parameter_has_a_table() -> None:
    captions = [each.words for each in part("sweeps", "swept").all("caption")]
    assert captions == [f"asyncio · 3.14t · threads: {of}" for of in ("round trips/s", "speed-up")]


def test_the_ladder_has_its_factors_behind_it() -> None:
    (figure, *_) = part("ladder", "eight-blocks").all("figure")
    headings = [cell.words for cell in figure.all("table")[0].all("th")[:6]]
    assert headings == ["N", "3.14t over 3.14", "= allocator", "× build", "× GIL", "product"]
    assert "faster" in figure.words


def test_a_void_study_says_so_before_all_else() -> None:
    shown = outline("void")
    first = shown.all("header")[0]
    (warning,) = [e for e in first.children if "void" in e.attributes.get("class", "").split()]
    assert warning.words.startswith("VOID: the controls fail")
    assert "VOID" not in html("eight-blocks")


def test_controls_that_hold_are_shown_to() -> None:
    tables = part("validity", "eight-blocks").all("table")
    (table,) = [each for each in tables if each.all("caption")[0].words == "Controls"]
    verdicts = {row.children[-1].words for row in table.all("tr")[1:]}
    assert verdicts == {"holds"}


def test_aa_pairs_show_the_noise() -> None:
    found = part("noise", "eight-blocks")
    assert len(found.all("tr")) == 1 + 6  # pairs of threads and of processes for each workload


def test_what_users_name_stays_text() -> None:
    """Also in pictures, and where the template engine might take it for its own."""
    shown = outline("hostile")
    assert shown.all("script") == []
    assert HOSTILE in shown.root.text
    assert HOSTILE in "".join(each.text for each in shown.all("svg"))
    assert "49" not in part("question", "hostile").text
    assert HOSTILE in part("validity", "all-invalid").text


@pytest.mark.parametrize("name", ["ladder", "laws"])
def test_pictures_change_colours_with_the_page(name: str) -> None:
    """What is no arm's colour is a variable of the style sheet, defined in light and in dark."""
    arms = {*ROLES.values(), *SPARE}
    drawn = " ".join(re.findall(r"<svg.*?</svg>", html(name), re.DOTALL))
    assert set(re.findall(r"#[0-9a-f]{6}\b", drawn)) <= arms
    style, *_of_pictures = outline(name).all("style")
    light, dark = style.text.split("prefers-color-scheme: dark", 1)
    for variable in set(re.findall(r"var\((--[\w-]+)\)", drawn)):
        assert f"{variable}:" in light
        assert f"{variable}:" in dark
    assert RC["axes.edgecolor"] not in drawn


def test_the_same_journal_gives_the_same_page() -> None:
    assert page(replace(STUDIES["one-arm"]).results) == html("one-arm")


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
        again = study_from(Options(study=str(tmp_path / "study.toml")), running_build="3.14")
        document = json.loads(json.dumps(again.document))  # as a journal has it
        for key, value in asked.study.items():
            # Only `scaling app` asks for an application, and only 1.x for a precision.
            if key not in ("workloads", "application", "precision", "max_blocks"):
                assert document[key] == value, key
        kept = [{k: v for k, v in e.items() if v is not None} for e in document["workloads"]]
        assert kept == asked.study["workloads"]


def test_the_study_file_of_a_scaled_study_is_not_scaled_again() -> None:
    asked = first_line(FOLDERS[0])
    scaled = with_(asked, study=asked.study | {"scale": 0.01, "primary": None})
    assert "scale" not in tomllib.loads(study_file(scaled))


@pytest.mark.usefixtures("unrendered")
def test_it_is_written_beside_the_journal(tmp_path: Path, command: Command) -> None:
    STUDIES["one-arm"].write(tmp_path)
    done = command("report", ".")
    assert (done.returncode, done.stderr) == (0, "")
    assert "made from it: report.html, tables.md, summary.csv, " in done.stdout
    written = tmp_path / "report.html"
    assert Outline(written.read_text(encoding="utf-8")).faults == []


@pytest.mark.usefixtures("unrendered")
def test_where_it_cannot_be_written_that_is_reported(tmp_path: Path) -> None:
    STUDIES["one-worker"].write(tmp_path)
    (tmp_path / "report.html").mkdir()
    quiet = new_console(quiet=True)
    with pytest.raises(ScalingError, match=r"scaling report"):
        write_again(tmp_path, None, quiet)
    with pytest.raises(UsageError, match="nowhere"):
        write_again(tmp_path / "nowhere", None, quiet)


def test_two_studies_are_not_shown_as_one() -> None:
    one, other = STUDIES["one-arm"].journal, STUDIES["swept"].journal
    both = pd.concat([one.frame, other.frame.assign(study="other")], ignore_index=True)
    with pytest.raises(UsageError, match="2 studies"):
        page(StudyResults.of(Journal(one.path, one.study, both, [], [])))
