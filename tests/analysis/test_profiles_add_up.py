"""A differential profile names what gained, explains known names, and adds up to the CPU term.

By default it is of the threads without the GIL that lose most; words choose others."""

import math
from collections.abc import Mapping
from pathlib import Path

import pytest

from scaling.analysis.function_gains import SampledRun, Tally, differentials, meaning
from scaling.analysis.results import StudyResults
from scaling.analysis.table.load import read_journal
from scaling.base.errors import UsageError
from scaling.journal.beside import (
    PROFILES_FILE,
    FunctionGain,
    Profile,
    ProfiledRun,
    ProfilePart,
    SampleKind,
)
from scaling.journal.record import Cell, ThreadUse
from scaling.report.page.figures import function_blocks
from scaling.run.profile.perf import RATE_PER_S
from scaling.run.profile.profiling import Chosen, Sampling, cell_text, choose, measured, with_unseen
from tests.support.cli import Command
from tests.support.runs import of_workers, with_
from tests.support.served_studies import FakeServedStudy
from tests.support.studies import FakeStudy


def run(cpu_ns: float, native: Mapping[str, int], **others: Tally) -> SampledRun:
    counts: dict[tuple[SampleKind, str], int] = {("native", name): n for name, n in native.items()}
    tally = Tally(counts, sum(native.values()), sum(native.values()))
    return sampled(cpu_ns, {"native": tally, **others})  # type: ignore[dict-item]


def sampled(cpu_ns: float, tallies: Mapping[SampleKind, Tally]) -> SampledRun:
    run = ProfiledRun(
        pair=0,
        workers=2,
        throughput_per_s=1e9 / cpu_ns,
        cpu_ns_per_op=cpu_ns,
        worker_ns_per_op=2 * cpu_ns,
        cpu_samples=0,
        stack_samples=0,
    )
    return SampledRun(run, tallies)


def pairs() -> list[tuple[SampledRun, SampledRun]]:
    """`lock` gains 400 ns in every pair, `eval` nothing, `noise` as much as it loses."""
    found = []
    for noise in (-30, 30, -10, 10):
        alone = run(1000.0, {"eval": 700, "lock": 100, "noise": 200})
        several = run(1400.0, {"eval": 700, "lock": 500, "noise": 200 + noise})
        found.append((alone, several))
    return found


def native(parts: list[ProfilePart]) -> ProfilePart:
    return next(part for part in parts if "native" in part.title)


def test_shares_are_of_the_cpu_time_of_the_threads_that_are_sampled() -> None:
    """A pool's threads are not: what they use is in the cost of a request, and in no function."""

    def cpu_ns_per_op(pool_s: float) -> float:
        use = ThreadUse(process_cpu_ns=round(pool_s * 1e9))
        study = FakeServedStudy(
            configurations=[("3.14t", "threads")], workers=(2,), rates=(800.0,), blocks=1
        )
        line = of_workers(study.runs[0], lambda each: with_(each, use=use))
        return measured(line, study.first_line, Sampling([], []), 0).run.cpu_ns_per_op

    assert cpu_ns_per_op(100.0) == cpu_ns_per_op(1.0) == pytest.approx(0.9e6, rel=0.1)


def test_only_what_is_beyond_its_interval_is_named() -> None:
    part = native(differentials(pairs()))
    assert [each.function for each in part.functions] == ["lock"]
    (lock,) = part.functions
    assert lock.low < lock.gained_ns < lock.high
    assert lock.gained_ns == pytest.approx(400, rel=0.02)
    assert part.others == 2


def test_named_functions_and_the_rest_are_the_whole_gain() -> None:
    part = native(differentials(pairs()))
    assert part.rest
    assert part.total
    assert part.total.gained_ns == pytest.approx(400)  # that of the CPU term itself
    together = math.fsum(each.gained_ns for each in (*part.functions, part.rest))
    assert together == pytest.approx(part.total.gained_ns)
    for at in ("at_1_ns", "at_n_ns"):
        parts = math.fsum(getattr(each, at) for each in (*part.functions, part.rest))
        assert parts == pytest.approx(getattr(part.total, at))


def test_of_many_functions_the_largest_are_named_and_the_sum_stays() -> None:
    names = [f"f{k}" for k in range(50)]
    several = {name: 10_000 + 1000 * k for k, name in enumerate(names)}
    found = [
        (run(1000.0, dict.fromkeys(names, 10_000)), run(1000.0 + more, several))
        for more in (900.0, 901.0, 902.0)
    ]
    part = native(differentials(found))
    assert part.functions[0].function == "f49"
    assert len(part.functions) + part.others == len(names)
    assert part.rest
    assert part.total
    together = math.fsum(each.gained_ns for each in (*part.functions, part.rest))
    assert together == pytest.approx(part.total.gained_ns)


