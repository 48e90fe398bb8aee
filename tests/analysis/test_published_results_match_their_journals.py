"""What is published is what this version makes of its journals: figures of every study, tables,
pages and plots of one of each kind, and every figure in a page and picture in the README.

`published_frames.json` has a digest of each column over the journals that it lists, made before the
table package was rewritten for speed (2026-11-22); `details` has none, because these are sentences
for people. A column that changes on purpose gets a new digest, and the commit says why.
"""

import hashlib
import io
import json
import re
import xml.etree.ElementTree as ET
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pandas as pd
import pytest

from scaling.analysis.tables.words import OPEN, RATE, SCALES
from scaling.journal.check_file import CHECK_FILE
from scaling.report.descriptions import write_descriptions
from scaling.report.files import PLOTS, TABLES, document, write_csv
from scaling.report.index import HEADINGS, index_page, is_index
from scaling.report.publish import PAGE, PUBLISHED
from scaling.report.render.document import html, markdown
from scaling.report.render.svg import svg
from scaling.report.view.plots import drawings
from tests.support import rule_picture
from tests.support.claims import page as claims_page
from tests.support.html_outline import Outline
from tests.support.pages import TEXTS
from tests.support.programs_picture import FILE_NAME, PROGRAMS, programs
from tests.support.published import FOLDERS, alike, name_of, read, study_of
from tests.support.published import PUBLISHED as ALL
from tests.support.quotes import (
    bare_in,
    comments_in,
    corrected,
    count_table,
    figures,
    without_code,
)
from tests.support.studies import one
from tests.support.tables import indexed

DIGITS = 8  # machines round differently in the last ones
TITLE, GROUP = (f"{{http://www.w3.org/2000/svg}}{tag}" for tag in ("title", "g"))
PICTURE = re.compile("<svg.*?</svg>", re.DOTALL)
PLOT = re.compile(r"\]\([./]*(?:results/)?published/([^)\s]+/plots/[^)\s]+\.svg)\)")
QUOTED = sorted({ALL / plot for words in TEXTS.values() for plot in PLOT.findall(words)})
UNSEEN = {"id", "href", "clip-path", "role", "aria-labelledby", "aria-describedby"}
WORDS = "|".join(sorted((word for scale in SCALES for word in scale.words), key=len, reverse=True))
BARE_WORD = re.compile(rf"(?:--> |\()(?:{WORDS})(?!, size open)(?=[\s|).,:])")
MOST_BYTES = 400_000
OUTSIDE = "<a> refers to "  # the outline's words for a link to another file
POINTS = 0.1  # a hundredth of a letter's height is no other drawing
# All plots of a page are drawn for it, so that pages are of fewer studies than tables.
PAGES = ("epyc-2-cores-4/app-fastapi", "xeon-2-cores-2/slo", "epyc-2-cores-4/scale")
MARKDOWN = (
    *("epyc-2-cores/remedies-echo", "xeon-2-cores/million", "xeon-2-cores-2/versions"),
    *(f"xeon-2-cores-2/{name}" for name in ("async-tools", "gateway", "stack-2020")),
    *(f"epyc-2-cores-3/{name}" for name in ("broadcast", "cache", "losses", "primitives", "state")),
    "epyc-2-cores-4/outside-httpbin",
)
"""One of each other kind: a page has the same tables."""


def of_all_but_thorough(here: Sequence[str]) -> list[Any]:
    """Every folder; those that are not among these are for `nox -s thorough`."""
    names = {each: name_of(each) for each in FOLDERS}
    assert {*here} <= {*names.values()}
    return [
        pytest.param(each, id=name, marks=() if name in here else pytest.mark.thorough)
        for each, name in names.items()
    ]


