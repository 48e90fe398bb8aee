"""A list of claims that is wrong says which claim, which field, and what was expected."""

from pathlib import Path

import pytest

from scaling.analysis.claims.reading import claims_in, read_claims
from scaling.base.errors import UsageError
from tests.support.claims import CELL, SOURCE, claim, claims

RULE = "at_least = 1.5"
FIGURE = f"figure = 'speedup {CELL} '"
FIRST = r"claims.toml: claim 1 \(twice\): "


def replaced(old: str, new: str) -> str:
    text = claim(RULE)
    assert old in text
    return text.replace(old, new)


@pytest.mark.parametrize(
    ("told", "message"),
    [
        (replaced('name = "twice"', ""), "claim 1: .*name"),
        (
            replaced('"twice"', '"Twice as much"'),
            "name: expected small letters, digits and hyphens",
        ),
        (replaced('"twice"', "2"), "claim 1: name: expected text, got whole number"),
        (replaced('"somebody"', '"sombody"'), f"{FIRST}source: unknown source 'sombody'. Did you"),
        (
            replaced('claim = "Two', 'clam = "Two'),
            f"{FIRST}unknown key 'clam'. Did you mean 'claim'",
        ),
        (replaced("[[claims]]", "[claims]"), "expected .*claims.* tables"),
        (replaced("[[claims]]", "[[claim]]"), "claims.toml: unknown key 'claim'"),
        ("", "expected .*claims.* tables"),
        ("[[claims]", "claims.toml: not valid TOML"),
        (claim(""), f"{FIRST}expected exactly one rule of between, at_least, .*same$"),
        (claim("at_least = 1\nat_most = 2"), "exactly one rule of .*, got at_least and at_most"),
        (claim("between = [1]"), f"{FIRST}between: expected list of length 2"),
        (claim("between = [2, 1]"), f"{FIRST}between: expected the lower bound first"),
        (claim("between = ['a', 'b']"), f"{FIRST}between.*: expected number, got text"),
        (claim("between = [0, 1]"), f"{FIRST}expected bounds above 0, got 0.0 and 1.0"),
        (claim("at_least = -1"), f"{FIRST}expected bounds above 0, got -1.0"),
        (claim("at_least = nan"), f"{FIRST}expected bounds above 0, got nan"),
        (claim("at_least = '1'"), f"{FIRST}at_least: expected number, got text"),
        (claim("same = true"), f"{FIRST}same: expected what .* as in over.workers=1"),
        (
            claim("more = true", over=["over.workers=1", ""]),
            f"{FIRST}more: expected what .* as in over.workers=1",
        ),
        (claim("same = false", over="over.workers=1"), f"{FIRST}same: expected true"),
        (claim(f"{RULE}\ncores = 0"), f"{FIRST}cores: expected a number from 1 on, got 0"),
        (claim(f"{RULE}\ncannot = 'no'"), f"{FIRST}cannot: goes without figure, at_least"),
        (replaced(FIGURE, ""), f"{FIRST}figure is missing"),
        (replaced(FIGURE, "figure = []"), f"{FIRST}figure is missing"),
        (replaced(FIGURE, "figure = 1"), f"{FIRST}figure: expected text or list, got whole number"),
        (replaced(FIGURE, "figure = ''"), f"{FIRST}figure is missing"),
        (replaced("speedup", "scale: speedup"), f"{FIRST}figure: expected .*without a study"),
        (replaced("workers=2", "as=point"), f"{FIRST}figure: speedup is of a number of workers"),
        (replaced("workers=2", "workers=2 as=point"), f"{FIRST}figure: as is of a text's figures"),
        (replaced("run = ", "note = "), f"{FIRST}run is missing"),
        (claim(RULE, cell="arm=3.14t"), f"{FIRST}figure: a cell is named by its workload"),
        (claim(RULE, cell="workload=echo"), f"{FIRST}figure: .* name the cell's `workers`"),
        (claim(RULE, cell="echo"), f"{FIRST}figure: expected field=value, got 'echo'"),
        (
            claim(RULE, cell=CELL.replace("arm", "amr")),
            f"{FIRST}figure: unknown field 'amr'. Did you mean 'arm'",
        ),
        (claim(RULE, over="over.worker=1"), f"{FIRST}figure: unknown field 'worker'"),
        (claim(RULE) + claim(RULE), r"claim 2 \(twice\): name: another claim has it"),
    ],
)
def test_what_is_wrong_gets_a_one_line_error(told: str, message: str) -> None:
    with pytest.raises(UsageError, match=message) as caught:
        claims_in(SOURCE + told, "claims.toml")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ('[sources.one]\ntitle = "One"\n', "claims.toml: source one: expected a url, or where"),
        ('[sources.one]\nurl = "https://example.org"\n', "claims.toml: source one: .*title"),
        ('[sources.one]\ntitel = "One"\n', "source one: unknown key 'titel'. Did you mean 'title'"),
        ("sources = 1\n", "expected .*sources.NAME.* tables"),
    ],
)
def test_a_source_can_be_found(source: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        claims_in(source + claim(RULE), "claims.toml")


def test_a_slope_is_of_no_number_of_workers() -> None:
    told = claim(RULE, measure="memory_slope_mib", cell="workload=echo arm=3.14t")
    (only,) = claims(told).claims
    assert only.cores_needed == 1


def test_a_claim_names_every_cell_that_it_needs() -> None:
    cell = "workload=spawn arm=3.14 workers=1 parameters.tasks=9"
    loops = ["over.loop=trio", "over.loop=uvloop"]
    (several,) = claims(claim(RULE, cell=cell, over=loops)).claims
    assert [each["loop"] for each in several.cells] == ["asyncio", "trio", "asyncio", "uvloop"]
    (ratio,) = claims(claim(RULE, cell=cell, over="over.workers=4")).claims
    assert [each["workers"] for each in ratio.cells] == [1, 4]
    assert ratio.cores_needed == 4


def test_a_list_of_ones_own_is_read(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text(SOURCE + claim(RULE), encoding="utf-8")
    assert [each.name for each in read_claims(file).claims] == ["twice"]


def test_a_file_that_cannot_be_read_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"mine.toml: cannot be read \(No such file"):
        read_claims(tmp_path / "mine.toml")
    with pytest.raises(UsageError, match="cannot be read"):
        read_claims(tmp_path)
    (tmp_path / "mine.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(UsageError, match="not UTF-8 text"):
        read_claims(tmp_path / "mine.toml")