def test_a_handful_of_samples_proves_nothing() -> None:
    """One in each run at N and none at 1: the pairs agree, by chance."""
    found = [(run(1000.0, {"eval": 100}), run(1001.0, {"eval": 99, "one": 1})) for _ in range(3)]
    assert native(differentials(found)).functions == []


def test_functions_that_contain_each_other_have_no_sum() -> None:
    calls = Tally({("python_total", "main"): 10, ("python_total", "slow"): 6}, 10, 10)
    alone, several = (sampled(cpu_ns, {"python_total": calls}) for cpu_ns in (900.0, 1400.0))
    (part,) = differentials([(alone, several)] * 4)
    assert part.rest is None
    assert part.total is None


def test_a_lock_profile_is_a_share_of_the_time_of_the_workers() -> None:
    def blocked(n: int) -> Tally:
        return Tally({("blocked", "acquire < work"): n}, 100, 100)

    found = [
        (run(1000.0, {"eval": 1}, blocked=blocked(0)), run(1000.0, {"eval": 1}, blocked=blocked(n)))
        for n in (24, 25, 26)
    ]
    part = differentials(found)[-1]
    assert part.functions[0].gained_ns == pytest.approx(0.25 * 2000)


def test_a_kernel_that_cannot_be_seen_is_no_time_of_python_functions() -> None:
    """Half of the CPU time was in the kernel: what perf saw is the other half, of Python, too."""
    cpu_s = 2 * 1_000 / RATE_PER_S
    own: dict[tuple[SampleKind, str], float] = {
        ("python", "work"): 500.0,
        ("python", "loop"): 500.0,
    }
    total: dict[tuple[SampleKind, str], float] = {("python_total", "loop"): 1_000.0}
    tallies: dict[SampleKind, Tally] = {
        "native": Tally({("native", "eval"): 1_000.0}, 1_000, 1_000),
        "python": Tally(own, 1_000, 1_000),
        "python_total": Tally(total, 1_000, 1_000),
        "blocked": Tally({("blocked", "lock"): 10.0}, 100, 100),
    }
    found = with_unseen(tallies, cpu_s)
    for kind in ("native", "python"):
        assert found[kind].of == pytest.approx(2_000)
        assert sum(found[kind].amounts.values()) == pytest.approx(found[kind].of)
    assert found["python"].amounts["python", "work"] / found["python"].of == pytest.approx(0.25)
    assert found["python_total"].of == pytest.approx(2_000)
    assert found["python_total"].amounts == total
    assert found["blocked"] is tallies["blocked"]


def test_the_page_has_the_functions_of_a_profile_with_what_they_are(tmp_path: Path) -> None:
    path = FakeStudy(blocks=1).write(tmp_path)
    results = StudyResults.of(read_journal(path))
    assert function_blocks(results) == []
    cell = Cell(workload="echo", loop="asyncio", arm="3.14t", model="threads", workers=2)
    lock = FunctionGain(
        kind="native", function="_PyMutex_LockTimed", at_1_ns=100.0, at_n_ns=500.0,
        gained_ns=400.0, low=380.0, high=420.0, meaning="waits for a lock",
    )  # fmt: skip
    part = ProfilePart(title="CPU time by native function", functions=[lock], others=0)
    profile = Profile(cell=cell, text="echo · 2 threads", operation="round trips", runs=[],
                      parts=[part], notes=["kernel functions: not permitted"])  # fmt: skip
    PROFILES_FILE.write(tmp_path, [profile])
    (block,) = function_blocks(results)
    (grid,) = block.folded
    assert grid.title == "CPU time by native function, ns per round trip"
    named = "_PyMutex_LockTimed\nwaits for a lock"
    assert grid.rows == [[named, "100", "500", "400", "380–420"]]
    assert block.notes == profile.notes


def test_profiles_that_cannot_be_read_are_not_replaced(tmp_path: Path) -> None:
    assert PROFILES_FILE.read_to_add(tmp_path) == []
    (tmp_path / PROFILES_FILE.name).write_text('[{"of": "a later version"}]')
    with pytest.raises(UsageError, match=r"profile\.json cannot be read .* Move it away"):
        PROFILES_FILE.read_to_add(tmp_path)
    assert PROFILES_FILE.read(tmp_path) == []


def test_a_source_that_saw_nothing_has_no_part() -> None:
    assert [part.title for part in differentials(pairs())] == [native(differentials(pairs())).title]
    assert differentials(pairs()[:1]) == []  # a single difference has no interval


