"""pyperf itself reads what is exported for it: a benchmark a cell, a value a run that counts."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from scaling.analysis.table.load import Journal, read_journal
from scaling.base.errors import ScalingError
from scaling.journal.record import ProcessFacts, RunLine
from scaling.report.export.pyperf_suite import suite, write_suite
from tests.support.children import PATIENCE_S
from tests.support.fabricate import Made, journal, runtime, with_, write

pytestmark = pytest.mark.slow

SIZES = [{"payload_bytes": 256}, {"payload_bytes": 1024}]


def made(folder: Path, change: Any = None, **settings: Any) -> Journal:
    study = Made(**{"workers": (1, 2), "blocks": 3, **settings})
    return read_journal(write(journal(study, change), folder / f"{study.arms[0]}.jsonl"))


def pyperf(*arguments: str | Path) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "pyperf", *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def saved(study: Journal) -> Path:
    file = study.path.with_suffix(".json")
    write_suite(study, file)
    return file


def benchmarks(study: Journal) -> dict[str, Any]:
    return {each["metadata"]["name"]: each for each in suite(study)["benchmarks"]}


def test_two_studies_of_an_arm_each_are_compared(tmp_path: Path) -> None:
    """The free-threaded build is made twice as fast here, and pyperf says so."""
    speeds = {(arm, "threads", n): n * fast for arm, fast in (("3.14", 1.0), ("3.14t", 2.0))
              for n in (1, 2)}  # fmt: skip
    old, new = (
        saved(made(tmp_path, arms=(name,), speeds=speeds, variants={"echo": SIZES}))
        for name in ("3.14", "3.14t")
    )
    told = pyperf("compare_to", old, new)
    for size in (256, 1024):
        for n in (1, 2):
            name = f"echo payload_bytes={size} weak asyncio threads N={n}: "
            (verdict,) = [line for line in told.splitlines() if line.startswith(name)]
            assert "us +- " in verdict
            factor, word = verdict.split(": ")[-1].split()
            assert word == "faster"
            assert float(factor.rstrip("x")) == pytest.approx(2, rel=0.1)


def test_pyperf_shows_metadata_and_values(tmp_path: Path) -> None:
    study = made(tmp_path, arms=("3.14", "3.14t+gil"))
    file = saved(study)
    assert "must" not in pyperf("check", file)
    metadata = pyperf("metadata", file)
    for told in (
        *("arm: 3.14t+gil", "loop: asyncio", "model: threads", "workers: 2", "workload: echo"),
        *("python_version: 3.14.7", "unit: second", "study: made", "operation: round trips"),
        *("sizing: weak", "scale: 1.0", "cpu_model_name: Example CPU @ 3.00GHz"),
    ):
        assert f"- {told}\n" in metadata, told
    stats = pyperf("stats", file)
    assert stats.count("Total number of values: 3\n") == 4
    assert "Start date: 2026-11-20" in stats


def test_a_value_is_the_seconds_of_an_operation_of_all_workers(tmp_path: Path) -> None:
    study = made(tmp_path)
    for name, benchmark in benchmarks(study).items():
        rows = study.frame[study.frame["workers"] == int(name.rpartition("=")[2])]
        values = [value for run in benchmark["runs"] for value in run["values"]]
        assert values == [1 / each for each in rows["throughput_per_s"]]
        assert [run["metadata"]["loops"] for run in benchmark["runs"]] == list(rows["operations"])


def test_only_runs_that_count_are_values(tmp_path: Path) -> None:
    """Neither A/A duplicates nor invalid runs, and of a run made again the last attempt."""

    def first_throttled(run: RunLine) -> RunLine:
        return with_(run, disturbance__throttled_s=0.5) if run.block == 0 else run

    lines = journal(Made(workers=(1, 2), aa_pairs=True), first_throttled)
    again = [
        with_(line, attempt=2)
        for line in journal(Made(workers=(1, 2), aa_pairs=True))
        if isinstance(line, RunLine) and line.block == 1 and not line.cell.twin
    ]
    study = read_journal(write([*lines, *again], tmp_path / "j.jsonl"))
    assert study.frame["twin"].any()
    found = benchmarks(study)
    assert [len(each["runs"]) for each in found.values()] == [2, 2]
    pyperf("check", "--quiet", saved(study))


def test_text_from_outside_does_not_keep_pyperf_from_reading(tmp_path: Path) -> None:
    """Line ends are refused there, and so is a name that comes twice."""
    hard = [{"text": text} for text in ("a\nb", "a b", "a\\nb", "", "é · %", "x" * 300)]
    study = made(tmp_path, name="a\nb", variants={"own.module:Thing": hard}, workers=(1,))
    assert len(benchmarks(study)) == len(hard)
    pyperf("show", "--quiet", saved(study))
    assert saved(study).read_bytes().isascii()


def test_another_runtime_is_no_python(tmp_path: Path) -> None:
    def without_python(run: RunLine) -> RunLine:
        return with_(run, record__process=ProcessFacts())

    head, *runs = journal(Made(arms=("node",), loops=("own",), workers=(1,)), without_python)
    study = with_(head, arms={"node": runtime("node", "Node 22.1")})
    found = read_journal(write([study, *runs], tmp_path / "j.jsonl"))
    (benchmark,) = benchmarks(found).values()
    assert benchmark["metadata"]["runtime"] == "Node 22.1"
    assert not [name for name in benchmark["metadata"] if name.startswith("python")]


def test_a_study_without_a_valid_run_says_so(tmp_path: Path) -> None:
    def throttled(run: RunLine) -> RunLine:
        return with_(run, disturbance__throttled_s=0.5)

    with pytest.raises(ScalingError, match="no valid run"):
        suite(made(tmp_path, change=throttled))


def test_pyperf_is_no_part_of_scaling() -> None:
    code = "import sys, scaling.report.export.formats; print('pyperf' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout == "False\n", done.stderr
