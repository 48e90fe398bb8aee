"""What `perf script` and the sampler of stacks print becomes functions, whatever else is there."""

import contextlib
import json
import stat
import subprocess
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from scaling.builds.prepared_arm import PreparedArm
from scaling.run.profile import perf, profiling, stacks
from scaling.run.profile.perf import (
    TRAMPOLINES,
    Perf,
    UnavailableError,
    file_shown,
    samples,
    tallies_of,
)

FLAT = """\
  4243  1234.000000100:  5581e0 _PyEval_EvalFrameDefault (/py/bin/python3.14t)
  4244  1234.000000200:      5581e0 _PyMutex_LockTimed.cold.3 (/py/bin/python3.14t)
[perf] something that is no sample
  4243  1234.000000300:  ffffffff81 do_syscall_64 ([kernel.kallsyms])
  4243  1234.000000400:      7f12aa [unknown] (/home/me/libuv.so.1 (deleted))
  4243  1234.000000500:      7f12aa Foo::bar(int, char) (/opt/lib/libfoo.so)
  4243  1234.000000600:      7fff00 __vdso_clock_gettime ([vdso])
  4242  1234.000000700:      5581e0 select (/py/bin/python3.14t)
  4243  1234.0000008
"""
WITH_CALLERS = """\
  78  5.000000001:
        5581e0 PyDict_GetItem (/opt/py/bin/python3.14)
        7f0001 py::Handle._run:/opt/py/lib/python3.14/asyncio/events.py (/tmp/perf-77.map)
        7f0002 py::run_worker:/srv/workers/worker/session.py (/tmp/perf-77.map)

  78  5.000000002:
        5581e0 main (/opt/py/bin/python3.14)

"""


def test_samples_without_callers_are_a_line_each() -> None:
    found = list(samples(FLAT.splitlines()))
    assert [each.frames[0] for each in found] == [
        ("native", "_PyEval_EvalFrameDefault"),
        ("native", "_PyMutex_LockTimed"),
        ("kernel", "do_syscall_64"),
        ("native", "[unknown] (libuv.so.1)"),
        ("native", "Foo::bar(int, char)"),
        ("native", "__vdso_clock_gettime"),
        ("native", "select"),
    ]
    assert found[0].at_ns == 1234_000_000_100
    assert found[0].thread == 4243


def test_python_functions_are_found_among_the_callers() -> None:
    found = tallies_of(list(samples(WITH_CALLERS.splitlines())), ["/srv"])
    assert found["native"].amounts == {("native", "PyDict_GetItem"): 1, ("native", "main"): 1}
    assert found["python"].amounts == {("python", "Handle._run (asyncio/events.py)"): 1}
    assert found["python"].of == found["native"].of == 2
    assert ("python_total", "run_worker (workers/worker/session.py)") in (
        found["python_total"].amounts
    )


def test_the_trampolines_themselves_have_one_name_without_a_folder() -> None:
    lines = [
        "  78  5.000000001:",
        "        7f0001 py::Cart.add:/home/me/secret/cart.py (/tmp/perf-77.map)",
        "  78  5.000000002:",
        "        7f0002 [unknown] ([JIT] tid 77)",
    ]
    found = tallies_of(list(samples(lines)), [])
    assert found["native"].amounts == {TRAMPOLINES: 1, ("native", "[unknown] ([JIT])"): 1}
    assert found["python"].amounts == {("python", "Cart.add (cart.py)"): 1}


def test_names_have_no_folder_of_the_machine() -> None:
    folders = ["/srv/mine", ""]
    assert file_shown("/srv/mine/shop/cart.py", folders) == "shop/cart.py"
    assert file_shown("/x/lib/python3.14t/asyncio/events.py", folders) == "asyncio/events.py"
    assert file_shown("/x/lib/python3.14/site-packages/h11/_state.py", folders) == "h11/_state.py"
    assert file_shown("/home/me/secret/cart.py", folders) == "cart.py"
    assert file_shown("<frozen runpy>", folders) == "<frozen runpy>"


