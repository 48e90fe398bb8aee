"""A report in a real browser: it asks for nothing, and is readable on a phone, in the dark, on
paper and by ear.
"""

import io
from collections.abc import Iterator
from pathlib import Path

import pytest
from PIL import Image

from scaling.analysis.results import StudyResults
from scaling.report.files import PLOTS, write_plots
from scaling.report.page.parts import Pictures
from scaling.report.page.render import page
from scaling.report.publish import PAGE
from tests.support.applications import application_study, results_of
from tests.support.chromium import Chromium, Page, chromium
from tests.support.fabricate import Made, studied
from tests.support.time_terms import plus, with_terms

PHONE, LAPTOP, DESK = 390, 1200, 1280  # CSS pixels
READABLE, VISIBLE = 4.5, 3.0  # contrast of writing and of drawings (WCAG 2.2, 1.4.3 and 1.4.11)

# Contrast of two colours that the page's style sheet names, as WCAG defines it.
CONTRAST = """((of, on) => {
    const part = c => (c /= 255) <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
    const light = name => {
        const probe = document.body.appendChild(document.createElement('i'));
        probe.style.color = name;
        const [r, g, b] = getComputedStyle(probe).color.match(/[0-9.]+/g).map(Number).map(part);
        probe.remove();
        return 0.2126 * r + 0.7152 * g + 0.0722 * b;
    };
    const [low, high] = [light(of), light(on)].sort((a, b) => a - b);
    return (high + 0.05) / (low + 0.05);
})"""

# Writing in pictures that reaches beyond them: what it says, and by how much.
TOO_WIDE = """[...document.querySelectorAll('figure svg text')].map(text => {
    const sheet = text.ownerSVGElement.getBoundingClientRect(), own = text.getBoundingClientRect();
    return [text.textContent, Math.max(sheet.left - own.left, own.right - sheet.right)];
}).filter(([_, beyond]) => beyond > 1)"""

# Tables of which a part is out of sight, with all that can be opened open.
CUT_OFF = """(document.querySelectorAll('details').forEach(each => each.open = true),
    [...document.querySelectorAll('.wide:not(.paper)')]
    .filter(each => each.scrollWidth > each.clientWidth + 1)
    .map(each => each.querySelector('caption').textContent))"""

pytestmark = [pytest.mark.slow, pytest.mark.needs("chromium")]


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Chromium]:
    with chromium(tmp_path_factory.mktemp("profile")) as found:
        yield found


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("study")
    made = Made(
        arms=("3.14", "3.14+mimalloc", "3.14t+gil", "3.14t"),
        loops=("asyncio", "uvloop"),
        models=("threads", "processes"),
        workers=(1, 2, 4),
        blocks=6,
    )
    file = folder / "report.html"
    journal = with_terms(studied(folder, made), lambda arm, model, n: plus(blocked=900.0 * n))
    html = page(StudyResults.of(journal))
    file.write_text(html, encoding="utf-8")
    return file


@pytest.mark.slow
def test_no_request_leaves_it(browser: Chromium, report: Path) -> None:
    shown = Page(browser, report, DESK)
    assert [url for url in shown.requests if not url.startswith("data:")] == [report.as_uri()]


@pytest.mark.slow
def test_a_published_page_asks_for_its_plots_alone(browser: Chromium, tmp_path: Path) -> None:
    results = StudyResults.of(studied(tmp_path, Made(workers=(1,), blocks=1)))
    plots = write_plots(results, tmp_path / PLOTS, ["svg"])
    file = tmp_path / PAGE
    file.write_text(page(results, Pictures(tmp_path / PLOTS, beside=True)), encoding="utf-8")
    shown = Page(browser, file, DESK)
    asked = [url for url in shown.requests if not url.startswith("data:")]
    assert set(asked) == {each.as_uri() for each in (file, *plots)}
    widths = shown.value_of("[...document.images].map(each => each.naturalWidth)")
    assert len(widths) == len(plots)
    assert all(widths)


def test_a_request_that_left_would_be_seen(browser: Chromium, report: Path) -> None:
    """And would be held back by the page itself."""
    html = report.read_text(encoding="utf-8")
    inside = html.replace("<footer>", '<img src="https://example.invalid/x.png"><footer>')
    talkative = report.with_name("talkative.html")
    policy = 'content="default-src'
    talkative.write_text(inside.replace(policy, 'content="img-src *; default-src'))
    assert "https://example.invalid/x.png" in Page(browser, talkative, DESK).requests
    talkative.write_text(inside)
    held_back = Page(browser, talkative, DESK)
    assert held_back.value_of("document.images[0].naturalWidth") == 0


