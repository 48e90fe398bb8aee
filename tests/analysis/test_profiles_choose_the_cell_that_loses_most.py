"""By default the threads without the GIL that lose most are profiled; words choose others."""

import msgspec
import pytest

from scaling.base.errors import UsageError
from scaling.journal.record import RunLine, StudyLine
from scaling.run.profile.choice import Chosen, cell_text, choose
from tests.support.cli import Command
from tests.support.fabricate import Made, journal

SPEEDS = {
    ("3.14", "threads", 2): 0.9,  # loses more, but has the GIL
    ("3.14t", "threads", 1): 1.0,
    ("3.14t", "threads", 2): 1.2,
    ("3.14t", "threads", 4): 1.3,  # loses more, but two workers share a core
    ("3.14t", "processes", 1): 1.0,
    ("3.14t", "processes", 2): 1.9,
}


@pytest.fixture(scope="module")
def study() -> tuple[StudyLine, list[RunLine]]:
    made = Made(
        variants={"echo": [{"payload_bytes": 1024}], "shared": [{"sharing": "attribute-write"}]},
        arms=("3.14", "3.14t"),
        models=("threads", "processes"),
        speeds=SPEEDS,
    )
    head, *runs = journal(made)
    assert isinstance(head, StudyLine)
    return head, [line for line in runs if isinstance(line, RunLine)]


def chosen(study: tuple[StudyLine, list[RunLine]], text: str | None = None) -> Chosen:
    return choose(*study, text)


def test_the_default_has_a_core_for_each_worker_and_no_gil(
    study: tuple[StudyLine, list[RunLine]],
) -> None:
    found = chosen(study)
    cell = found.several
    assert (cell.workload, cell.arm, cell.model) == ("echo", "3.14t", "threads")
    assert (cell.workers, found.alone.workers) == (2, 1)
    assert found.efficiency == pytest.approx(0.6, rel=0.1)


def test_words_name_any_other_cell(study: tuple[StudyLine, list[RunLine]]) -> None:
    cell = chosen(study, "processes, 3.14t N=2 echo").several
    assert (cell.workload, cell.arm, cell.model, cell.workers) == ("echo", "3.14t", "processes", 2)
    again = chosen(study, cell_text(cell)).several  # its own text names it
    assert msgspec.structs.replace(again, region=None) == msgspec.structs.replace(cell, region=None)


def test_words_that_no_cell_has_get_a_list_of_cells(
    study: tuple[StudyLine, list[RunLine]],
) -> None:
    with pytest.raises(UsageError) as raised:
        chosen(study, "ecco")
    assert "no cell has all of 'ecco'" in str(raised.value)
    assert "echo · asyncio · 3.14t · 2 threads" in str(raised.value)


def test_cells_that_differ_in_a_parameter_are_listed_with_it() -> None:
    head, *runs = journal(Made(variants={"echo": [{"tls": "off"}, {"tls": "per-worker"}]}))
    assert isinstance(head, StudyLine)
    lines = [line for line in runs if isinstance(line, RunLine)]
    with pytest.raises(UsageError) as raised:
        choose(head, lines, "per-worker")
    assert "echo · asyncio · 3.14t · 2 threads · tls=per-worker" in str(raised.value)
    assert choose(head, lines, "tls=per-worker").several.parameters["tls"] == "per-worker"


def test_every_name_that_is_listed_can_be_asked_for() -> None:
    rates = [{"rate_per_s": 0.0}, {"rate_per_s": 400.0}]
    head, *runs = journal(Made(variants={"echo": rates}))
    assert isinstance(head, StudyLine)
    lines = [line for line in runs if isinstance(line, RunLine)]
    with pytest.raises(UsageError) as raised:
        choose(head, lines, "ecco")
    names = str(raised.value).partition("words: ")[2].split("; ")
    asked = [choose(head, lines, name).several.parameters["rate_per_s"] for name in names]
    assert asked.count(0.0) == asked.count(400.0) == 2  # at N = 2 and N = 4
    assert choose(head, lines, "rate_per_s=400.0").several.parameters["rate_per_s"] == 400.0


@pytest.mark.parametrize("option", [("--cell", "echo"), ("--pairs", "3"), ("--with", "numpy")])
def test_options_of_a_profile_need_one(command: Command, option: tuple[str, str]) -> None:
    done = command("explain", "results", *option)
    assert done.returncode == 2
    assert f"{option[0]} needs --profile" in done.stderr


def test_a_study_of_one_worker_has_nothing_to_compare() -> None:
    head, *runs = journal(Made(workers=(1,)))
    assert isinstance(head, StudyLine)
    with pytest.raises(UsageError, match="at N = 1 and at a larger N"):
        choose(head, [line for line in runs if isinstance(line, RunLine)], None)
