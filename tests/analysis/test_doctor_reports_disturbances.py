"""`scaling doctor` says what will disturb the figures, and what to do about it."""

import socket
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from scaling.journal.record import Disturbance
from scaling.machine import snapshot as looking
from scaling.machine.doctor import CHECKS, Advice, examine, report, worst
from scaling.machine.snapshot import MachineSnapshot, busy_programs, look
from scaling.machine.topology import Topology
from tests.support.cli import Command
from tests.support.fake_builds import interpreter
from tests.support.machines import tree
from tests.support.printing import printed

CPU = "sys/devices/system/cpu"
GIB = 2**30

QUIET = Disturbance(load_1m=0.1, steal_fraction=0.0, other_cpu_fraction=0.005)
FOUR_CORES = Topology(
    logical_cpus=4,
    physical_cores=4,
    cores=((0,), (1,), (2,), (3,)),
    numa_nodes=((0, 1, 2, 3),),
    affinity=(0, 1, 2, 3),
)
SMT = replace(FOUR_CORES, physical_cores=2, cores=((0, 2), (1, 3)))
PAIR = (interpreter("3.14"), interpreter("3.14t"))
STILL = {
    f"{CPU}/cpu0/cpufreq/scaling_governor": "performance\n",
    f"{CPU}/cpu1/cpufreq/scaling_governor": "performance\n",
    f"{CPU}/intel_pstate/no_turbo": "1\n",
    "proc/cpuinfo": "flags\t\t: fpu sse\n",
    "sys/kernel/mm/transparent_hugepage/enabled": "always [madvise] never\n",
}


def machine(root: Path, files: Mapping[str, str] | None = None, **other: Any) -> MachineSnapshot:
    """A machine on which nothing disturbs but what is given."""
    facts: dict[str, Any] = {
        "root": tree(root, STILL | dict(files or {})),
        "topology": FOUR_CORES,
        "sample": QUIET,
        "memory_free_bytes": 16 * GIB,
        "swap_used_bytes": 0,
        "open_files": 65_536,
        "interpreters": PAIR,
    }
    return MachineSnapshot(**(facts | other))


def disturbs(snapshot: MachineSnapshot) -> list[Advice]:
    return [advice for advice in examine(snapshot) if advice.severity != "ok"]


def sample(**fields: float | None) -> Disturbance:
    known = {name: getattr(QUIET, name) for name in QUIET.__struct_fields__}
    return Disturbance(**(known | fields))


def test_a_quiet_machine_and_what_is_not_known_give_no_warning(tmp_path: Path) -> None:
    assert disturbs(machine(tmp_path)) == []
    assert worst(examine(machine(tmp_path))) == "ok"
    none: dict[str, Any] = {"memory_free_bytes": None, "swap_used_bytes": None, "open_files": None}
    unknown: dict[str, Any] = {
        "topology": Topology(logical_cpus=4),
        "sample": sample(steal_fraction=None),
    }
    assert disturbs(machine(tmp_path, **none, **unknown)) == []


