"""A figure in a text is the one of the row that its key names, or is written anew."""

from pathlib import Path

import pytest

from scaling.base.errors import UsageError
from tests.support.published_tables import CELL, GAIN, figure, publish
from tests.support.quotes import Figures, Quoted, bare_in, comments_in, corrected, quoted_in

KEYS = """
["machine/made".comparison]
gain = { row = { workload = "echo", workers = 2 } }
noise = { form = "noise", row = { workload = "echo", workers = 2 } }
both = { row = { workload = "echo" } }
typo = { row = { wrkload = "echo" } }
small = { row = { workload = "scrape", parameters = { pages = 10 } } }
["machine/made".summary]
cpu = { column = "cpu_us_per_op", scale = 1000, row = { workers = 2 } }
late = { column = "late_percent", form = "percent", row = { workers = 2 } }
one = { column = "cpu_us_per_op", row = { workers = 1 } }
["machine/made".environment]
made = {}
["machine/made".laws]
law = {}
[all.comparison]
slower = { count = true, row = { word = ["slower", "slightly slower"] } }
[machine.comparison]
gains = { count = true, row = { question = "gain" } }
"""


def keys(text: str, folder: Path) -> dict[str, Quoted]:
    file = folder / "figures.toml"
    file.write_text(text, encoding="utf-8")
    return quoted_in(file)


@pytest.fixture(scope="module")
def figures(tmp_path_factory: pytest.TempPathFactory) -> Figures:
    folder = tmp_path_factory.mktemp("published")
    slower = {"word": "slower", **figure("ratio", 0.9, 0.85, 0.95)}
    gains = [
        GAIN | {"word": "faster", **figure("ratio", 1.942, 1.921, 1.969)},
        GAIN | {"workers": 4, **slower},
        GAIN | {"workload": "scrape", "parameters": {"pages": 10}, **slower},
        GAIN | {"workload": "scrape", "parameters": {"pages": 100}, **figure("ratio", 1.5)},
        GAIN | {"workload": "primitives", **slower},
    ]
    cells = [
        CELL | figure("cpu_us_per_op", 7.812, 7.7, 8) | figure("late_percent", 2.95, 0.167, 15.2),
        CELL | {"workers": 1, **figure("cpu_us_per_op", 6, n=1)},
    ]
    publish(folder / "machine" / "made", {"comparison": gains, "summary": cells})
    publish(
        folder / "other" / "made", {"comparison": [GAIN | slower | {"word": "slightly slower"}]}
    )
    return Figures(keys(KEYS, folder), folder)


@pytest.mark.parametrize(
    ("key", "written"),
    [
        ("gain", "1.94 (1.92–1.97)"),
        ("gain.word", "faster"),
        ("noise", "96.9 %"),
        ("small", "0.900 (0.850–0.950)"),
        ("cpu", "7,810 (7,700–8,000)"),
        ("late", "2.95 % (0.167–15.2 %)"),
        ("one", "6.00"),
        ("made.runs", "1,025"),
        ("slower", "4"),  # of both machines
        ("gains", "5"),  # of one
    ],
)
def test_a_key_stands_for_a_column_of_one_row_or_the_number_of_rows(
    key: str, written: str, figures: Figures
) -> None:
    assert figures.text(key) == written
    right = f"some **{written}**<!-- {key} --> and more"
    assert corrected(right.replace(written, "?"), figures) == right
    assert comments_in(right) == [key]


@pytest.mark.parametrize(
    "before",
    ["?", "4\n(3–5)"],
)
def test_a_wrong_figure_is_written_anew(before: str, figures: Figures) -> None:
    text = "Two do {}<!-- gain --> times, 3 (4) things.\n"
    assert corrected(text.format(before), figures) == text.format("1.94 (1.92–1.97)")
    right = "Two do 1.94\n(1.92–1.97)<!--\n  gain --> times (faster<!-- gain.word -->).\n"
    assert corrected(right, figures) == right  # over two lines
    assert corrected(right.replace("(faster", "(slower"), figures) == right


@pytest.mark.parametrize(
    ("key", "message"),
    [
        ("gian", "unknown key 'gian'. Did you mean 'gain'"),
        ("gain.wrd", "unknown column 'wrd'. Did you mean 'word'"),
        ("both", "2 rows have workload=echo; name workers$"),
        ("typo", "unknown column 'wrkload'. Did you mean 'workload'"),
        ("law", "unknown table 'laws'"),
    ],
)
def test_what_is_not_one_row_is_an_error(key: str, message: str, figures: Figures) -> None:
    with pytest.raises(UsageError, match=message) as caught:
        corrected(f"2<!-- {key} -->", figures)
    assert "\n" not in str(caught.value)
    with pytest.raises(UsageError, match="gain: there is no figure before it; write"):
        corrected("Two do <!-- gain --> times", figures)


def test_a_bad_file_of_keys_is_refused(tmp_path: Path) -> None:
    for text, message in (
        ("two = ", "Invalid value"),
        ('[a.b]\ntwo = { rows = "x" }', "unknown field `rows`"),
        ('[a.b]\ntwo = { form = "pont" }', "`pont`|'pont'"),
        ("[a.b]\ntwo = {}\n[a.c]\ntwo = {}", "two is there twice"),
    ):
        with pytest.raises(UsageError, match=message):
            keys(text, tmp_path)


def test_a_figure_with_an_interval_has_a_source_unless_it_is_in_code(figures: Figures) -> None:
    quote = "1.2 (1.1–1.3)<!-- such -->"
    text = f"```md\n{quote}\n```\n\n`1.2 (1.1–1.3)` and `{quote}`\n"
    assert corrected(text, figures) == text
    assert bare_in(text) == []
    text = "<!-- prettier-ignore -->\n2 <!-- https://example.org -->\n2<!-- printed by a.py -->"
    assert corrected(text, figures) == text
    assert bare_in("**1.94 (1.92–1.97)**<!-- key -->, seeds (1–3), 4 (1986), v1.94 (1.92)") == []
    assert bare_in("- it does 1.94\n  (1.92–1.97) times") == ["1.94 (1.92–1.97)"]
