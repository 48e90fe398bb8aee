"""What is published is what this version makes of its journals: frames, tables, texts, pages,
plots, and every figure in a page and picture in the README.

`published_frames.json` has a digest of each column over the journals that it lists, made before the
table package was rewritten for speed (2026-11-22); `details` has none, because these are sentences
for people. A column that changes on purpose gets a new digest, and the commit says why.
"""

import hashlib
import io
import json
import re
import xml.etree.ElementTree as ET
from pathlib import Path

import pandas as pd
import pytest

from scaling.analysis.tables.words import SCALES
from scaling.journal.check_file import CHECK_FILE
from scaling.report.files import PLOTS, TABLES, write_csv
from scaling.report.index import ratios
from scaling.report.page import document
from scaling.report.programs import FILE_NAME, PROGRAMS, programs
from scaling.report.publish import PAGE, PUBLISHED, write_descriptions
from scaling.report.render.document import html, markdown
from scaling.report.render.svg import svg
from scaling.report.view.plots import drawings
from tests.support.claims import page as claims_page
from tests.support.pages import TEXTS
from tests.support.published import FOLDERS, alike, name_of, read, study_of
from tests.support.published import PUBLISHED as ALL
from tests.support.quotes import (
    bare_in,
    comments_in,
    corrected,
    figures,
    without_code,
)

KNOWN = json.loads(Path(__file__).with_name("published_frames.json").read_text(encoding="utf-8"))
DIGITS = 8  # machines round differently in the last ones
TITLE, GROUP = (f"{{http://www.w3.org/2000/svg}}{tag}" for tag in ("title", "g"))
PICTURE = re.compile("<svg.*?</svg>", re.DOTALL)
PLOT = re.compile(r"\]\([./]*(?:results/)?published/([^)\s]+/plots/[^)\s]+\.svg)\)")
QUOTED = sorted({plot for words in TEXTS.values() for plot in PLOT.findall(words)})
UNSEEN = {"id", "href", "clip-path", "role", "aria-labelledby", "aria-describedby"}
WORDS = "|".join(sorted((word for scale in SCALES for word in scale.words), key=len, reverse=True))
BARE_WORD = re.compile(rf"(?:--> |\()(?:{WORDS})(?!, size open)(?=[\s|).,:])")
# Named as a folder is, so that one process reads them all (`conftest.py`).
of_all = pytest.mark.parametrize("folder", [ALL], ids=["all"])
IN_FULL_HERE = {
    *("epyc-2-cores/remedies-echo", "xeon-2-cores/million", "xeon-2-cores-2/versions"),
    *("xeon-2-cores-2/gateway", "xeon-2-cores-2/stack-2020", "xeon-2-cores-2/slo"),
    *(f"epyc-2-cores-3/{name}" for name in ("broadcast", "cache", "losses")),
    "epyc-2-cores-4/app-fastapi",
    *(f"epyc-2-cores-3/{name}" for name in ("outside-httpbin", "primitives", "scale", "state")),
}
"""One of each kind; the pages of the others take a minute."""
IN_FULL = [
    pytest.param(
        each, id=name_of(each), marks=() if name_of(each) in IN_FULL_HERE else pytest.mark.thorough
    )
    for each in FOLDERS
]
POINTS = 0.1  # a hundredth of a letter's height is no other drawing


@of_all
def test_every_version_loads_them_into_the_same_frames(folder: Path) -> None:
    frames = {name: read(folder / name).frame for name in KNOWN["journals"]}
    digests = {column: _digest(frames, column) for column in KNOWN["columns"]}
    assert digests == KNOWN["columns"]


def _digest(frames: dict[str, pd.DataFrame], column: str) -> str:
    """Of the column in all frames, by the order of their names."""
    found = hashlib.sha256()
    for name in sorted(frames):
        texts = [_text(value) for value in frames[name][column]]
        found.update("\n".join((name, *texts)).encode())
    return found.hexdigest()[:16]


def _text(value: object) -> str:
    if isinstance(value, dict):
        return str({name: _text(each) for name, each in value.items()})
    return f"{value:.{DIGITS}g}" if isinstance(value, float) else str(value)


@pytest.mark.parametrize("folder", FOLDERS, ids=name_of)
def test_figures_and_descriptions_are_made_of_the_journal(folder: Path, tmp_path: Path) -> None:
    study = study_of(folder)
    write_csv(study, tmp_path)
    write_descriptions(study, tmp_path)
    made = {file.name for file in tmp_path.iterdir()}
    there = {file.name for file in folder.iterdir() if file.is_file()}
    assert made | {PAGE, TABLES} == there - {PUBLISHED[0], CHECK_FILE}
    for name in made:
        require_same(tmp_path / name, folder / name)


@pytest.mark.usefixtures("unrendered")
@pytest.mark.parametrize("folder", IN_FULL)
def test_tables_and_page_are_made_of_the_journal(folder: Path, tmp_path: Path) -> None:
    study = study_of(folder)
    found = document(study, list(drawings(study)), PLOTS)
    (tmp_path / TABLES).write_text(markdown(found), encoding="utf-8")
    (tmp_path / PAGE).write_text(html(found), encoding="utf-8")
    for name in (TABLES, PAGE):
        require_same(tmp_path / name, folder / name)


def require_same(made: Path, there: Path) -> None:
    new, old = (each.read_text(encoding="utf-8") for each in (made, there))
    again = f"scaling publish {there.parent.name} again: {there.name} is not what it would be now"
    if made.suffix == ".csv":
        rows, known = (pd.read_csv(io.StringIO(text)) for text in (new, old))
        pd.testing.assert_frame_equal(rows, known, rtol=1e-4)
    else:
        by = 0.01 if made.name in (TABLES, PAGE) else 0.0
        assert alike(PICTURE.sub("", new), PICTURE.sub("", old), by=by), again


@pytest.mark.parametrize("machine", sorted({each.parent for each in FOLDERS}), ids=lambda m: m.name)
def test_claims_are_those_that_these_tables_decide(machine: Path) -> None:
    there = (machine / "claims.md").read_text(encoding="utf-8")
    assert claims_page(machine) == there, "`nox -s claims` writes it anew"


@pytest.mark.parametrize("folder", FOLDERS, ids=name_of)
def test_every_plot_of_the_page_is_there_and_no_other(folder: Path) -> None:
    plots = list((folder / PLOTS).iterdir())
    assert {plot.suffix for plot in plots} == {".svg"}
    for plot in plots:
        assert ET.parse(plot).getroot().get("aria-label")
    shown = re.findall(rf'src="{PLOTS}/([^"]+)"', (folder / PAGE).read_text(encoding="utf-8"))
    assert sorted(shown) == sorted(plot.name for plot in plots)
    assert (folder / TABLES).stat().st_size


@of_all
def test_every_figure_of_a_page_is_the_published_one(folder: Path) -> None:
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


@of_all
def test_the_picture_of_all_programs_is_that_of_the_tables(folder: Path, tmp_path: Path) -> None:
    drawn = tmp_path / FILE_NAME
    drawn.write_text(svg(programs(ratios(folder)).figure, FILE_NAME, PROGRAMS))
    assert alike(_seen(drawn), _seen(folder / FILE_NAME), by=0.0, to=POINTS), "nox -s quotes"


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
