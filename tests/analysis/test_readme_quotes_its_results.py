"""Every figure and every picture of a study in a README is what the published results say now."""

import re
from pathlib import Path

import matplotlib as mpl
import pytest

from scaling.report.plots.draw import drawn
from scaling.report.plots.style import RC
from scaling.report.quotes.check import check
from scaling.report.quotes.lookup import Lookup
from scaling.report.quotes.text import quotes_in, without_code
from tests.support.children import ROOT
from tests.support.published import PUBLISHED, alike, read

pytestmark = pytest.mark.slow

TEXTS = ("README.md", "results/README.md")
PICTURE = re.compile(r"\]\((results/published/[^)\s]+/plots/[^)\s]+)\.svg\)")
PICTURES = sorted(set(PICTURE.findall((ROOT / "README.md").read_text(encoding="utf-8"))))
NAMES = re.compile(r'\bid="[^"]*"|href="#[^"]*"|url\(#[^)]*\)')  # made of digests of what they name
BARE_VERDICT = re.compile(
    r"(?:--> |\()(?:faster|slower|same|less|more|inconclusive)(?=[\s|).,:])"
    r"(?!,[^|<]*<!-- [\w.-]+\.words -->)"
)
POINTS = 0.1  # a hundredth of a letter's height is no other drawing


@pytest.fixture(scope="module")
def results() -> Lookup:
    return Lookup(PUBLISHED, read)


def test_every_figure_is_the_one_that_was_measured(results: Lookup) -> None:
    wrong = []
    for text in TEXTS:  # one test: they quote the same studies
        words = (ROOT / text).read_text(encoding="utf-8")
        assert quotes_in(words)
        wrong += [f"{text}:{each.quote.line}: {each.why}" for each in check(words, results)]
    assert not wrong, "\n".join(["`nox -s quotes` puts right what it can:", *wrong])


@pytest.mark.parametrize("text", TEXTS)
def test_every_verdict_after_a_figure_has_a_source(text: str) -> None:
    assert not BARE_VERDICT.findall(without_code((ROOT / text).read_text(encoding="utf-8")))


def test_every_key_is_used(results: Lookup) -> None:
    used = {each.comment for text in TEXTS for each in quotes_in((ROOT / text).read_text("utf-8"))}
    assert results.keys.keys() <= used


def test_there_are_pictures() -> None:
    assert PICTURES


@pytest.mark.parametrize("picture", PICTURES)
def test_every_picture_is_what_its_journal_draws_now(picture: str, tmp_path: Path) -> None:
    there = ROOT / f"{picture}.svg"
    with mpl.rc_context(RC):
        svg, _ = drawn(read(there.parent.parent), there.stem).save(tmp_path / there.stem)
    new, old = (NAMES.sub("", each.read_text(encoding="utf-8")) for each in (svg, there))
    assert alike(new, old, by=0.0, to=POINTS), f"scaling publish {there.parent.parent.name} again"