POWERSAVE = {f"{CPU}/cpu1/cpufreq/scaling_governor": "powersave\n"}
TURBO = {f"{CPU}/intel_pstate/no_turbo": "0\n"}
BOOST = {f"{CPU}/intel_pstate/no_turbo": "", f"{CPU}/cpufreq/boost": "1\n"}
GUEST = {"proc/cpuinfo": "flags : fpu hypervisor\n", "sys/class/dmi/id/sys_vendor": "QEMU"}
HUGE = {"sys/kernel/mm/transparent_hugepage/enabled": "[always] madvise never\n"}
OLD = (interpreter("3.14", "3.14.5"), interpreter("3.14t", "3.14.5"))
UNLIKE = (interpreter("3.14", pgo=True), interpreter("3.14t"))
INDEXER = {"sample": sample(other_cpu_fraction=0.3), "busy": {"indexer": 0.9, "browser": 0.3}}
MINER = {"sample": sample(other_cpu_fraction=0.8), "busy": {"miner": 3.2}}
LITTLE = {"topology": replace(FOUR_CORES, efficiency_cpus=(2, 3))}
NODES = {"topology": replace(FOUR_CORES, numa_nodes=((0, 1), (2, 3)))}
# Check, what is changed, finding, remedy.
CASES: list[tuple[str, dict[str, Any], str, str]] = [
    ("other programs", INDEXER, "use 1.2 of 4 CPUs (indexer 0.9, browser 0.3)", "stop them"),
    ("other programs", MINER, "use 3.2 of 4 CPUs (miner 3.2)", "stop them"),
    ("other programs", {"sample": sample(other_cpu_fraction=None)}, "cannot be read", ""),
    ("load", {"sample": sample(load_1m=3.0)}, "3.0 on 4 CPUs", "find out"),
    ("load", {"sample": sample(load_1m=None)}, "cannot be read", ""),
    ("steal", {"sample": sample(steal_fraction=0.07)}, "hypervisor gives 7%", "another time"),
    ("quota", {"topology": replace(FOUR_CORES, cpu_quota=2.5)}, "2.5 of 4 CPUs", "--cpuset"),
    ("affinity", {"topology": replace(FOUR_CORES, affinity=(0, 1))}, "2 of 4 CPUs", "taskset"),
    ("cores", {"topology": Topology(logical_cpus=1, physical_cores=1)}, "1 usable core", "two"),
    ("SMT", {"topology": SMT}, "4 CPUs on 2 cores", "--pin"),
    ("efficiency cores", LITTLE, "2 CPUs are efficiency cores", "--pin"),
    ("NUMA", NODES, "2 NUMA nodes", "--pin"),
    ("governor", {"files": POWERSAVE}, "performance, powersave", "cpupower"),
    ("turbo", {"files": TURBO}, "turbo is on", f"echo 1 > /{CPU}/intel_pstate/no_turbo"),
    ("turbo", {"files": BOOST}, "turbo is on", f"echo 0 > /{CPU}/cpufreq/boost"),
    ("virtual machine", {"files": GUEST}, "virtual machine (kvm)", "controls"),
    ("memory", {"memory_free_bytes": GIB // 2}, "0.5 GiB of memory", "fewer worker"),
    ("memory", {"swap_used_bytes": 3 * GIB}, "3,072 MiB are swapped", "swapoff"),
    ("open files", {"open_files": 1024}, "open 1,024 files", "ulimit -n 16384"),
    ("huge pages", {"files": HUGE}, "always on", "echo madvise"),
    ("system", {"system": "Darwin"}, "Darwin is not Linux: PSS", "same system"),
    ("free-threading", {"interpreters": OLD}, "3.14t (3.14.5, PATH) is older", "3.14.7"),
    ("free-threading", {"interpreters": PAIR[:1]}, "no free-threaded", "a study installs"),
    ("builds", {"interpreters": UNLIKE}, "3.14 (3.14.7, PATH, PGO, GCC 12.2.0) and", "one place"),
]


@pytest.mark.parametrize(("check", "changed", "finding", "remedy"), CASES)
def test_a_disturbance_is_reported_with_its_remedy(
    tmp_path: Path, check: str, changed: dict[str, Any], finding: str, remedy: str
) -> None:
    snapshot = machine(tmp_path, **changed)
    (advice,) = disturbs(snapshot)
    assert advice in CHECKS[check](snapshot)
    assert advice.severity == ("stop" if changed is MINER or check == "cores" else "warning")
    assert finding in advice.finding
    assert remedy in advice.remedy


def test_every_check_finds_something_in_these_tests() -> None:
    assert set(CHECKS) == {check for check, *_ in CASES} | {"environment"}


def test_variables_that_are_not_passed_on_are_named(tmp_path: Path) -> None:
    said = {"PYTHON_GIL": "1", "PYTHONMALLOC": "debug", "HOME": "/home/somebody"}
    (advice,) = CHECKS["environment"](machine(tmp_path, environment=said))
    assert advice.severity == "ok"
    assert "PYTHONMALLOC, PYTHON_GIL in the environment" in advice.finding
    assert "HOME" not in advice.finding


def test_the_worst_comes_first_and_a_summary_last(tmp_path: Path) -> None:
    bad = machine(tmp_path, sample=sample(other_cpu_fraction=0.9), system="Darwin")
    lines = [line.rstrip() for line in printed(report(examine(bad)), width=200).splitlines()]
    assert lines[0].startswith("stop    other programs use")
    assert lines[1] == "        stop them or wait: runs beside them are slower and marked suspect"
    assert lines[2].startswith("warning Darwin is not Linux")
    assert lines[-1] == "Do not measure like this: the figures would mislead."


def test_programs_are_named_with_their_share_of_a_cpu() -> None:
    before = {(1, "python"): 10.0, (2, "python"): 5.0, (3, "idle"): 7.0}
    after = {(1, "python"): 11.0, (2, "python"): 5.5, (3, "idle"): 7.0, (4, "new"): 0.25}
    shares = busy_programs(before, after, 2.0)
    assert list(shares.items()) == [("python", 0.75), ("new", 0.125)]


def test_this_machine_can_be_looked_at_without_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    waited: list[float] = []
    monkeypatch.setattr(looking, "survey", lambda: list(PAIR))
    snapshot = look(waited.append)
    assert waited == [looking.SAMPLE_S]
    assert snapshot.interpreters == PAIR
    assert snapshot.topology.logical_cpus >= 1
    said = " ".join(f"{each.finding} {each.remedy}" for each in examine(snapshot))
    assert socket.gethostname() not in said


@pytest.mark.parametrize(("share", "code"), [(0.005, 0), (0.3, 0), (0.9, 1)])
def test_the_command_fails_only_if_figures_would_mislead(
    share: float, code: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: Command
) -> None:
    snapshot = machine(tmp_path, sample=sample(other_cpu_fraction=share))
    monkeypatch.setattr(looking, "look", lambda: snapshot)
    done = command("doctor")
    assert done.returncode == code
    assert "usable cores" in done.stdout
