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

import pandas as pd
import pytest

from scaling.analysis.tables.words import SCALES
from scaling.journal.check_file import CHECK_FILE
from scaling.report.descriptions import write_descriptions
from scaling.report.files import PLOTS, TABLES, document, write_csv
from scaling.report.index import ratios, studies
from scaling.report.publish import PAGE, PUBLISHED
from scaling.report.render.document import html, markdown
from scaling.report.render.svg import svg
from scaling.report.view.plots import drawings
from tests.support.claims import page as claims_page
from tests.support.pages import TEXTS
from tests.support.programs_picture import FILE_NAME, PROGRAMS, programs
from tests.support.published import FOLDERS, alike, name_of, read, study_of
from tests.support.published import PUBLISHED as ALL
from tests.support.quotes import bare_in, comments_in, corrected, figures, without_code

DIGITS = 8  # machines round differently in the last ones
TITLE, GROUP = (f"{{http://www.w3.org/2000/svg}}{tag}" for tag in ("title", "g"))
PICTURE = re.compile("<svg.*?</svg>", re.DOTALL)
PLOT = re.compile(r"\]\([./]*(?:results/)?published/([^)\s]+/plots/[^)\s]+\.svg)\)")
QUOTED = sorted({plot for words in TEXTS.values() for plot in PLOT.findall(words)})
UNSEEN = {"id", "href", "clip-path", "role", "aria-labelledby", "aria-describedby"}
WORDS = "|".join(sorted((word for scale in SCALES for word in scale.words), key=len, reverse=True))
BARE_WORD = re.compile(rf"(?:--> |\()(?:{WORDS})(?!, size open)(?=[\s|).,:])")
POINTS = 0.1  # a hundredth of a letter's height is no other drawing
# All plots of a page are drawn for it, so that pages are of fewer studies than tables.
PAGES = ("epyc-2-cores-4/app-fastapi", "xeon-2-cores-2/slo", "epyc-2-cores-4/scale")
MARKDOWN = (
    *PAGES,
    *("epyc-2-cores/remedies-echo", "xeon-2-cores/million", "xeon-2-cores-2/versions"),
    *(f"xeon-2-cores-2/{name}" for name in ("async-tools", "gateway", "stack-2020")),
    *(f"epyc-2-cores-3/{name}" for name in ("broadcast", "cache", "losses", "outside-httpbin")),
    *(f"epyc-2-cores-3/{name}" for name in ("primitives", "state")),
)
"""One of each kind."""


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
@pytest.mark.parametrize("picture", QUOTED)
def test_every_plot_of_a_text_is_what_its_journal_draws_now(picture: str, tmp_path: Path) -> None:
    there = ALL / picture
    kind = there.stem.partition("-")[0]
    every = drawings(study_of(there.parent.parent), kind)
    (drawing,) = (each for each in every if each.name == there.stem)
    drawn = tmp_path / there.name
    drawn.write_text(svg(drawing.figure, drawing.name, drawing.title), encoding="utf-8")
    new, old = map(_seen, (drawn, there))
    assert alike(new, old, by=0.0, to=POINTS), f"scaling publish {there.parent.parent.name} again"


def test_the_picture_of_all_programs_is_that_of_the_latest_tables(tmp_path: Path) -> None:
    rows = ratios(studies(ALL))
    before = rows.assign(date="2000-01-01", ratio=9.0)
    picture = programs(pd.concat([before, rows], ignore_index=True))
    drawn = tmp_path / FILE_NAME
    drawn.write_text(svg(picture.figure, FILE_NAME, PROGRAMS))
    assert alike(_seen(drawn), _seen(ALL / FILE_NAME), by=0.0, to=POINTS), "nox -s quotes"


def _seen(svg: Path) -> str:
    """What is drawn, a line each: no groups, no names, and not what dots say, which not all that
    is published does.
    """
    shown = (each for each in ET.parse(svg).iter() if each.tag not in (TITLE, GROUP))
    lines = []
    for each in shown:
        looks = {name: value for name, value in each.items() if name not in UNSEEN}
        lines.append(f"{each.tag} {looks} {each.text or ''}")
    return "\n".join(lines)
