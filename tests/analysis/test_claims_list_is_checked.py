"""A list of claims that is wrong says which claim and field; what cannot be tested says why.

The claims that come with the project name cells that exist, and commands that measure them."""

import shlex
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest

from scaling.analysis.claims import Claim, claims_in, read_claims
from scaling.analysis.claims.judging import cores_for_workers, judge
from scaling.analysis.lookup.cells import OVER_ONE, SLOPE, Fields, differing, text
from scaling.analysis.lookup.figure import sides
from scaling.analysis.table.columns import COLUMNS
from scaling.base.errors import UsageError
from scaling.builds.runtimes import OWN_LOOP, RUNTIMES
from scaling.cli.program import asked_from
from scaling.journal.record import Cell, Description, Machine, Offer
from scaling.machine.topology import Topology
from scaling.report.claims import markdown
from scaling.study.file import study_from
from scaling.study.plan.cells import make_plan
from tests.support.claims import CELL, SOURCE, claim, claims, judged
from tests.support.pages import PROGRAM
from tests.support.studies import FakeStudy, threads

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


UNTESTED = "cannot be tested here"
RUN = "scaling run --study scale --arm 3.14t"


GIVEN = """
[[claims]]
name = "never"
source = "somebody"
claim = "It is faster on a machine that nobody has."
cannot = "nobody has that machine"
"""
SIZES = {"echo": [{"payload_bytes": 256}, {"payload_bytes": 1024}]}
FOUR = CELL.replace("s=2", "s=4")
FOUR_WORKERS = threads(workers=(1, 2, 4))


@pytest.mark.parametrize(
    ("study", "told", "reason"),
    [
        (
            threads(),
            claim(RULE, cell=CELL.replace("3.14t", "3.13t")),
            "not measured: made has no echo on asyncio, 3.13t, 2 threads; the nearest has 3.14t",
        ),
        (
            threads(),
            claim(RULE, cell=CELL.replace("echo", "fetch")),
            "not measured: no study here has the workload fetch",
        ),
        (threads(variants=SIZES), claim(RULE), "name the parameter payload_bytes ("),
        (
            threads(variants={"echo": [{"tasks": 10_000}]}),  # it was scaled down
            claim(RULE, cell=f"{CELL} parameters.tasks=1_000_000"),
            "tasks=1,000,000; the nearest has tasks=10,000",
        ),
        (FOUR_WORKERS, claim(RULE, cell=FOUR), "it takes 4 cores; the machine has 2"),
        (replace(FOUR_WORKERS, cores=1), claim(RULE), "it takes 2 cores; the machine has 1"),
        (FOUR_WORKERS, claim(f"{RULE}\ncores = 12"), "it takes 12 cores; the machine has 2"),
        (threads(), GIVEN, "nobody has that machine"),
    ],
)
def test_what_cannot_be_tested_says_why_and_what_to_run(
    study: FakeStudy, told: str, reason: str
) -> None:
    found = judged(study.journal, told)
    assert found.word == UNTESTED
    assert reason in found.reason
    assert not found.ours
    lacks_a_run = "not measured" in found.reason or "name the" in found.reason
    assert (f"- Not measured for 1 claim: `{RUN}`" in markdown([found])) == lacks_a_run
    assert found.run == (RUN if lacks_a_run else "")


def test_of_several_studies_the_nearest_is_named() -> None:
    far = threads(name="far", loops=("uvloop",), arms=("3.14",)).journal
    without = threads(name="without", variants={"compute": [{}]}).journal
    missing = claim(RULE, cell=CELL.replace("3.14t", "3.13t"))
    (found,) = judge([without, far, threads(name="near").journal], claims(missing))
    assert "near has no echo" in found.reason


def test_a_claim_says_how_many_cores_it_takes() -> None:
    """Oversubscribed on purpose: four workers whose claim is about one core."""
    found = judged(FOUR_WORKERS.journal, claim(f"{RULE}\ncores = 1", cell=FOUR))
    assert found.word == "holds"


