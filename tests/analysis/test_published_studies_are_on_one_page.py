"""`index.html` beside the machines has what their studies are about, and each row is a link."""

import re
from dataclasses import replace
from pathlib import Path
from urllib.parse import unquote

import numpy as np
import pytest
from rich.console import Console

from scaling.analysis.tables.study import Study
from scaling.analysis.tables.words import OPEN, RATE
from scaling.base.errors import UsageError
from scaling.report.index import HEADINGS, counts, index_page, is_index, ratios, write_index
from scaling.report.publish import PAGE, publish
from scaling.report.render.svg import svg
from scaling.study.questions import CPU, MEMORY, OVER_PROCESSES
from tests.support import rule_picture
from tests.support.cli import Command
from tests.support.html_outline import Outline
from tests.support.pages import TEXTS
from tests.support.published import FOLDERS, PUBLISHED
from tests.support.quotes import count_table
from tests.support.served_studies import FakeServedStudy
from tests.support.studies import FakeStudy, one, where

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
VOID = replace(STUDY, variants={"compute": [{}]}, speeds=FLAT)
# The headings of what is not loaded at a rate, with the question and measure of each.
ASKED = {
    "Throughput over one worker": ("gain", "throughput"),
    "Throughput over processes": (OVER_PROCESSES, "throughput"),
    "CPU time over processes": (OVER_PROCESSES, CPU),
    "Memory over fresh processes": (OVER_PROCESSES, MEMORY),
    "Memory over forked processes": (OVER_PROCESSES, MEMORY),
}


def links(page: Outline) -> set[str]:
    return {each.attributes["href"] for each in page.all("a")}


# ------------------------------------------------------------------------------ what is committed


def test_it_is_what_is_written_now_small_valid_and_loads_nothing() -> None:
    """`Outline` also finds headings, captions and scopes that a screen reader would miss."""
    text = (PUBLISHED / PAGE).read_text(encoding="utf-8")
    assert index_page(PUBLISHED) == text, "`nox -s quotes` writes it"
    assert is_index(PUBLISHED / PAGE)
    page = Outline(text)
    elsewhere = {each for each in links(page) if not each.startswith("#")}
    assert {PUBLISHED / unquote(each) for each in elsewhere} == {each / PAGE for each in FOLDERS}
    assert len(text.encode()) < MOST_BYTES
    assert [each for each in page.faults if not each.startswith(OUTSIDE)] == []
    assert not {each.tag for each in page.elements} & {"script", "img", "iframe"}
    assert [each.attributes["href"] for each in page.all("link")] == ["data:,"]
    assert len(set(HEADINGS.values())) == len(HEADINGS)
    # One function counts for the page and the texts.
    rows = count_table(PUBLISHED)
    for key, heading in (
        ("over", "Throughput over processes"),
        ("p99", "P99 over processes, at a rate"),
    ):
        quoted = re.findall(rf"(\d+)<!-- {key}\.(\w+) -->", "".join(TEXTS.values()))
        assert quoted
        found = one(rows, heading=heading)
        assert all(int(figure) == found[column] for figure, column in quoted)
        assert f"{heading} {found['cases']}" in page.root.words


def test_few_comparisons_with_processes_are_open() -> None:
    """Each by itself; of those that a sentence counts together more are."""
    found = ratios(PUBLISHED)
    words = found.loc[found["heading"] == "Throughput over processes", "word"]
    assert words.isin([OPEN, ""]).mean() <= 1 / 6


def test_the_picture_of_the_rule_has_each_word_as_it_is_now() -> None:
    """But for `not slower`, which few intervals get."""
    shown = (PUBLISHED / rule_picture.FILE_NAME).read_text(encoding="utf-8")
    drawn = rule_picture.rule_picture().figure
    named = {each.get_text() for each in drawn.axes[0].get_yticklabels()}
    assert named == {*RATE.words} - {"not slower"}
    assert shown == svg(drawn, rule_picture.FILE_NAME, rule_picture.TITLE), "`nox -s quotes`"