def test_stacks_are_counted_by_the_state_of_their_thread() -> None:
    work, wait = [["work", "/a/b.py"], ["main", "/a/b.py"]], [["acquire", "/a/b.py"]]
    inside = [(work, "running", 3), (work, "running", 4), (wait, "202", 0), (wait, "232", 0)]
    found = stacks.tallies_of(inside, ["/a"], futex="202")
    assert found["python"].amounts == {("python", "work (b.py)"): 7}
    assert found["python"].of == 7
    assert found["python"].samples == 2
    assert found["python_total"].amounts["python_total", "main (b.py)"] == 7
    assert found["blocked"].amounts == {("blocked", "acquire (b.py)"): 1}
    assert found["blocked"].of == 4
    queued = [(work, "running", 0), *inside]  # to the kernel it runs; it has no CPU
    assert stacks.tallies_of(queued, ["/a"], futex="202")["python"].of == 7
    assert "blocked" not in stacks.tallies_of(inside, ["/a"], futex="")


def test_a_missing_perf_is_named_with_the_package_that_has_it() -> None:
    with pytest.raises(UnavailableError, match="linux-perf"):
        Perf(program="no-such-perf")


def fake(tmp_path: Path, script: str) -> str:
    """A program in the place of perf."""
    program = tmp_path / "perf"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    return str(program)


def test_what_forbids_sampling_is_named_with_the_setting_that_permits_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(perf, "PARANOID", tmp_path / "paranoid")
    (tmp_path / "paranoid").write_text("3\n")
    program = fake(tmp_path, "echo 'No permission to enable cpu-clock event.' >&2; exit 255")
    with pytest.raises(UnavailableError) as raised:
        Perf(program=program)
    assert "sysctl kernel.perf_event_paranoid=1 permits it (it is 3;" in str(raised.value)
    assert "No permission" in str(raised.value)


def test_a_kernel_that_cannot_be_seen_is_noted(tmp_path: Path) -> None:
    program = fake(tmp_path, 'case "$*" in *cpu-clock:u*) exit 0;; esac; exit 255')
    found = Perf(program=program)
    assert not found.sees_kernel
    assert "kernel.perf_event_paranoid" in found.note


@pytest.mark.parametrize(
    ("script", "begin_s", "said"),
    [
        ('echo "no such process" >&2; exit 1', perf.BEGIN_S, "no such process"),
        ("exec sleep 600", 0.1, "no answer"),
    ],
)
def test_a_sampler_that_does_not_begin_says_why_and_is_ended(
    script: str, begin_s: float, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(perf, "BEGIN_S", begin_s)
    program = fake(tmp_path, f'case "$*" in *control*) {script};; esac')
    with (
        contextlib.closing(Perf(program=program)) as sampler,
        pytest.raises(UnavailableError, match=f"perf did not begin: {said}"),
    ):
        sampler.start([(1, 1)])


def test_what_names_the_trampolines_of_every_process_is_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(profiling, "MAP", tmp_path / "perf-{}.map")
    for pid in (1, 2, 3):
        (tmp_path / f"perf-{pid}.map").touch()
    sampling = profiling.Sampling([], [])
    sampling.watch("ready", {"pids": [1, 2], "threads": [[2, 2]]})  # 1 has no loop
    sampling.close()
    assert [each.name for each in tmp_path.glob("*.map")] == ["perf-3.map"]


def test_samples_that_were_missed_are_counted_over_all_runs() -> None:
    sampler = stacks.Stacks(cast("PreparedArm", None), [], None)
    assert sampler.note == ""
    for missed in (0, 1):
        printed = json.dumps({"samples": [[1, 1, "running", 0]] * 2, "missed": missed})
        process = SimpleNamespace(communicate=lambda timeout, text=printed: (text, None))
        sampler._process = cast("subprocess.Popen[str]", process)
        sampler.stop()
    assert "20 % of the samples were missed" in sampler.note


def test_stacks_that_may_not_be_read_are_named_with_the_setting(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stacks, "PTRACE", tmp_path / "scope")
    assert "SYS_PTRACE" in stacks._why("not permitted")
    (tmp_path / "scope").write_text("1\n")
    assert "sysctl kernel.yama.ptrace_scope=0 permits it (it is 1)" in stacks._why("not permitted")
    assert "3.14" in stacks._why("no module")
