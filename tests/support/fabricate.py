"""Makes journals without measuring: complete, seeded, shaped like what real runs leave.

The model behind them is crude on purpose (so many operations per second at N = 1, so much gained
by each further core), so that a test can say what must come out.
"""

import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import msgspec

from scaling.analysis.table.load import Journal, read_journal
from scaling.base.errors import UsageError
from scaling.builds.arms import parse_arm
from scaling.builds.runtimes.runtime import RUNTIMES
from scaling.builds.settings import SETTINGS
from scaling.builds.settings.interpreter import RARE_COLLECTIONS
from scaling.journal.record import (
    ArmRecord,
    Cell,
    Disturbance,
    Environment,
    GilStates,
    Instants,
    Line,
    LoopFacts,
    Machine,
    Memory,
    ParameterValue,
    ProcessFacts,
    PythonFacts,
    ReadBack,
    Record,
    Region,
    RunLine,
    ServiceUse,
    StudyLine,
    Switch,
    Ticks,
    WorkerRecord,
    WorkloadNote,
    encode_line,
)
from scaling.study.plan.aa_pairs import repeats_of

MIB = 1024 * 1024
OPERATIONS = {"echo": "round trips", "scrape": "stories", "compute": "batches", "stream": "MiB"}
SERVICES = {"scrape": ["site"], "fetch": ["responder"]}
RATES_PER_S = {"echo": 30_000.0, "scrape": 320.0, "compute": 21_000.0, "stream": 900.0}
PER_WORKER_MIB = {"threads": 1.3, "forked": 6.0}  # others: 21
LOOP_FACTORS = {"asyncio": 1.0, "uvloop": 1.35}
ARM_FACTORS = {"3.14": 0.45, "3.14+mimalloc": 1.08, "3.14t+gil": 1.0, "3.14t": 0.97}

type Variants = Mapping[str, Sequence[Mapping[str, ParameterValue]]]


@dataclass(frozen=True)
class Made:
    """What to fabricate. `noise` is the relative standard deviation of a run's throughput.

    `speeds` gives what an (arm, model, N) does, in multiples of the workload's rate, in place of
    the crude model; `tick_noise` is the unevenness of a worker's ticks. With `aa_pairs` every
    workload has an A/A pair, as in a real study.
    """

    name: str = "made"
    variants: Variants = field(default_factory=lambda: {"echo": [{"payload_bytes": 1024}]})
    arms: Sequence[str] = ("3.14t",)
    loops: Sequence[str] = ("asyncio",)
    models: Sequence[str] = ("threads",)
    workers: Sequence[int] = (1, 2, 4)
    sizings: Sequence[str] = ("weak",)
    blocks: int = 3
    cores: int = 2
    logical: int = 2
    ticks: int = 20
    window_s: float = 2.0
    noise: float = 0.015
    tick_noise: float = 0.02
    speeds: Mapping[tuple[str, str, int], float] = field(default_factory=dict)
    seed: int = 1
    aa_pairs: bool = False
    margin: float = 0.02


def region(n: int, made: Made) -> Region:
    if n <= made.cores:
        return "cores"
    return "smt" if n <= made.logical else "oversubscribed"


def journal(made: Made, change: Callable[[RunLine], RunLine] | None = None) -> list[Line]:
    """The study line and one run per cell and block, in a seeded random order."""
    rng = random.Random(made.seed)
    lines: list[Line] = [study_line(made)]
    for block in range(made.blocks):
        cells = list(cells_of(made))
        cells += repeats_of(cells) if made.aa_pairs else ()
        rng.shuffle(cells)
        for position, cell in enumerate(cells):
            run = run_line(made, cell, rng, block=block, position=position)
            lines.append(change(run) if change else run)
    return lines


def write(lines: Iterable[Line], path: Path) -> Path:
    path.write_bytes(b"".join(encode_line(line) for line in lines))
    return path


def studied(
    folder: Path,
    made: Made,
    change: Callable[[RunLine], RunLine] | None = None,
    *,
    name: str = "journal.jsonl",
) -> Journal:
    """A fabricated study, written to `folder` and read back."""
    folder.mkdir(parents=True, exist_ok=True)
    return read_journal(write(journal(made, change), folder / name))


def cells_of(made: Made) -> Iterable[Cell]:
    for workload, variants in made.variants.items():
        for parameters in variants:
            for sizing in made.sizings:
                for arm in made.arms:
                    for loop in made.loops:
                        for model in made.models:
                            for n in made.workers:
                                yield Cell(
                                    workload=workload,
                                    parameters=dict(parameters),
                                    loop=loop,
                                    arm=arm,
                                    model=model,
                                    workers=n,
                                    sizing=sizing,
                                    region=region(n, made),
                                )