def test_a_machine_with_enough_cores_is_conclusive() -> None:
    small = replace(FOUR_WORKERS, name="small", blocks=12).journal
    large = replace(FOUR_WORKERS, name="large", cores=4, logical=4).journal
    (found,) = judge([small, large], claims(claim(RULE, cell=FOUR)))
    assert found.study == "large"


@pytest.mark.parametrize(
    ("machine", "cores"),
    [
        ({"physical_cores": 8, "usable_cpus": 16}, 8),
        ({"physical_cores": 8, "efficiency_cpus": 4, "usable_cpus": 8}, 4),
        ({"physical_cores": 8, "usable_cpus": 2}, 2),
        ({"physical_cores": 8, "usable_cpus": 8, "cpu_quota": 1.5}, 1.5),
        ({"usable_cpus": 2}, 2),
        ({}, 0),
    ],
)
def test_cores_are_those_that_workers_can_have(machine: dict[str, float], cores: float) -> None:
    assert cores_for_workers(Machine(id="some", **machine)) == cores  # type: ignore[arg-type]


def test_without_a_study_nothing_can_be_tested() -> None:
    (found,) = judge([], claims(claim("at_least = 1.5")))
    assert (found.word, found.reason) == (UNTESTED, "no study was given")


HERE = Path(__file__).parents[2]
CLAIMS = read_claims()
TESTABLE = [claim for claim in CLAIMS.claims if not claim.cannot]
WORKED_OUT = (*OVER_ONE, "s_per_op", "memory_mib", SLOPE)


def planned(command: str, described: Description) -> tuple[Cell, ...]:
    """The cells that a `scaling run …` measures on 8 cores, without its controls.

    A build can run all that this interpreter can; another runtime only has a loop of its own.
    """
    program, verb, *arguments = shlex.split(command)
    assert (program, verb) == ("scaling", "run")
    given = PROGRAM.commands[verb].make_context(verb, arguments).params
    of_a_study = {each.name for each in PROGRAM.commands["plan"].params} - {"output"}
    asked = asked_from({name: given[name] for name in of_a_study})
    study = study_from(asked.options, running_build="3.14t")
    other = msgspec.structs.replace(described, loops={OWN_LOOP: Offer()})
    arms = {arm: other if arm in RUNTIMES else described for arm in study.arms}
    topology = Topology(logical_cpus=16, physical_cores=8)
    return make_plan(msgspec.structs.replace(study, controls=False), arms, topology).cells


def names(claim: Claim) -> list[Fields]:
    """Every cell that the claim's figure is worked out of."""
    over_one = [each for each in claim.figures if each.measure in OVER_ONE]
    return [*claim.cells, *({**cell, "workers": 1} for each in over_one for cell in sides(each))]


@pytest.mark.slow
@pytest.mark.parametrize("command", dict.fromkeys(claim.run for claim in TESTABLE))
def test_a_command_measures_the_cells_of_its_claims(
    command: str, described_here: Description
) -> None:
    cells = planned(command, described_here)
    for each in (one for one in TESTABLE if one.run == command):
        for name in names(each):
            meant = {cell for cell in cells if not differing(cell, name)}
            assert len(meant) == 1, f"{each.name}: {len(meant)} cells are {text(name)}"


def test_every_measure_is_one_of_its_workload() -> None:
    for each in TESTABLE:
        source = (HERE / "workers" / "workloads" / f"{each.cells[0]['workload']}.py").read_text()
        for measure in {figure.measure for figure in each.figures}:
            known = f'"{measure}"' in source or measure in COLUMNS or measure in WORKED_OUT
            assert known, f"{each.name}: {measure}"


def test_every_claim_says_what_is_claimed_and_how_it_is_decided() -> None:
    for each in CLAIMS.claims:
        assert each.claim.endswith("."), each.name
        assert each.theirs or each.source == "design", each.name
        assert each.why or each.cannot, each.name


def test_every_source_has_a_claim() -> None:
    assert [source.title for source, _ in CLAIMS.by_source] == [
        source.title for source in CLAIMS.sources.values()
    ]
