"""CPython's own `Tools/ftscalingbench`, from the user's copy, run by the interpreter of each arm.

The script decides what it runs, how long, with how many threads and on which CPUs; we repeat it,
and keep the speed-ups that it prints. It times each benchmark once, in one thread and then in all,
so its figures have none of the guards of a study: they stand beside one, labelled as the script's.
"""

import hashlib
import re
import subprocess
from collections.abc import Sequence
from pathlib import Path

from scaling.base.errors import ScalingError, UsageError
from scaling.builds.cache import Say
from scaling.builds.prepared_arm import PreparedArm
from scaling.journal.beside import FtScalingBenchRecord

FILE_NAME = "ftscalingbench.py"
IN_SOURCE = Path("Tools/ftscalingbench") / FILE_NAME
LIMIT_S = 600.0  # of one run, which takes seconds
THREADS = re.compile(r"Running benchmarks with (\d+) threads?")
SPEEDUP = re.compile(r"(\w+) +(\d+(?:\.\d+)?)x (faster|slower)")


def script_at(path: Path) -> Path:
    """The script: the file itself, or where a source tree of CPython has it.

    Raises:
        UsageError: it is not there, or has another name.
    """
    places = (path, path / FILE_NAME, path / IN_SOURCE)
    found = next((each for each in places if each.name == FILE_NAME and each.is_file()), None)
    if found is None:
        raise UsageError(
            f"--ftscalingbench {path}: expected {FILE_NAME}, its folder, or a source tree of "
            f"CPython that has {IN_SOURCE}"
        )
    return found.resolve()


def free_threaded(arms: Sequence[PreparedArm]) -> list[PreparedArm]:
    """The arms that the script is about: those without the GIL.

    Raises:
        UsageError: there is none.
    """
    found = [each for each in arms if each.is_python and each.arm.without_gil]
    if not found:
        raise UsageError(
            "--ftscalingbench: the script is for arms without the GIL: add --arm 3.14t"
        )
    return found


def run_script(
    script: Path, arms: Sequence[PreparedArm], runs: int, say: Say
) -> tuple[list[FtScalingBenchRecord], str]:
    """Run the script on each arm, in turn, so many times; what it printed on each.

    If it fails or prints no speed-up, it is not run again: the second is why, else empty.
    """
    digest = hashlib.sha256(script.read_bytes()).hexdigest()
    threads: dict[str, int] = {}
    speedups: dict[str, dict[str, list[float]]] = {each.arm.name: {} for each in arms}
    failure = ""
    try:
        for number in range(runs):
            for each in arms if number % 2 == 0 else reversed(arms):
                name = each.arm.name
                say(f"ftscalingbench on {name}, run {number + 1} of {runs}")
                threads[name], printed = parsed(_output(script, each), name)
                for benchmark, speedup in printed.items():
                    speedups[name].setdefault(benchmark, []).append(speedup)
    except ScalingError as error:
        failure = str(error)
    records = [
        FtScalingBenchRecord(arm=name, sha256=digest, threads=threads[name], speedups=found)
        for name, found in speedups.items()
        if found
    ]
    return records, failure


def parsed(output: str, arm: str) -> tuple[int, dict[str, float]]:
    """How many threads the script used, and the speed-up of each benchmark; `slower` is below 1.

    Raises:
        ScalingError: the output is not of this form.
    """
    threads = THREADS.search(output)
    found = {
        name: float(factor) if word == "faster" else 1 / float(factor)
        for name, factor, word in SPEEDUP.findall(output)
    }
    if threads is None or not found:
        last = output.strip().rpartition("\n")[2]
        raise ScalingError(f"ftscalingbench on {arm} printed no speed-up: {last!r}")
    return int(threads[1]), found


def _output(script: Path, arm: PreparedArm) -> str:
    try:
        done = subprocess.run(
            [arm.program, str(script)],
            env=dict(arm.environment),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=LIMIT_S,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise ScalingError(f"ftscalingbench on {arm.arm.name} took over {LIMIT_S:g} s") from None
    if done.returncode:
        last = done.stderr.strip().rpartition("\n")[2]
        raise ScalingError(f"ftscalingbench on {arm.arm.name} failed ({done.returncode}): {last}")
    return done.stdout
