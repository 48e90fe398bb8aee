"""Every built-in study runs to its end when it is scaled down, and its output says that it was.

Two workers, one block, a fraction of the operations, both builds and whatever other runtimes are
installed: each cell is measured once, with the news site and the HTTP server. Plots and page are
drawn by other tests; here only the captions are checked.

One of them shows what no other test runs from end to end: rates from a calibration, on one build.
The others run in `nox -s thorough`; every workload has real runs of its own in tests/workers.
"""

import math
from importlib import resources
from pathlib import Path

import pytest

import scaling
from scaling.analysis.table.groups import CURVE
from scaling.analysis.table.load import read_journal
from scaling.builds.runtimes import RUNTIMES
from scaling.study.file import built_in_studies, load_study_file
from scaling.study.settle import scaled_to
from tests.support.claims import listed
from tests.support.cli import BUILD, Command
from tests.support.of_the_machine import judge_of_ours, require_none_is_ours

SCALE = 0.0005
NOTE = scaled_to({"scale": SCALE})
SMALL = [
    *("--workers", "2", "--blocks", "1", "--seconds", "0.3", "--scale", str(SCALE)),
    *("--no-controls", "--no-aa-pairs"),
]

BUILDS = ("3.14", "3.14t")

# Left out: what makes a run long, and what another study has, too. That all of it can be planned is
# tested elsewhere.
SERVED = ("--model", "processes", "--set", "serve.server=tcp", "--rates", "1")
FEWER = {
    "accept": (
        *(*SERVED, "--model", "threads,processes"),
        *("--set", "serve.accept=acceptor", "--set", "serve.connections=4"),
        *("--set", "serve.rate_per_s=50%"),
    ),
    "async-1m-io": (
        *("--set", "gather.fan_out=1000", "--set", "gather.join=wait"),
        *("--set", "fetch.requests=100000", "--set", "fetch.timed=true"),
        *("--set", "sleep.sleeps_in_flight=10000"),
        *("--set", "lifecycle.pause_s=0", "--set", "lifecycle.way=runner"),
    ),
    "async-tools": (
        *("--loop", "asyncio,anyio/trio"),
        *("--set", "sleep.work_us=10", "--set", "sleep.timed=true"),
        *("--set", "echo.work_us=10"),
    ),
    "broadcast": (
        *("--set", "broadcast.connections=10", "--set", "broadcast.rate_per_s=100"),
        *("--set", "broadcast.message_bytes=64", "--set", "broadcast.stalled=0"),
        *("--set", "broadcast.sending=queues", "--set", "broadcast.server=aiohttp"),
    ),
    "cache": (
        *("--set", "cache.cache=dict,lru_cache", "--set", "cache.of=all"),
        *("--set", "cache.miss_us=5", "--set", "cache.keys=1000"),
    ),
    "compare": ("--workload", "shared,echo", "--loop", "asyncio"),
    "gateway": (
        *("--model", "threads", "--set", "gateway.rows=1000", "--set", "gateway.rate_per_s=100"),
        *("--set", "gateway.overload_factor=0", "--set", "gateway.in_flight_limit=4"),
        *("--set", "gateway.connections=8"),
    ),
    "latency": SERVED,
    "primitives": ("--set", "primitives.primitive=nothing,lock", "--model", "threads"),
    "quansight-2025": ("--model", "threads", "--set", "scrape.delay_ms=20"),
    "scale": ("--workload", "compute,echo", "--loop", "asyncio"),
    "serve": (*SERVED, "--model", "threads,processes"),
    "sharing": ("--set", "shared.sharing=attribute-write,asyncio-lock"),
    "slo": SERVED,
    "stack-2020": ("--set", "web.rows=1000", "--set", "web.stack=starlette/loops"),
    "stack-fair": (
        *("--set", "web.rows=1000", "--set", "web.stack=starlette/loops"),
        *("--set", "web.proxy=none", "--model", "threads"),
    ),
    "state": (
        *("--set", "state.objects=1000", "--set", "state.read_percent=1"),
        *("--set", "state.zipf=1", "--set", "state.kind=dicts,array"),
    ),
    "sync-or-async": (
        *("--set", "mix.heavy=python", "--set", "mix.rate_per_s=50"),
        *("--set", "mix.heavy_ms=1", "--model", "threads"),
    ),
    "tail": (
        *SERVED,
        *("--workload", "serve", "--set", "serve.heap_objects=1000"),
        *("--set", "serve.garbage_per_request=50"),
    ),
    "task-overhead": ("--set", "spawn.tasks=100000"),
    "tls": ("--loop", "asyncio", "--set", "echo.tls=per-worker"),
}