@pytest.mark.parametrize("folder", FOLDERS, ids=name_of)
def test_figures_and_descriptions_are_made_of_the_journal_and_no_file_lacks(
    folder: Path, tmp_path: Path
) -> None:
    study = study_of(folder)
    write_csv(study, tmp_path)
    write_descriptions(study, tmp_path)
    made = {file.name for file in tmp_path.iterdir()}
    there = {file.name for file in folder.iterdir() if file.is_file()}
    assert made | {PAGE, TABLES} == there - {PUBLISHED[0], CHECK_FILE}
    for name in made:
        require_same(tmp_path / name, folder / name)
    shown = re.findall(rf'src="{PLOTS}/([^"]+\.svg)"', (folder / PAGE).read_text(encoding="utf-8"))
    assert sorted(shown) == sorted(plot.name for plot in (folder / PLOTS).iterdir())


@pytest.mark.parametrize("folder", of_all_but_thorough(MARKDOWN))
def test_tables_are_made_of_the_journal(folder: Path, tmp_path: Path) -> None:
    (tmp_path / TABLES).write_text(markdown(document(study_of(folder))), encoding="utf-8")
    require_same(tmp_path / TABLES, folder / TABLES)


@pytest.mark.usefixtures("unrendered")
@pytest.mark.parametrize("folder", of_all_but_thorough(PAGES))
def test_the_page_is_made_of_the_journal(folder: Path, tmp_path: Path) -> None:
    study = study_of(folder)
    found = html(document(study, list(drawings(study)), PLOTS))
    (tmp_path / PAGE).write_text(found, encoding="utf-8")
    require_same(tmp_path / PAGE, folder / PAGE)


def require_same(made: Path, there: Path) -> None:
    new, old = (each.read_text(encoding="utf-8") for each in (made, there))
    again = f"scaling publish {there.parent.name} again: {there.name} is not what it would be now"
    if made.suffix != ".csv":
        by = 0.01 if made.name in (TABLES, PAGE) else 0.0
        assert alike(PICTURE.sub("", new), PICTURE.sub("", old), by=by), again
    elif new != old:
        rows, known = (pd.read_csv(io.StringIO(text)) for text in (new, old))
        pd.testing.assert_frame_equal(rows, known, rtol=1e-4)


@pytest.mark.thorough
def test_every_version_loads_them_into_the_same_frames() -> None:
    file = Path(__file__).with_name("published_frames.json")
    known = json.loads(file.read_text(encoding="utf-8"))
    frames = {name: read(ALL / name).frame for name in sorted(known["journals"])}
    for column, digest in known["columns"].items():
        found = hashlib.sha256()
        for name, frame in frames.items():
            found.update("\n".join((name, *map(_text, frame[column]))).encode())
        assert found.hexdigest()[:16] == digest, column


def _text(value: object) -> str:
    if isinstance(value, dict):
        return str({name: _text(each) for name, each in value.items()})
    return f"{value:.{DIGITS}g}" if isinstance(value, float) else str(value)


@pytest.mark.parametrize("machine", sorted({each.parent for each in FOLDERS}), ids=lambda m: m.name)
def test_claims_are_those_that_these_tables_decide(machine: Path) -> None:
    there = (machine / "claims.md").read_text(encoding="utf-8")
    assert claims_page(machine) == there, "`nox -s claims` writes it anew"


def test_every_figure_of_a_page_is_the_published_one() -> None:
    published = figures()
    for name, words in TEXTS.items():  # one test: they quote the same studies
        assert corrected(words, published) == words, f"{name}: `nox -s quotes` writes it anew"
        assert not bare_in(words), f"{name}: put <!-- KEY --> after it, and KEY in figures.toml"
        assert not BARE_WORD.findall(without_code(words)), f"{name}: a word without a source"
    used = {key for words in TEXTS.values() for key in comments_in(words)}
    assert published.quoted.keys() <= used | {key.rpartition(".")[0] for key in used}


