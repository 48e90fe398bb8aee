"""`index.html` beside the machines has what their studies are about, and each row is a link."""

import json
import re
from dataclasses import replace
from pathlib import Path
from urllib.parse import unquote

import pytest

from scaling.analysis.tables.words import OPEN, RATE
from scaling.base.errors import UsageError
from scaling.report.index import HEADINGS, index_page, is_index, ratios, studies, write_index
from scaling.report.publish import PAGE
from scaling.report.render.svg import svg
from tests.support import rule_picture
from tests.support.cli import Command
from tests.support.html_outline import Outline
from tests.support.pages import TEXTS
from tests.support.published import FOLDERS, PUBLISHED
from tests.support.quotes import count_table
from tests.support.studies import FakeStudy, one

MOST_BYTES = 400_000
OUTSIDE = "<a> refers to "  # the outline's words for a link to another file
STUDY = FakeStudy(
    name="compared",
    arms=("3.14", "3.14t"),
    models=("threads", "processes"),
    workers=(1, 2),
    blocks=6,
    ticks=4,
)
FLAT = {("3.14t", "threads", n): 1.0 for n in (1, 2)}
VOID = replace(STUDY, variants={"compute": [{}]}, speeds=FLAT)


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
    shown = ratios(studies(PUBLISHED))
    words = shown.loc[shown["heading"] == "Throughput over processes", "word"]
    assert words.isin([OPEN, ""]).mean() <= 1 / 6, "few comparisons with processes are open"


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
    shown = Outline((root / PAGE).read_text(encoding="utf-8"))
    assert all(each in shown.root.words for each in ratios(studies(root))["said"])
    assert "void" in shown.root.words
    assert "flat" not in set(ratios(studies(root))["study"])
    assert links(shown) >= {
        f"{each}/{PAGE}" for each in ("epyc/compare", "another%20one/scale", "epyc/flat")
    }
    (root / PAGE).write_text((root / PAGE).read_text().replace("another", "an old"))
    assert command("publish", "measured/epyc/compare", "published/epyc/compare").returncode == 0
    assert "another" in (root / PAGE).read_text()
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
    (root / "epyc" / "compare" / "comparison.csv").unlink()
    assert set(ratios(studies(root))["machine"]) == {"another one"}
    about = root / "another one" / "scale" / "environment.json"
    about.write_text(json.dumps(json.loads(about.read_text()) | {"simulated": True}))
    assert ratios(studies(root)).empty
    assert index_page(tmp_path / "measured").count("<table") == 0, "without a study it is a page"