@pytest.mark.parametrize("width", [PHONE, DESK])
def test_nothing_is_wider_than_the_screen(width: int, browser: Chromium, report: Path) -> None:
    shown = Page(browser, report, width)
    assert shown.value_of("innerWidth") == width
    assert shown.value_of("document.scrollingElement.scrollWidth") <= width
    assert shown.value_of(TOO_WIDE) == []
    assert shown.value_of("parseFloat(getComputedStyle(document.body).fontSize)") >= 16
    smallest = "Math.min(...[...document.querySelectorAll('figure svg')].map(s => s.clientWidth))"
    assert shown.value_of(smallest) >= 640  # a phone scrolls it: smaller, nobody could read it


@pytest.mark.usefixtures("unrendered")
def test_no_column_is_cut_off_on_a_laptop(browser: Chromium, report: Path, tmp_path: Path) -> None:
    """Also not of an application at several rates, whose tables have most columns."""
    rates = (0.0, 400.0, 800.0)
    results = results_of(application_study(tmp_path, rates=rates, window_s=12.0))
    wide = tmp_path / "wide.html"
    wide.write_text(page(results), encoding="utf-8")
    for file in (report, wide):
        shown = Page(browser, file, LAPTOP)
        assert shown.value_of(CUT_OFF) == []
        assert shown.value_of("document.querySelectorAll('.wide:not(.paper)').length") > 10
    assert "Every configuration, continued" in wide.read_text(encoding="utf-8")
    assert len(Page(browser, wide, PHONE).value_of(CUT_OFF)) > 3, "what is cut off is found"


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_ink_contrasts_with_paper(scheme: str, browser: Chromium, report: Path) -> None:
    shown = Page(browser, report, DESK, scheme)

    def contrast(of: str, on: str) -> float:
        return float(shown.value_of(f"{CONTRAST}('{of}', '{on}')"))

    for ink in ("ink", "quiet", "link", "good", "bad"):
        for paper in ("page", "paper", "raised"):
            assert contrast(f"var(--{ink})", f"var(--{paper})") >= READABLE, (ink, paper)
    for paper in ("warn", "void"):
        assert contrast("var(--ink)", f"var(--{paper})") >= READABLE
    assert contrast("var(--edge)", "var(--paper)") >= VISIBLE
    pixels = Image.open(io.BytesIO(shown.screenshot())).convert("L")
    darkest, lightest = pixels.getextrema()
    middle = sorted(pixels.resize((64, 64)).tobytes())[64 * 32]
    assert isinstance(darkest, int)
    assert isinstance(lightest, int)
    assert lightest - darkest > 150  # something is written there
    assert middle > 240 if scheme == "light" else middle < 40


def test_arms_are_visible_on_a_dark_background(browser: Chromium, report: Path) -> None:
    shown = Page(browser, report, DESK, "dark")
    drawn = shown.value_of(
        "[...new Set([...document.querySelectorAll('figure svg [style*=\"#\"]')]"
        ".flatMap(each => each.getAttribute('style').match(/#[0-9a-f]{6}/g) || []))]"
    )
    assert len(drawn) == 4
    for colour in drawn:
        assert shown.value_of(f"{CONTRAST}('{colour}', 'var(--paper)')") >= VISIBLE, colour


def test_paper_shows_all_and_is_white(browser: Chromium, report: Path) -> None:
    """On it nothing can be opened, and ink is dear."""
    hidden = "[...document.querySelectorAll('details table')].filter(t => !t.checkVisibility())"
    screen = Page(browser, report, DESK, "dark")
    assert screen.value_of(f"{hidden}.length") > 3
    printed = Page(browser, report, 700, "dark", media="print")
    assert printed.value_of(f"{hidden}.length") == 0
    assert printed.value_of("getComputedStyle(document.body).backgroundColor") == (
        "rgb(255, 255, 255)"
    )
    assert printed.value_of("document.querySelector('nav').checkVisibility()") is False
    assert printed.value_of("document.scrollingElement.scrollWidth") <= 700


def test_it_can_be_listened_to(browser: Chromium, report: Path) -> None:
    heard = Page(browser, report, DESK).heard
    roles = {role for role, _ in heard}
    assert {"banner", "navigation", "main", "contentinfo", "region", "heading", "image"} <= roles
    named = [(role, name) for role, name in heard if role in ("image", "region", "heading")]
    assert all(name.strip() for _, name in named)
    pictures = [name for role, name in named if role == "image"]
    assert len(pictures) == len(set(pictures)) == 7
    assert "echo: throughput" in pictures