# ------------------------------------------------------------------------- what is shown, and when


@pytest.mark.usefixtures("undrawn")
def test_publish_writes_it_anew_where_there_is_one_and_no_other_page(
    tmp_path: Path, command: Command
) -> None:
    root = tmp_path / "published"
    places = {"epyc/compare": STUDY, "another one/scale": replace(STUDY, seed=2), "epyc/flat": VOID}
    for place, study in places.items():
        assert not (root / PAGE).exists()
        study.write(tmp_path / "measured" / place)
        done = command("publish", f"measured/{place}", f"published/{place}")
        assert (done.returncode, done.stderr) == (0, "")
        assert done.stdout == f"published: published/{place}, with 0 plots\n"
    write_index(root)
    require_figures_of(STUDY.study, root)
    (root / PAGE).write_text((root / PAGE).read_text().replace("another", "an old"))
    assert command("publish", "measured/epyc/compare", "published/epyc/compare").returncode == 0
    require_figures_of(STUDY.study, root)
    (root / PAGE).write_text("<title>My own</title>")
    assert command("publish", "measured/epyc/compare", "published/epyc/compare").returncode == 0
    assert (root / PAGE).read_text() == "<title>My own</title>"
    for name, (right, wrong) in {
        "environment.json": ("{", "["),
        "comparison.csv": (",2,", ",two,"),
    }.items():
        broken = root / "epyc" / "compare" / name
        text = broken.read_text()
        broken.write_text(text.replace(right, wrong))
        with pytest.raises(UsageError, match=f"{name}: .* Publish that study again"):
            write_index(root)
        broken.write_text(text)


@pytest.mark.usefixtures("undrawn")
def test_each_objective_has_a_line_of_its_own_and_no_study_is_a_page_too(tmp_path: Path) -> None:
    served = FakeServedStudy(
        configurations=[("3.14t", "threads"), ("3.14", "processes")],
        answers_per_s={("3.14t", "threads"): 900.0, ("3.14", "processes"): 700.0},
        rates=tuple(float(rate) for rate in range(400, 1_700, 200)),
        blocks=6,
        window_s=12.0,
        ticks=4,
        options={"slo": ["p99<20ms", "p50<5ms"]},
    )
    assert index_page(tmp_path).count("<table") == 0
    folder = tmp_path / "epyc" / "served"
    publish(served.write(tmp_path / "measured").parent, folder, Console(quiet=True))
    shown = Outline(index_page(tmp_path)).root.words
    assert "p99<20ms" in shown
    assert "p50<5ms" in shown
    (folder / "comparison.csv").unlink()
    assert ratios(tmp_path).empty
    assert "served" in index_page(tmp_path)


def require_figures_of(study: Study, root: Path) -> None:
    """Of a void study no ratio is shown; each machine has its lines."""
    found = ratios(root)
    assert set(found["heading"]) == set(ASKED)
    assert set(found["machine"]) == {"epyc", "another one"}
    assert counts(ratios(root)).set_index("heading")["cases"].to_dict() == dict.fromkeys(ASKED, 4)
    for row in found[found["machine"] == "epyc"].to_dict("records"):
        question, measure = ASKED[row["heading"]]
        name = "throughput_per_s" if measure == "throughput" else measure
        same = where(study.ratios, question=question, measure=name, said=row["said"], arm="3.14t")
        (ratio,) = same.loc[np.isclose(same["ratio"], row["ratio"], rtol=1e-5), "workers"]
        assert ratio == 2
    page = Outline((root / PAGE).read_text(encoding="utf-8"))
    assert all(each in page.root.words for each in found["said"])
    assert "void" in page.root.words
    assert links(page) >= {
        f"{each}/{PAGE}" for each in ("epyc/compare", "another%20one/scale", "epyc/flat")
    }