@pytest.mark.parametrize(
    ("kind", "name", "word"),
    [
        ("native", "_Py_qsbr_poll", "QSBR"),
        ("native", "_PyMutex_LockTimed", "lock"),
        ("native", "_PyMutex_LockSlow", "lock"),
        ("native", "_Py_DecRefShared", "reference count"),
        ("native", "_PyEval_StopTheWorldAll", "stopped"),
        ("native", "mi_heap_malloc_zero", "mimalloc"),
        ("kernel", "native_queued_spin_lock_slowpath", "spin lock"),
    ],
)
def test_known_names_are_explained(kind: SampleKind, name: str, word: str) -> None:
    assert word in (meaning(kind, name) or "")


def test_unknown_names_are_not_explained() -> None:
    assert meaning("native", "my_function") is None
    assert meaning("python", "mi_free (mine.py)") is None


def test_functions_that_take_next_to_nothing_are_not_tested() -> None:
    def with_many(cpu_ns: float, lock: int, noise: int) -> SampledRun:
        tiny = {f"tiny{k}": 1 + (k + noise) % 2 for k in range(300)}
        return run(cpu_ns, {"eval": 100_000, "lock": lock, **tiny})

    # With 300 more hypotheses, of 4 pairs no gain would be significant.
    found = [
        (with_many(1000.0, 10_000 + 40 * k, k), with_many(1400.0, 50_000 - 900 * k, k + 1))
        for k in range(4)
    ]
    part = native(differentials(found))
    assert "lock" in [each.function for each in part.functions]
    assert not any(each.function.startswith("tiny") for each in part.functions)


OF_CELLS = {
    ("3.14", "threads", 2): 0.9,  # loses more, but has the GIL
    ("3.14t", "threads", 1): 1.0,
    ("3.14t", "threads", 2): 1.2,
    ("3.14t", "threads", 4): 1.3,  # loses more, but two workers share a core
    ("3.14t", "processes", 1): 1.0,
    ("3.14t", "processes", 2): 1.9,
}


TO_PROFILE = FakeStudy(
    variants={"echo": [{"payload_bytes": 1024}], "shared": [{"sharing": "attribute-write"}]},
    arms=("3.14", "3.14t"),
    models=("threads", "processes"),
    speeds=OF_CELLS,
)


def chosen(text: str | None = None, study: FakeStudy = TO_PROFILE) -> Chosen:
    return choose(study.first_line, study.runs, text)


def test_the_default_has_a_core_for_each_worker_and_no_gil() -> None:
    found = chosen()
    cell = found.several
    assert (cell.workload, cell.arm, cell.model) == ("echo", "3.14t", "threads")
    assert (cell.workers, found.alone.workers) == (2, 1)
    assert found.efficiency == pytest.approx(0.6, rel=0.1)


def test_words_name_any_other_cell() -> None:
    cell = chosen("processes, 3.14t N=2 echo").several
    assert (cell.workload, cell.arm, cell.model, cell.workers) == ("echo", "3.14t", "processes", 2)
    assert chosen(cell_text(cell)).several == cell, "its own text names it"


def test_words_that_no_cell_has_get_a_list_of_cells() -> None:
    with pytest.raises(UsageError) as raised:
        chosen("ecco")
    assert "no cell has all of 'ecco'" in str(raised.value)
    assert "echo · asyncio · 3.14t · 2 threads" in str(raised.value)


def test_every_name_that_is_listed_can_be_asked_for() -> None:
    study = FakeStudy(variants={"echo": [{"rate_per_s": 0.0}, {"rate_per_s": 400.0}]})
    with pytest.raises(UsageError) as raised:
        chosen("ecco", study)
    names = str(raised.value).partition("words: ")[2].split("; ")
    asked = [chosen(name, study).several.parameters["rate_per_s"] for name in names]
    assert asked.count(0.0) == asked.count(400.0) == 2  # at N = 2 and N = 4
    assert chosen("rate_per_s=400.0", study).several.parameters["rate_per_s"] == 400.0


def test_a_study_of_one_worker_has_nothing_to_compare() -> None:
    with pytest.raises(UsageError, match="at N = 1 and at a larger N"):
        chosen(None, FakeStudy(workers=(1,)))


@pytest.mark.parametrize("option", [("--cell", "echo"), ("--pairs", "3"), ("--with", "numpy")])
def test_options_of_a_profile_need_one(command: Command, option: tuple[str, str]) -> None:
    done = command("explain", "results", *option)
    assert done.returncode == 2
    assert f"{option[0]} needs --profile" in done.stderr
