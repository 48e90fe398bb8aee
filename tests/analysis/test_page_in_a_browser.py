"""A report in a real browser: it asks for nothing, and is readable on a phone, in the dark, on
paper and by ear.
"""

import io
from collections.abc import Callable, Iterator
from functools import cache, partial
from pathlib import Path

import pytest
from PIL import Image

from scaling.analysis.tables.study import Study
from scaling.report.publish import PAGE
from tests.support.chromium import Chromium, Page, chromium
from tests.support.documents import page
from tests.support.once import made_once
from tests.support.published import PUBLISHED
from tests.support.served_studies import FakeAppStudy
from tests.support.studies import FakeStudy
from tests.support.terms import plus

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


MADE = FakeStudy(
    arms=("3.14", "3.14+mimalloc", "3.14t+gil", "3.14t"),
    models=("threads", "processes"),
    workers=(1, 2),
    blocks=6,
    ticks=4,
    terms=lambda _arm, _model, n: plus(blocked=900.0 * n),
)


def write_pages(folder: Path) -> None:
    """One of all plots, and one of an application at several rates: it has the widest tables."""
    (folder / "report.html").write_text(page(MADE.study), encoding="utf-8")
    app = FakeAppStudy(rates=(0.0, 400.0, 800.0), window_s=12.0)
    study = Study.of(app.read(folder / "app"))
    (folder / "wide.html").write_text(page(study, drawn=[]), encoding="utf-8")


@pytest.fixture(scope="session")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return made_once(tmp_path_factory, "pages-in-a-browser", write_pages) / "report.html"


type Shown = Callable[..., Page]


@pytest.fixture(scope="module")
def shown(browser: Chromium, report: Path) -> Shown:
    """The report at some width, in a scheme and a medium, opened once for all tests."""
    return cache(partial(Page, browser, report))


def test_no_request_leaves_it_and_one_that_did_would_be_held_back(
    shown: Shown, browser: Chromium, report: Path, tmp_path: Path
) -> None:
    asked = shown(DESK, "light").requests
    assert [url for url in asked if not url.startswith("data:")] == [report.as_uri()]
    html = report.read_text(encoding="utf-8")
    talkative = tmp_path / "talkative.html"
    image = '<img src="https://example.invalid/x.png">'
    talkative.write_text(html.replace("<footer>", f"{image}<footer>"))
    assert Page(browser, talkative, DESK).value_of("document.images[0].naturalWidth") == 0


@pytest.mark.parametrize("width", [PHONE, DESK])
def test_nothing_is_wider_than_the_screen(width: int, shown: Shown) -> None:
    there = shown(width, "light")
    assert there.value_of("innerWidth") == width
    assert there.value_of("document.scrollingElement.scrollWidth") <= width
    assert there.value_of(TOO_WIDE) == []
    assert there.value_of("parseFloat(getComputedStyle(document.body).fontSize)") >= 16
    smallest = "Math.min(...[...document.querySelectorAll('figure svg')].map(s => s.clientWidth))"
    assert there.value_of(smallest) >= 640  # a phone scrolls it: smaller, nobody could read it


def test_no_column_is_cut_off_on_a_laptop(browser: Chromium, report: Path) -> None:
    wide = report.with_name("wide.html")
    shown = Page(browser, wide, LAPTOP)
    assert shown.value_of(CUT_OFF) == []
    assert shown.value_of("document.querySelectorAll('.wide:not(.paper)').length") > 10
    assert len(Page(browser, wide, PHONE).value_of(CUT_OFF)) > 3, "what is cut off is found"


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_ink_contrasts_with_paper_and_arms_are_visible_on_it(scheme: str, shown: Shown) -> None:
    there = shown(DESK, scheme)

    def contrast(of: str, on: str) -> float:
        return float(there.value_of(f"{CONTRAST}('{of}', 'var(--{on})')"))

    for ink in ("ink", "quiet", "link", "good", "bad"):
        for paper in ("page", "paper", "raised"):
            assert contrast(f"var(--{ink})", paper) >= READABLE, (ink, paper)
    for paper in ("warn", "void"):
        assert contrast("var(--ink)", paper) >= READABLE
    assert contrast("var(--edge)", "paper") >= VISIBLE
    pixels = Image.open(io.BytesIO(there.screenshot())).convert("L")
    middle = sorted(pixels.resize((64, 64)).tobytes())[64 * 32]
    assert middle > 240 if scheme == "light" else middle < 40
    if scheme == "dark":
        drawn = there.value_of(
            "[...new Set([...document.querySelectorAll('figure svg style')]"
            ".flatMap(each => each.textContent.match(/(?<!, )#[0-9a-f]{6}/g) || []))]"
        )
        assert len(drawn) >= 4
        assert [colour for colour in drawn if contrast(colour, "paper") < VISIBLE] == []


def test_paper_shows_all_and_is_white(shown: Shown) -> None:
    """On it nothing can be opened, and ink is dear."""
    hidden = "[...document.querySelectorAll('details table')].filter(t => !t.checkVisibility())"
    screen = shown(DESK, "dark")
    assert screen.value_of(f"{hidden}.length") > 3
    printed = shown(700, "dark", "print")
    assert printed.value_of(f"{hidden}.length") == 0
    assert printed.value_of("getComputedStyle(document.body).backgroundColor") == (
        "rgb(255, 255, 255)"
    )
    assert printed.value_of("document.scrollingElement.scrollWidth") <= 700


def test_of_the_page_of_all_studies_nothing_is_cut_off(browser: Chromium) -> None:
    """Its tables are folded but for the first."""
    there = Page(browser, PUBLISHED / PAGE, PHONE, "light")
    asked = [url for url in there.requests if not url.startswith("data:")]
    assert asked == [(PUBLISHED / PAGE).as_uri()]
    roles = {role for role, _ in there.heard}
    assert {"table", "columnheader", "rowheader", "row", "cell"} <= roles
    assert there.value_of("document.querySelectorAll('table a').length") > 100
    assert there.value_of("document.scrollingElement.scrollWidth") <= PHONE


def test_it_can_be_listened_to(shown: Shown) -> None:
    there = shown(DESK, "light")
    heard = there.heard
    roles = {role for role, _ in heard}
    assert {"banner", "main", "contentinfo", "region", "heading"} <= roles
    named = [(role, name) for role, name in heard if role in ("region", "heading")]
    assert all(name.strip() for _, name in named)
    pictures = there.value_of(
        "[...document.querySelectorAll('svg')].map(each => each.getAttribute('aria-label'))"
    )
    assert len(pictures) == len(set(pictures)) > 4
    assert pictures[0] in {name for _, name in heard}