def arm(name: str) -> ArmRecord:
    build, *settings = name.split("+")
    free = build.endswith("t")
    python = PythonFacts(
        version="3.14.7",
        free_threaded=free,
        config_args=["--disable-gil"] if free else [],
        compiler="GCC 12.2.0",
        pgo=False,
        lto=False,
        libc="glibc 2.36",
        openssl="OpenSSL 3.0.19",
        allocator="mimalloc" if free else "pymalloc",
        gil_enabled=not free,
    )
    packages = {"aiohttp": "3.14.5", "uvloop": "0.23.0"}
    return ArmRecord(
        build=build,
        settings=settings,
        origin="built",
        description=Environment(python=python, packages=packages),
        expected=_expected(name),
    )


def _expected(name: str) -> ReadBack:
    """What an arm of that name promises; nothing of a name that is no arm."""
    try:
        return parse_arm(name).expected
    except UsageError:
        return ReadBack()


def runtime(name: str, version: str) -> ArmRecord:
    """An arm that is not Python."""
    return ArmRecord(build=name, runtime=version, expected=parse_arm(name).expected)


def study_line(made: Made) -> StudyLine:
    return StudyLine(
        schema=1,
        name=made.name,
        study={
            "name": made.name,
            "window_s": made.window_s,
            "warmup_s": 0.3,
            "margin": made.margin,
        },
        seed=made.seed,
        blocks=made.blocks,
        machine=Machine(
            id="5ca1ab1e",
            cpu_model="Example CPU @ 3.00GHz",
            physical_cores=made.cores,
            logical_cpus=made.logical,
            usable_cpus=made.logical,
            memory_bytes=16 * 2**30,
            kernel="Linux 6.1",
            system="Linux",
            libc="glibc 2.36",
            virtualised="kvm",
        ),
        arms={name: arm(name) for name in made.arms},
        workloads={
            name: WorkloadNote(
                operation=OPERATIONS.get(name, "operations"), services=SERVICES.get(name, [])
            )
            for name in made.variants
        },
        scaling="1.0.0",
        started_at=f"{STARTED_AT:%Y-%m-%dT%H:%M:%SZ}",
    )


def speedup(cell: Cell, made: Made) -> float:
    """What N workers reach, in workers' worth of throughput: the crude model itself."""
    n = cell.workers
    if cell.model == "threads" and not is_free(cell.arm):
        return 1.0 / (1 + 0.03 * (n - 1))
    cores = min(n, made.cores) * (1 - 0.008 * (min(n, made.cores) - 1))
    siblings = 0.3 * max(0, min(n, made.logical) - made.cores)
    beyond = 0.015 * max(0, n - made.logical)
    return cores + siblings - beyond


def is_free(arm_name: str) -> bool:
    build, *settings = arm_name.split("+")
    return build.endswith("t") and "gil" not in settings


def switches(arm_name: str) -> tuple[Switch, ...]:
    asked = (SETTINGS[each].switches for each in arm_name.split("+")[1:] if each in SETTINGS)
    return tuple(Switch(name=name, value=value) for each in asked for name, value in each.items())


def facts(arm_name: str) -> dict[str, str]:
    asked = (SETTINGS[each] for each in arm_name.split("+")[1:] if each in SETTINGS)
    return {k: value for each in asked for k, value in each.reads_back.get("facts", {}).items()}


