"""`index.html` beside the machines has what their studies are about, and each row is a link."""

import re
from dataclasses import replace
from functools import cache
from pathlib import Path
from urllib.parse import unquote

import pytest

from scaling.analysis.tables.study import Study
from scaling.analysis.tables.words import OPEN, RATE
from scaling.base.console import new_console
from scaling.base.errors import UsageError
from scaling.report.index import HEADINGS, counts, index_page, is_index, ratios, write_index
from scaling.report.publish import PAGE, publish
from scaling.report.render.svg import svg
from scaling.study.questions import CPU, MEMORY, OVER_PROCESSES
from tests.support import rule_picture
from tests.support.cli import Command
from tests.support.html_outline import Element, Outline
from tests.support.pages import TEXTS
from tests.support.published import FOLDERS, PUBLISHED
from tests.support.quotes import count_table
from tests.support.studies import FakeStudy, one

MOST_BYTES = 400_000
OUTSIDE = "<a> refers to "  # the outline's words for a link to another file
STUDY = FakeStudy(
    name="compared",
    variants={"echo": [{"payload_bytes": 256}, {"payload_bytes": 1024}]},
    arms=("3.14", "3.14t"),
    models=("threads", "processes", "forked"),
    workers=(1, 2),
    blocks=6,
    ticks=4,
)
FLAT = {("3.14t", "threads", n): 1.0 for n in (1, 2)}
VOID = replace(STUDY, variants={**STUDY.variants, "compute": [{}]}, speeds=FLAT)
SMALL = replace(STUDY, variants={"echo": [{}]}, models=("threads", "processes"), blocks=2)
BREAKING = {"environment.json": ("{", "["), "comparison.csv": (",2,", ",two,")}
# The headings of what is not loaded at a rate, with the question and measure of each.
ASKED = {
    "Throughput over one worker": ("gain", "throughput"),
    "Throughput over processes": (OVER_PROCESSES, "throughput"),
    "CPU time over processes": (OVER_PROCESSES, CPU),
    "Memory over fresh processes": (OVER_PROCESSES, MEMORY),
    "Memory over forked processes": (OVER_PROCESSES, MEMORY),
}


@cache
def committed() -> Outline:
    return Outline((PUBLISHED / PAGE).read_text(encoding="utf-8"))


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


@pytest.mark.parametrize("key", ["over", "p99"])
def test_one_function_counts_for_the_page_and_the_texts(key: str) -> None:
    heading = {"over": "Throughput over processes", "p99": "P99 over processes, at a rate"}[key]
    found = one(count_table(PUBLISHED), heading=heading)
    quoted = re.findall(rf"(\d+)<!-- {key}\.(\w+) -->", "".join(TEXTS.values()))
    assert quoted
    assert all(int(figure) == found[column] for figure, column in quoted)
    assert f"{heading} {found['cases']}" in committed().root.words


def test_few_comparisons_with_processes_are_open() -> None:
    """Each by itself; of those that a sentence counts together more are."""
    found = ratios(PUBLISHED)
    words = found.loc[found["heading"] == "Throughput over processes", "word"]
    assert words.isin([OPEN, ""]).mean() <= 1 / 6


# ---------------------------------------------------------------------------------- what is shown


def published(study: FakeStudy, folder: Path) -> Study:
    """Publish a study in a folder; the study."""
    journal = study.write(folder.parent / "measuring" / folder.name)
    publish(journal.parent, folder, new_console(quiet=True))
    return study.study


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "published"


def written(root: Path) -> Outline:
    write_index(root)
    return Outline((root / PAGE).read_text(encoding="utf-8"))


@pytest.mark.usefixtures("undrawn")
def test_figures_and_words_are_those_of_the_study(root: Path) -> None:
    study = published(STUDY, root / "epyc-64-cores" / "compare")
    found = ratios(root)
    assert set(found["heading"]) == set(ASKED)
    for row in found.to_dict("records"):
        question, measure = ASKED[row["heading"]]
        name = "throughput_per_s" if measure == "throughput" else measure
        (same,) = (
            each
            for each in study.ratios.to_dict("records")
            if (each["question"], each["measure"], each["said"]) == (question, name, row["said"])
            and each["arm"] == "3.14t"
            and each["ratio"] == pytest.approx(row["ratio"], rel=1e-5)
        )
        assert same["workers"] == 2
    words = written(root).root.words
    assert all(each in words for each in found["said"])


@pytest.mark.usefixtures("undrawn")
def test_each_machine_has_its_lines(root: Path) -> None:
    published(STUDY, root / "epyc-64-cores" / "compare")
    published(replace(STUDY, seed=2), root / "another machine" / "scale")
    assert set(ratios(root)["machine"]) == {"epyc-64-cores", "another machine"}
    assert counts(root).set_index("heading")["cases"].to_dict() == dict.fromkeys(ASKED, 4)
    assert "another%20machine/scale/index.html" in links(written(root).root)


@pytest.mark.usefixtures("undrawn")
def test_of_a_void_study_no_ratio_is_shown(root: Path) -> None:
    published(VOID, root / "epyc-64-cores" / "compare")
    assert ratios(root).empty
    page = written(root)
    assert "void" in page.root.words
    assert set(links(page.root)) >= {f"epyc-64-cores/compare/{PAGE}"}


@pytest.mark.usefixtures("undrawn")
@pytest.mark.parametrize("file", BREAKING)
def test_a_file_that_cannot_be_read_is_named(file: str, root: Path) -> None:
    published(SMALL, root / "epyc-64-cores" / "compare")
    broken = root / "epyc-64-cores" / "compare" / file
    broken.write_text(broken.read_text().replace(*BREAKING[file]))
    with pytest.raises(UsageError, match=f"{file}: .* Publish that study again"):
        write_index(root)


def test_headings_are_told_apart() -> None:
    assert len(set(HEADINGS.values())) == len(HEADINGS)


# ---------------------------------------------------------------------------------- who writes it


@pytest.mark.slow
@pytest.mark.usefixtures("undrawn")
def test_publish_writes_it_anew_where_there_is_one_and_no_other_page(
    root: Path, command: Command
) -> None:
    results = SMALL.write(root.parent / "measured").parent
    for name in ("compare", "scale"):
        assert command("publish", str(results), str(root / "mine" / name)).returncode == 0
        assert (root / PAGE).exists() == (name == "scale")
        if name == "compare":
            write_index(root)
    shown = Outline((root / PAGE).read_text(encoding="utf-8"))
    assert {f"mine/{name}/{PAGE}" for name in ("compare", "scale")} <= set(links(shown.root))
    (root / PAGE).write_text("<title>My own</title>")
    assert command("publish", str(results), str(root / "mine" / "compare")).returncode == 0
    assert (root / PAGE).read_text() == "<title>My own</title>"


# --- pictures ------------------------------------------------------------------------------------


def test_the_picture_of_the_rule_has_each_word_as_it_is_now() -> None:
    """But for `not slower`, which few intervals get."""
    shown = (PUBLISHED / rule_picture.FILE_NAME).read_text(encoding="utf-8")
    drawn = rule_picture.rule_picture().figure
    named = {each.get_text() for each in drawn.axes[0].get_yticklabels()}
    assert named == {*RATE.words} - {"not slower"}
    assert shown == svg(drawn, rule_picture.FILE_NAME, rule_picture.TITLE), "`nox -s quotes`"
