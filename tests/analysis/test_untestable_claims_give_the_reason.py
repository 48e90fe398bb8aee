"""What cannot be tested here says why: what is nearest, what to run, cores, a given reason."""

from pathlib import Path

import pytest

from scaling.analysis.claims.judging import cores_for_workers, judge
from scaling.journal.record import Machine
from scaling.report.claims import markdown
from tests.support.claims import CELL, claim, claims, judged, study

UNTESTED = "cannot be tested here"
RUN = "scaling run --study scale --arm 3.14t"


def test_a_missing_cell_names_the_nearest_and_what_to_run(tmp_path: Path) -> None:
    made = study(tmp_path / "made")
    elsewhere = claim("at_least = 1.5", cell=CELL.replace("3.14t", "3.13t"))
    found = judged(made, elsewhere)
    assert found.word == UNTESTED
    assert found.reason == (
        "not measured: made has no echo on asyncio, 3.13t, 2 threads; the nearest has 3.14t"
    )
    assert not found.ours
    assert found.run == RUN
    assert f"- Not measured for 1 claim: `{RUN}`" in markdown([found])


def test_of_several_studies_the_nearest_is_named(tmp_path: Path) -> None:
    far = study(tmp_path / "far", name="far", loops=("uvloop",), arms=("3.14",))
    near = study(tmp_path / "near", name="near")
    without = study(tmp_path / "without", name="without", variants={"compute": [{}]})
    missing = claim("at_least = 1.5", cell=CELL.replace("3.14t", "3.13t"))
    (found,) = judge([without, far, near], claims(missing))
    assert "near has no echo" in found.reason


def test_a_workload_that_no_study_has(tmp_path: Path) -> None:
    made = study(tmp_path / "made")
    found = judged(made, claim("at_least = 1.5", cell=CELL.replace("echo", "fetch")))
    assert found.word == UNTESTED
    assert found.reason == "not measured: no study here has the workload fetch"


def test_an_ambiguous_cell_names_what_distinguishes_it(tmp_path: Path) -> None:
    sizes = [{"payload_bytes": 256}, {"payload_bytes": 1024}]
    made = study(tmp_path / "made", variants={"echo": sizes})
    found = judged(made, claim("at_least = 1.5"))
    assert found.word == UNTESTED
    assert "name the parameter payload_bytes (" in found.reason


def test_a_scaled_study_is_another(tmp_path: Path) -> None:
    made = study(tmp_path / "made", variants={"echo": [{"tasks": 10_000}]})
    cell = f"{CELL} parameters.tasks=1_000_000"
    found = judged(made, claim("at_least = 1.5", cell=cell))
    assert found.reason.endswith("tasks=1,000,000; the nearest has tasks=10,000")


@pytest.mark.parametrize(
    ("workers", "cores", "there", "reason"),
    [
        (4, "", 2, "it takes 4 cores; the machine has 2"),
        (2, "", 1, "it takes 2 cores; the machine has 1"),
        (2, "cores = 12", 2, "it takes 12 cores; the machine has 2"),
    ],
)
def test_too_few_cores(tmp_path: Path, workers: int, cores: str, there: int, reason: str) -> None:
    made = study(tmp_path / "made", workers=(1, 2, 4), cores=there)
    found = judged(
        made, claim(f"at_least = 1.5\n{cores}", cell=CELL.replace("s=2", f"s={workers}"))
    )
    assert (found.word, found.reason, found.run) == (UNTESTED, reason, "")


def test_a_claim_says_how_many_cores_it_takes(tmp_path: Path) -> None:
    """Oversubscribed on purpose: four workers whose claim is about one core."""
    made = study(tmp_path / "made", workers=(1, 2, 4))
    found = judged(made, claim("at_least = 1.5\ncores = 1", cell=CELL.replace("s=2", "s=4")))
    assert found.word == "holds"


def test_a_machine_with_enough_cores_is_conclusive(tmp_path: Path) -> None:
    small = study(tmp_path / "small", workers=(1, 2, 4), blocks=12)
    large = study(tmp_path / "large", workers=(1, 2, 4), cores=4, logical=4)
    (found,) = judge(
        [small, large], claims(claim("at_least = 1.5", cell=CELL.replace("s=2", "s=4")))
    )
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


def test_a_given_reason_is_printed(tmp_path: Path) -> None:
    given = """
[[claims]]
name = "never"
source = "somebody"
claim = "It is faster on a machine that nobody has."
cannot = "nobody has that machine"
"""
    found = judged(study(tmp_path / "made"), given)
    assert (found.word, found.reason) == (UNTESTED, "nobody has that machine")
    assert not found.run
    assert "not measured" not in markdown([found])


def test_without_a_study_nothing_can_be_tested() -> None:
    (found,) = judge([], claims(claim("at_least = 1.5")))
    assert (found.word, found.reason) == (UNTESTED, "no study was given")