@pytest.mark.slow
@pytest.mark.parametrize("folder", sorted({each.parents[1] for each in QUOTED}), ids=name_of)
def test_every_plot_of_a_text_is_what_its_journal_draws_now(folder: Path) -> None:
    quoted = {each.stem: each for each in QUOTED if each.parents[1] == folder}
    kinds = {name.partition("-")[0] for name in quoted}
    drawn = {each.name: each for each in drawings(study_of(folder), *kinds)}
    for name, there in quoted.items():
        new, old = _seen(drawn[name].svg), _seen(there.read_text(encoding="utf-8"))
        assert alike(new, old, by=0.0, to=POINTS), f"scaling publish {folder.name} again"


def test_the_index_is_what_is_written_now_small_valid_and_loads_nothing() -> None:
    """`Outline` also finds headings, captions and scopes that a screen reader would miss."""
    text = (ALL / PAGE).read_text(encoding="utf-8")
    assert index_page(ALL) == text, "`nox -s quotes` writes it"
    assert is_index(ALL / PAGE)
    page = Outline(text)
    links = {each.attributes["href"] for each in page.all("a")}
    elsewhere = {each for each in links if not each.startswith("#")}
    assert {ALL / unquote(each) for each in elsewhere} == {each / PAGE for each in FOLDERS}
    assert len(text.encode()) < MOST_BYTES
    assert [each for each in page.faults if not each.startswith(OUTSIDE)] == []
    assert not {each.tag for each in page.elements} & {"script", "img", "iframe"}
    assert [each.attributes["href"] for each in page.all("link")] == ["data:,"]
    assert len(set(HEADINGS.values())) == len(HEADINGS)
    # One function counts for the page and the texts.
    rows = count_table(ALL)
    for key, heading in (
        ("over", "Throughput over processes"),
        ("p99", "P99 over processes, at a rate"),
    ):
        quoted = re.findall(rf"(\d+)<!-- {key}\.(\w+) -->", "".join(TEXTS.values()))
        assert quoted
        found = one(rows, heading=heading)
        assert all(int(figure) == found[column] for figure, column in quoted)
        assert f"{heading} {found['cases']}" in page.root.words
    shown = indexed(ALL)
    words = shown.loc[shown["heading"] == "Throughput over processes", "word"]
    assert words.isin([OPEN, ""]).mean() <= 1 / 6, "few comparisons with processes are open"


def test_the_picture_of_the_rule_has_each_word_as_it_is_now() -> None:
    """But for `not slower`, which few intervals get."""
    shown = (ALL / rule_picture.FILE_NAME).read_text(encoding="utf-8")
    drawn = rule_picture.rule_picture().figure
    named = {each.get_text() for each in drawn.axes[0].get_yticklabels()}
    assert named == {*RATE.words} - {"not slower"}
    assert shown == svg(drawn, rule_picture.FILE_NAME, rule_picture.TITLE), "`nox -s quotes`"


def test_the_picture_of_all_programs_is_that_of_the_latest_tables() -> None:
    rows = indexed(ALL)
    before = rows.assign(begun="2000-01-01T00:00:00Z", ratio=9.0)
    of_gil = rows[~rows["over_arm"].str.contains("t")]
    over_free = of_gil.assign(begun="2100-01-01T00:00:00Z", ratio=9.0, over_arm="3.14t")
    picture = programs(pd.concat([before, rows, over_free], ignore_index=True))
    new, old = svg(picture.figure, FILE_NAME, PROGRAMS), (ALL / FILE_NAME).read_text()
    assert alike(_seen(new), _seen(old), by=0.0, to=POINTS), "nox -s quotes"


def _seen(svg: str) -> str:
    """What is drawn, a line each: no groups, no names, and not what dots say, which not all that
    is published does.
    """
    shown = (each for each in ET.fromstring(svg).iter() if each.tag not in (TITLE, GROUP))
    lines = []
    for each in shown:
        looks = {name: value for name, value in each.items() if name not in UNSEEN}
        lines.append(f"{each.tag} {looks} {each.text or ''}")
    return "\n".join(lines)
