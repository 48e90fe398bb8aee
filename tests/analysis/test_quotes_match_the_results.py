"""A figure in a text is checked against the results that its comment names, or corrected."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import get_args

import pandas as pd
import pytest

from scaling import figure
from scaling.analysis.claims.judging import Word, judge
from scaling.analysis.lookup.cells import parse
from scaling.analysis.statistics.estimate import Estimate
from scaling.base import formats
from scaling.base.console import new_console
from scaling.base.errors import UsageError
from scaling.journal.record import ParameterValue
from scaling.report.figures_in_text import FILE_NAME, bare_in, form, quotes_in
from scaling.report.quotes import OF_CLAIMS, Lookup, check, corrected, quotes
from scaling.report.tables.export import comparison_rows
from tests.support.cli import Command
from tests.support.studies import FakeStudy

STUDY = FakeStudy(
    variants={"echo": [{"payload_bytes": 256}, {"payload_bytes": 1024}]},
    arms=("3.14", "3.14t"),
    loops=("asyncio", "uvloop"),
    models=("threads", "processes"),
    workers=(1, 2),
    blocks=6,
    ticks=4,
)
SMALL = replace(STUDY, loops=("asyncio",), models=("threads",))
CELL = "workload=echo arm=3.14t loop=uvloop workers=2 parameters.payload_bytes=1_024"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("published")
    STUDY.write(folder / "made")
    return folder


@pytest.fixture(scope="module")
def results(folder: Path) -> Lookup:
    return Lookup(folder)


@pytest.fixture(scope="module")
def ratio() -> Estimate:
    cell = {"workload": "echo", "arm": "3.14t", "loop": "uvloop", "workers": 2}
    cell["parameters"] = {"payload_bytes": 1024}
    found = figure(STUDY.journal, "throughput_per_s", cell, {"workers": 1})
    return found.estimate


def test_what_is_missing_is_filled_in_and_then_right(results: Lookup, ratio: Estimate) -> None:
    comment = f"<!-- made: throughput_per_s {CELL} over.workers=1 -->"
    right = str(ratio)
    assert "(" in right
    for before in ("", "?", "1.23", "1.23 (1.11–1.35)", "1.23 (-1.1 to 2)", "4\n(3–5)", "12 %"):
        text = f"Two do **{before}**{comment} times, 3 (4) things.\n"
        if not before:
            text = text.replace("**", "")
        (finding,) = check(text, results)
        assert finding.right == right
        done = corrected(text, [finding])
        assert done == text.replace(f"{before}**<", f"{right}**<").replace("do <", f"do {right}<")
        assert check(done, results) == []
    over_two_lines = str(ratio).replace(" ", "\n")
    comment = comment.replace(" over", "\n  over")
    assert check(f"Two do {over_two_lines}{comment} times.", results) == []


@pytest.mark.parametrize(
    ("measure", "expected"), [("blocks", "6"), ("runs", "192"), ("minutes", "10")]
)
def test_a_whole_study_prints_its_extent(measure: str, expected: str, results: Lookup) -> None:
    assert results.figure(f"made: {measure}") == expected
    assert results.figure("made: date") == "2026-11-20"


def test_noise_is_that_of_the_studys_pairs(tmp_path: Path) -> None:
    study = replace(SMALL, aa_pairs=True, noise=0.03)
    study.write(tmp_path / "made")
    found = study.results.floor.of("echo", "cpu_s_per_op")
    quoted = Lookup(tmp_path).figure("made: noise.cpu_s_per_op workload=echo")
    assert quoted == formats.percent(found)


def test_claims_are_counted_by_their_word(tmp_path: Path) -> None:
    """All of them, checked against all studies, as `scaling claims` counts them."""
    echo: dict[str, ParameterValue] = {"payload_bytes": 1024, "tls": "off", "work_us": 0.0}
    study = replace(STUDY, variants={"echo": [echo]}, models=("threads",))
    study.write(tmp_path / "made")
    words = Counter(each.word for each in judge([study.journal]))
    assert words["holds"]  # that uvloop is better
    results = Lookup(tmp_path)
    told = {name: results.figure(f"claims: {name}") for name in OF_CLAIMS}
    assert told.pop("all") == str(words.total())
    assert {OF_CLAIMS[name]: int(count) for name, count in told.items()} == {
        word: words[word] for word in get_args(Word.__value__)
    }


@pytest.mark.slow
def test_studies_of_several_machines_are_distinguished_by_their_paths(tmp_path: Path) -> None:
    for machine, blocks in (("one", 6), ("other", 8)):
        replace(SMALL, blocks=blocks).write(tmp_path / machine / "made")
    results = Lookup(tmp_path)
    assert results.studies == ["one/made", "other/made"]
    assert [results.figure(f"{each}: blocks") for each in results.studies] == ["6", "8"]
    of_both = results.figure("one/claims: all"), results.figure("claims: all")
    assert of_both == (Lookup(tmp_path / "one").figure("claims: all"),) * 2
    replace(SMALL, head={"machine__id": "b"}).write(tmp_path / "other" / "made")
    both = Lookup(tmp_path)
    assert both.figure("other/claims: all") == of_both[0]
    with pytest.raises(UsageError, match="several machines; name one, such as one/claims"):
        both.figure("claims: hold")
    with pytest.raises(UsageError, match="no study below it"):
        results.figure("third/claims: hold")
    with pytest.raises(UsageError, match="Did you mean 'other/made'"):
        results.figure("othr/made: blocks")


def test_a_ratio_across_models_and_parameters_is_the_one_of_figure(results: Lookup) -> None:
    comment = (
        "made: memory_mib workload=echo arm=3.14t workers=2 parameters.payload_bytes=256 "
        "over.model=processes over.parameters.payload_bytes=1024 as=point"
    )
    over = {"model": "processes", "parameters": {"payload_bytes": 1024}}
    cell = {"workload": "echo", "arm": "3.14t", "workers": 2, "parameters": {"payload_bytes": 256}}
    found = figure(STUDY.journal, "memory_mib", cell, over)
    assert results.figure(comment) == formats.number(found.estimate.point)


OVER_PROCESSES = f"throughput_per_s {CELL} over.arm=3.14 over.model=processes"


@pytest.fixture(scope="module")
def ratios() -> pd.DataFrame:
    return comparison_rows(STUDY.results)


def test_a_verdict_is_the_one_of_the_comparison(results: Lookup, ratios: pd.DataFrame) -> None:
    of = ratios["arm"].eq("3.14t") & ratios["loop"].eq("uvloop") & ratios["workers"].eq(2)
    of &= ratios["parameters"].str.contains("1024") & ratios["model"].eq("threads")
    for source, question in (
        (f"speedup {CELL}", "gain"),
        (f"throughput_per_s {CELL} over.workers=1", "gain"),
        (OVER_PROCESSES, "over processes"),
        (f"throughput_per_s {CELL} over.arm=3.14", "headline"),
    ):
        found = ratios[of & ratios["question"].eq(question) & ratios["measure"].eq("throughput")]
        (word,) = found["verdict"]
        comment = f"<!-- made: {source} as=verdict -->"
        assert check(f"It is **{word}**{comment}, so", results) == []
        for wrong in ("?", "unknown"):
            text = f"| 1.2 {wrong}{comment} |"
            (finding,) = check(text, results)
            assert corrected(text, [finding]) == f"| 1.2 {word}{comment} |"
    assert {"faster", "inconclusive"} <= set(ratios["verdict"])


def test_ratios_are_counted_by_their_verdict(results: Lookup, ratios: pd.DataFrame) -> None:
    fields = "question='over processes' model=threads workers=2 over.arm=3.14"
    own = ratios[ratios["question"].eq("over processes") & ratios["model"].eq("threads")]
    own = own[own["workers"].eq(2) & own["over_arm"].eq("3.14") & own["measure"].eq("throughput")]
    assert results.figure(f"verdicts: throughput_per_s {fields}") == str(len(own)) == "4"
    counts = Counter(own["verdict"])
    for word in ("faster", "slower", "same", "inconclusive"):
        told = results.figure(f"verdicts: throughput_per_s {fields} verdict={word}")
        assert told == str(counts[word])


VALUE = Estimate(0.942, 0.921, 0.95, "×", 8, "some", 0.95)
TIME = Estimate(7.812e-6, 7.7e-6, 8.0e-6, "s", 8, "some", 0.95)


@pytest.mark.parametrize(
    ("parts", "unit", "value", "expected"),
    [
        ("", "", VALUE, "0.942 (0.921–0.950)"),
        ("point", "", VALUE, "0.942"),
        ("interval", "", VALUE, "0.921–0.950"),
        ("percent", "", VALUE, "94.2 % (92.1–95.0 %)"),
        ("point,percent", "", VALUE, "94.2 %"),
        ("interval,percent", "", VALUE, "92.1–95.0 %"),
        ("", "ns", TIME, "7,810 (7,700–8,000)"),
        ("point", "µs", TIME, "7.81"),
        ("point", "MB", TIME.scaled(1e12, "B/s"), "7.81"),
        ("point", "ns", TIME.scaled(1e6, "µs/op"), "7,810"),
        ("", "", Estimate(4, 4, 4, "", 1, "one"), "4.00"),
    ],
)
def test_it_is_written_as_asked_and_found_again(
    parts: str, unit: str, value: Estimate, expected: str
) -> None:
    told = form(parts, unit).text(value)
    assert told == expected
    (quote,) = quotes_in(f"some words, {told}<!-- a: b --> and more")
    assert quote.written == told


@pytest.mark.parametrize(
    ("comment", "told"),
    [
        ("made:", "expected RESULTS: MEASURE"),
        ("made: throughput_per_s workload", "expected field=value, got 'workload'"),
        ("made: throughput_per_s workload=echo workload=echo", "workload is given twice"),
        ("made: throughput_per_s worklaod=echo", "Did you mean 'workload'?"),
        ("made: throughput_per_s in=Ns", "unknown unit"),
        ("made: throughput_per_s in=ms as=percent", "has no other unit"),
        ("made: throughput_per_s as=point,interval", "leave it out"),
        (f"made: throughput_per_s {CELL} in=ms", "ms is no unit for round trips/s"),
        (f"made: throughput_per {CELL}", "Did you mean 'throughput_per_s'?"),
        ("made: throughput_per_s workload=echo arm=3.14t workers=3", "made has no echo"),
        ("made: throughput_per_s workload=echo arm=3.14t workers=2", "name the parameter"),
        ("made: runs workload=echo", "takes no cell"),
        ("claims: holds", "Did you mean 'hold'?"),
        ("maed: runs", "Did you mean 'made'?"),
        ("made: noise.throughput workload=echo", "no A/A pair"),
        (f"made: noise.throughput {CELL}", "of a workload alone"),
        ("made: noise.thruput workload=echo", "Did you mean 'throughput'?"),
        (f"made: throughput_per_s {CELL} as=verdict", "name what it is over"),
        (f"made: minor_faults_per_op {CELL} over.workers=1 as=verdict", "measure with verdicts"),
        (f"made: cpu_s_per_op {CELL} over.workers=1 as=verdict", "no verdict on it: quote the"),
        (f"made: {OVER_PROCESSES} as=verdict,point", "written alone"),
        ("made: throughput_per_s verdict=faster", "a field of verdicts alone"),
        ("verdicts: throughput_per_s verdict=fastr", "Did you mean 'faster'?"),
        ("verdicts: throughput_per_s model=thread verdict=faster", "no ratio has these fields"),
    ],
)
def test_what_makes_no_sense_is_an_error_with_its_line(
    comment: str, told: str, results: Lookup
) -> None:
    (finding,) = check(f"a\nb\n  2<!-- {comment} -->\n", results)
    assert told in finding.why
    assert "\n" not in finding.why
    assert (finding.quote.line, finding.right) == (3, "")


def test_what_stands_in_code_is_nobodys_figure(results: Lookup) -> None:
    fence, quote = "```", "1.2 (1.1–1.3)<!-- no: such -->"
    text = f"{fence}md\n{quote}\n{fence}\n\n`1.2 (1.1–1.3)` and `{quote}`\n"
    assert check(text, results) == []
    (finding,) = check(f"{text}\n1.2 (1.1–1.3)\n", results)
    assert finding.quote.line == 7


@pytest.mark.parametrize(
    ("text", "bare"),
    [
        ("does 1.94 (1.92–1.97) times", ["1.94 (1.92–1.97)"]),
        ("**0.01 (-0.02 to 0.03)** and 65,300 (64,100–66,000)", 2),
        ("86.6 % (83.0–89.3 %)", 1),
        ("- it does 1.94\n  (1.92–1.97) times", ["1.94 (1.92–1.97)"]),
        ("1.94 (1.92–1.97)<!-- made: x -->", []),
        ("1.94 (1.92–1.97)<!-- a profile -->", []),
        ("**1.94 (1.92–1.97)**<!-- made: x -->", []),
        ("seeds (1–3), 4 (1986), 75–79, v1.94 (1.92)", []),
    ],
)
def test_a_figure_with_an_interval_has_a_source(text: str, bare: list[str] | int) -> None:
    found = [quote.written for quote in bare_in(text)]
    assert found == bare if isinstance(bare, list) else len(found) == bare


def test_other_comments_are_left_alone() -> None:
    text = "<!-- prettier-ignore -->\n2 <!-- https://example.org -->\n<!--- made -->"
    assert quotes_in(text) == []


def test_values_have_the_types_of_parameters() -> None:
    _, source = parse(
        "r: m arm=3.14 workers=2 parameters.a=1_000 parameters.b=0.5 parameters.c=true"
    )
    assert source.cell == {
        "arm": "3.14",
        "workers": 2,
        "parameters": {"a": 1000, "b": 0.5, "c": True},
    }
    assert source.over is None
    assert parse('r: m over.parameters.a="b c"')[1].over == {"parameters": {"a": "b c"}}


def test_the_command_fails_until_it_has_written(
    folder: Path, tmp_path: Path, command: Command
) -> None:
    text = tmp_path / "TEXT.md"
    begin, end = b"6<!-- made: blocks -->\r\n" + 98 * b"\r\n", b"<!-- made: runs -->\r\n"
    text.write_bytes(begin + b"7" + end)
    asked = ("quotes", "TEXT.md", "--results", str(folder))
    done = command(*asked)
    assert (done.returncode, done.stderr) == (1, "")
    assert done.stdout.splitlines() == [
        "TEXT.md:100: says 7 where 192 was measured (made: runs)",
        "TEXT.md: 2 figures with a source, 1 wrong",
    ]
    done = command(*asked, "--write")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "TEXT.md: 2 figures with a source, all as measured; 1 corrected\n"
    assert text.read_bytes() == begin + b"192" + end


def test_wrong_use_is_an_error(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "latin.md").write_bytes(b"\xe4")
    for text, told in (("no.md", "No such file"), ("latin.md", "not UTF-8 text")):
        with pytest.raises(UsageError, match=told):
            quotes([tmp_path / text], folder, new_console(quiet=True), write=False)
    with pytest.raises(UsageError, match="no folder below it has a study"):
        Lookup(tmp_path)


KEYED = "Two do 1.23<!-- two --> times in ?<!-- blocks --> blocks.\n"


@pytest.fixture
def keyed(folder: Path) -> Iterator[Path]:
    file = folder / FILE_NAME
    file.write_text(
        f'two = "made: throughput_per_s {CELL} over.workers=1"\nblocks = "made: blocks"\n'
    )
    yield folder
    file.unlink()


def test_a_key_stands_for_its_source(keyed: Path, ratio: Estimate) -> None:
    results = Lookup(keyed)
    done = corrected(KEYED, check(KEYED, results))
    assert done == f"Two do {ratio}<!-- two --> times in 6<!-- blocks --> blocks.\n"
    assert check(done, results) == []
    (finding,) = check("\n6<!-- block -->\n", results)
    assert "Did you mean 'blocks'?" in finding.why
    assert finding.quote.line == 2


def test_the_key_of_a_ratio_stands_for_its_verdict_too(keyed: Path) -> None:
    source = f"made: throughput_per_s {CELL} over.workers=1"
    (keyed / FILE_NAME).write_text(f'two = "{source} as=percent"\n')
    results = Lookup(keyed)
    word = results.figure(f"{source} as=verdict")
    assert check(f"({word}<!-- two.verdict -->)", results) == []
    for wrong in ("quicker", "Faster", ""):
        text = f"({wrong}<!-- two.verdict -->)"
        (finding,) = check(text, results)
        assert corrected(text, [finding]) == f"({word}<!-- two.verdict -->)"
    (finding,) = check(f"({word}<!-- tow.verdict -->)", results)
    assert "Did you mean 'two'?" in finding.why


@pytest.mark.parametrize(("text", "message"), [("two = 3", "expected a source"), ("two", "TOML")])
def test_a_bad_file_of_keys_is_refused(text: str, message: str, keyed: Path) -> None:
    (keyed / FILE_NAME).write_text(text)
    with pytest.raises(UsageError, match=message):
        Lookup(keyed)