def run_line(
    made: Made, cell: Cell, rng: random.Random, *, block: int = 0, position: int = 0
) -> RunLine:
    """One measured run of the cell without fault."""
    rate = RATES_PER_S.get(cell.workload, 1000.0) * LOOP_FACTORS.get(cell.loop, 1.0)
    modelled = ARM_FACTORS.get(cell.arm, 1.0) * speedup(cell, made)
    rate *= made.speeds.get((cell.arm, cell.model, cell.workers), modelled)
    rate *= rng.gauss(1, made.noise)
    workers = [worker(made, cell, rng, index, rate / cell.workers) for index in range(cell.workers)]
    free, mimalloc = is_free(cell.arm), "mimalloc" in cell.arm or "t" in cell.arm.split("+")[0]
    process = ProcessFacts(
        gil=GilStates(started=not free, imported=not free, opened=not free, closed=not free),
        allocator="mimalloc" if mimalloc else "pymalloc",
        gc_enabled="nogc" not in cell.arm,
        gc_frozen=cell.model == "forked",
        gc_threshold=RARE_COLLECTIONS if "gc50k" in cell.arm else 2_000,
        switches=switches(cell.arm),
        gc_collections=3,
        gc_pause_ns=1_200_000,
        context_items=0,
        os_threads=cell.workers + 1,
    )
    opened = STARTED_NS + 620_000_000
    record = Record(
        schema=1,
        outcome="measured",
        process=process,
        loop=LoopFacts(name=cell.loop, class_=loop_class(cell), version="3.14.7"),
        facts=facts(cell.arm),
        instants_ns=Instants(
            started=STARTED_NS,
            imported=STARTED_NS + 150_000_000,
            ready=opened - 20_000_000,
            opened=opened,
            closed=opened + round(made.window_s * 1e9),
        ),
        workers=[
            worker if cell.model == "threads" else with_(worker, process=process)
            for worker in workers
        ],
    )
    per_worker = PER_WORKER_MIB.get(cell.model, 21.0) * MIB
    resident = round((24 * MIB + per_worker * cell.workers) * rng.gauss(1, 0.004))
    return RunLine(
        cell=cell,
        outcome="measured",
        block=block,
        position=position,
        at=f"{STARTED_AT + timedelta(hours=block, seconds=position):%Y-%m-%dT%H:%M:%SZ}",
        elapsed_s=made.window_s + 1.0,
        record=record,
        exit_code=0,
        memory=Memory(
            baseline_rss_bytes=24 * MIB,
            rss_bytes=resident,
            pss_bytes=round(resident * 0.9),
            idle_pss_bytes=round(resident * 0.7) if cell.workload == "serve" else None,
            uss_bytes=round(resident * 0.8),
            peak_bytes=round(resident * 1.05),
            samples=8,
        ),
        disturbance=Disturbance(
            load_1m=0.5, steal_fraction=0.0, throttled_s=0.0, other_cpu_fraction=0.01
        ),
        services=(
            {"site": ServiceUse(rss_bytes=60 * MIB, cpu_s=0.8, busy_fraction=0.4)}
            if cell.workload == "scrape"
            else {}
        ),
    )


def loop_class(cell: Cell) -> str:
    """What the loop of a run reports as its class."""
    if cell.arm in RUNTIMES:
        return RUNTIMES[cell.arm].loop_class
    settings = [SETTINGS[each] for each in cell.arm.split("+")[1:] if each in SETTINGS]
    in_place = [str(each.cell["loop"]) for each in settings if "loop" in each.cell]
    package = in_place[0] if in_place else cell.loop.rpartition("/")[2]
    return {"asyncio": "asyncio.unix_events._UnixSelectorEventLoop", "trio": "trio.run"}.get(
        package, f"{package}.Loop"
    )


STARTED_AT = datetime(2026, 11, 20, 18, 30, tzinfo=UTC)
STARTED_NS = 7_000_000_000_000


def worker(made: Made, cell: Cell, rng: random.Random, index: int, rate: float) -> WorkerRecord:
    """A worker that does `rate` operations a second, evenly but for a little noise."""
    opened = STARTED_NS + 620_000_000
    step = round(made.window_s * 1e9 / made.ticks)
    instants = [opened + step * k for k in range(made.ticks + 1)]
    times = [instant + rng.randint(20_000, 900_000) for instant in instants]
    done, previous = rate * 0.3, opened - 300_000_000
    operations: list[int] = []
    for time in times:
        gained = rate * (time - previous) / 1e9 if operations else 0.0
        done += max(1.0, gained * rng.gauss(1, made.tick_noise))
        operations.append(round(done))
        previous = time
    share = min(1.0, made.logical / cell.workers)  # of a core
    faults = 0 if "mimalloc" in cell.arm or is_free(cell.arm) or cell.arm == "3.14t+gil" else 4
    return WorkerRecord(
        index=index,
        in_flight=8,
        eager_tasks="eager" in cell.arm.split("+"),
        own_code="own-code" in cell.arm.split("+"),
        busy_from_ns=opened - 250_000_000,
        busy_until_ns=times[-1] + 5_000_000,
        ticks=Ticks(
            instant_ns=instants,
            time_ns=times,
            operations=operations,
            errors=[0] * len(times),
            bytes=[count * 2048 for count in operations],
            cpu_ns=[round((time - opened + 3e8) * 0.97 * share) for time in times],
            minor_faults=[900 + faults * count for count in operations],
        ),
    )


def with_[T: msgspec.Struct](line: T, **changes: Any) -> T:
    """The run with fields replaced; two underscores reach inside: `record__process__gil=…`."""
    for path, value in changes.items():
        head, _, rest = path.partition("__")
        inner = with_(getattr(line, head), **{rest: value}) if rest else value
        line = msgspec.structs.replace(line, **{head: inner})
    return line