RETRIES = 4  # a fault of ours shows in every attempt

SOURCES = {
    "async-1m-io": "johal-2024",
    "quansight-2025": "aditya-2025",
    "task-overhead": "factor-2025",
    "async-tools": "async-tools",
}


FEW = ("latency",)
NEEDS = {
    "broadcast": ("servers",),
    "gateway": ("servers",),
    "stack-2020": ("nginx", "pgbouncer"),
    "stack-fair": ("servers",),
    "task-overhead": ("go", "node"),
}
ALL = [
    pytest.param(
        study,
        marks=[
            pytest.mark.needs(*NEEDS.get(study, ())),
            *([] if study in FEW else [pytest.mark.thorough]),
        ],
    )
    for study in built_in_studies()
]


def arms_of(study: str) -> str:
    """Both builds, and the other runtimes that the study compares with them."""
    if study in FEW:
        return BUILD
    named = [arm for entry in load_study_file(study).workloads for arm in entry.arms]
    return ",".join([*BUILDS, *dict.fromkeys(arm for arm in named if arm in RUNTIMES)])


@pytest.mark.slow
@pytest.mark.usefixtures("undrawn", "hurried")
@pytest.mark.parametrize("study", ALL)
def test_it_is_measured_to_its_end(
    study: str, tmp_path: Path, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.setattr("scaling.run.session.RETRIES", RETRIES)
    monkeypatch.setattr("scaling.run.measure.judge_of", judge_of_ours)
    # A load generator that shares two cores with workers and other tests sends late.
    monkeypatch.setattr("scaling.analysis.validity.served.SLIP_ALWAYS_S", math.inf)
    out = tmp_path / "out"
    arms = arms_of(study)
    small = [*SMALL, *FEWER.get(study, ()), "--arm", arms]
    done = command("run", "--study", study, *small, "--output", str(out))
    assert done.returncode == 0, done.stderr

    journal = read_journal(out)
    frame = journal.frame.drop_duplicates([*CURVE, "workers", "block"], keep="last")
    assert set(journal.frame["outcome"]) == {"measured"}, journal.frame["details"].to_string()
    require_none_is_ours(frame)
    assert (frame["operations"] > 0)[frame["valid"]].all()  # a machine may stall for a whole window
    assert (frame.groupby("workload")["operations"].max() > 0).all()
    assert (frame["errors"] == 0).all()
    assert set(journal.study.workloads) == set(frame["workload"])
    assert {*BUILDS, BUILD} & {*arms.split(",")} <= set(frame["arm"])

    before, _, after = done.stdout.partition("\n[")
    assert NOTE in before
    assert NOTE in after
    assert NOTE in (out / "tables.md").read_text()
    assert NOTE in " ".join(scaling.read(out).notes)


@pytest.mark.parametrize("study", SOURCES)
def test_its_file_states_what_it_repeats_what_not_and_the_cost(study: str) -> None:
    text = (resources.files("scaling.study") / "builtin" / f"{study}.toml").read_text("utf-8")
    comment = text.partition("\npreset")[0].splitlines()
    assert all(line.startswith("#") for line in comment)
    assert SOURCES[study] in listed().sources
    assert SOURCES[study] in " ".join(comment)
    for said in ("Not repeated", "Cost on 2 cores", "--scale"):
        assert said in " ".join(comment)
