"""What is published beside a journal is what this version makes of it: tables, texts, plots."""

import io
import json
import re
import xml.etree.ElementTree as ET
from pathlib import Path

import pandas as pd
import pytest

from scaling.analysis.claims import judge
from scaling.analysis.table.labels import slug
from scaling.journal.beside import NAMES as BESIDE
from scaling.report.claims import markdown
from scaling.report.files import PLOTS, TABLES, write_tables
from scaling.report.page.parts import Pictures
from scaling.report.page.render import write_page
from scaling.report.publish import PAGE, PUBLISHED, write_descriptions
from tests.support.published import FOLDERS, alike, name_of, read, results_of

TITLE = "{http://www.w3.org/2000/svg}title"
PICTURE = re.compile("<svg.*?</svg>", re.DOTALL)


def test_there_are_some() -> None:
    assert FOLDERS


@pytest.mark.usefixtures("unrendered")
@pytest.mark.parametrize("folder", FOLDERS, ids=name_of)
def test_tables_page_and_descriptions_are_made_of_the_journal(folder: Path, tmp_path: Path) -> None:
    write_tables(results_of(folder), tmp_path)
    write_descriptions(read(folder), tmp_path)
    write_page(results_of(folder), tmp_path / PAGE, Pictures(folder / PLOTS, beside=True))
    made = {file.name for file in tmp_path.iterdir()}
    assert made == {file.name for file in folder.iterdir()} & made
    there = {file.name for file in folder.iterdir() if file.is_file()}
    assert made == there - {PUBLISHED[0], *BESIDE}
    for file in tmp_path.iterdir():
        new, old = (each.read_text(encoding="utf-8") for each in (file, folder / file.name))
        again = f"scaling publish {folder.name} again: {file.name} is not what it would be now"
        assert _same(new, old, file.suffix), again


@pytest.mark.slow
def test_claims_are_those_that_these_studies_decide() -> None:
    for machine in {folder.parent for folder in FOLDERS}:
        judged = judge([read(folder) for folder in FOLDERS if folder.parent == machine])
        there = (machine / "claims.md").read_text(encoding="utf-8")
        assert _same(markdown(judged), there, ".md"), "`scaling claims --output` writes it anew"


def _same(new: str, old: str, suffix: str) -> bool:
    if new == old:
        return True
    if suffix == ".csv":
        made, there = (pd.read_csv(io.StringIO(text)) for text in (new, old))
        pd.testing.assert_frame_equal(made, there, rtol=1e-4)
        return True
    if suffix == ".json":
        return bool(json.loads(new) == json.loads(old))
    return alike(PICTURE.sub("", new), PICTURE.sub("", old), by=0.01)


@pytest.mark.slow
@pytest.mark.parametrize("folder", FOLDERS, ids=name_of)
def test_every_plot_is_there_and_no_picture_that_is_none(folder: Path) -> None:
    plots = list((folder / "plots").iterdir())
    assert {plot.suffix for plot in plots} == {".svg"}
    for plot in plots:
        title = ET.parse(plot).getroot().find(f".//{TITLE}")
        assert title is not None or "<dc:title>" in plot.read_text(encoding="utf-8")
    names = {plot.name for plot in plots}
    for section in results_of(folder).sections:
        points = [point for curve in section.curves for point in curve.points]
        drawn = f"{slug(section.label)}-{section.sizing}-throughput.svg" in names
        is_rated = section.rate_per_s is not None  # its throughput is the schedule's
        assert drawn == (any(point.throughput.n for point in points) and not is_rated)
    assert (folder / TABLES).stat().st_size
