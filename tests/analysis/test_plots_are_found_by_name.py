"""A notebook gets any plot of a study by the name of its file, with its caption."""

import base64
from pathlib import Path

import pytest

from scaling.analysis.results import StudyResults
from scaling.analysis.table.load import Journal
from scaling.base.errors import UsageError
from scaling.report.plots.draw import draw_all, drawn
from tests.support.fabricate import Made, studied

SWEPT = Made(variants={"echo": [{"payload_bytes": 256}, {"payload_bytes": 1024}]}, workers=(1, 2))


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Journal:
    folder = tmp_path_factory.mktemp("study")
    return studied(folder, SWEPT)


@pytest.mark.slow
def test_every_file_has_its_figure(study: Journal, tmp_path: Path) -> None:
    files = draw_all(StudyResults.of(study), tmp_path)
    names = {file.stem for file in files}
    assert len(names) > 5
    last = files[-1].stem
    title = drawn(study, last).title
    assert title in (tmp_path / f"{last}.svg").read_text(encoding="utf-8")
    with pytest.raises(UsageError) as told:
        drawn(study, "echo-weak-anything")
    assert all(name in str(told.value) for name in names)


def test_it_is_shown_as_a_picture_with_its_words(study: Journal) -> None:
    sheet = drawn(study, "echo-payload_bytes-256-weak-throughput")
    shown = sheet._repr_mimebundle_(include=None, exclude=None)
    assert base64.b64decode(shown["image/png"]).startswith(b"\x89PNG")
    assert shown["text/plain"] == f"{sheet.title}. {sheet.description}"
    assert "throughput" in shown["text/plain"]
