"""The import of every extension module of a distribution, in a child that then reads the GIL.

A module may turn the GIL on, end its interpreter or hang. Then the others are imported in a new
child, in which the import of that module fails: so modules that work without it are recognised.
"""

import contextlib
import json
import os
import re
import signal
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from pathlib import PurePosixPath
from tempfile import TemporaryDirectory, TemporaryFile

import msgspec

from scaling.builds.prepared_arm import MISSING_MODULE
from scaling.builds.ready.package import Package

IMPORT_LIMIT_S = 60  # for the import of one module, on a busy machine too
MARGIN_S = 30  # for the child itself, beyond the limits of its modules
TOO_LATE = "takes more than"
ABI3 = ".abi3."  # and not `.abi3t.`, which is for free-threaded builds (PEP 803)
OF_ABI3 = "it is abi3, made for builds with the GIL"

# Imports one module after the other until one turns the GIL on. Prints each name before the import;
# after it the name, the module that turned the GIL on, and the error. stdout of modules is stderr.
IMPORT_EACH = """
import faulthandler, importlib, json, os, sys
from workers.readback.gil import GilWatch, stays_enabled
from workers.system import end_with_the_parent
end_with_the_parent()
modules, without, limit_s = json.loads(sys.argv[1])
answers = os.fdopen(os.dup(1), "w")
os.dup2(2, 1)
def answer(*words):
    print(json.dumps(words), file=answers, flush=True)
sys.modules |= dict.fromkeys(without)
watch = GilWatch()
watch.install()
for name in modules:
    answer(name)
    faulthandler.dump_traceback_later(limit_s, exit=True)
    error = ""
    try:
        importlib.import_module(name)
    except BaseException as problem:
        error = f"{type(problem).__name__}: {problem}"
    faulthandler.cancel_dump_traceback_later()
    turned_on = watch.enabled_by or (name if stays_enabled() else "")
    answer(name, turned_on, error)
    if turned_on:
        break
os._exit(0)
"""

NO_EXTENSION = "does not define module export function"
LEFT_OUT = re.compile(r"import of (\S+) halted; None in sys\.modules")


def extension_modules(files: Iterable[str], suffixes: Sequence[str]) -> dict[str, bool]:
    """The extension modules among the files of a RECORD, and whether each is `abi3`.

    `suffixes` are those of the interpreter. Shared libraries in a wheel have other names.
    """
    found = {}
    for file in files:
        path = PurePosixPath(file)
        suffix = next((each for each in suffixes if path.name.endswith(each)), None)
        if suffix is not None:
            stem = path.name.removesuffix(suffix)
            parts = [*path.parts[:-1], *([] if stem == "__init__" else [stem])]
            if all(re.fullmatch(r"\w+", part) for part in parts):
                found[".".join(parts)] = suffix.startswith(ABI3)
    return found


def imported(
    package: Package, modules: Mapping[str, bool], python: str, environment: Mapping[str, str]
) -> Package:
    """The package with the results of importing each of its extension modules.

    A free-threaded build accepts `abi3` modules, whose objects have another layout: on 3.14.7 their
    import ends with SIGSEGV. `environment` has the variables of a child of `python` that can import
    `workers`.
    """
    gil_on, ends, errors = _import_each(list(modules), python, environment)
    ends |= {name: f"{how}: {OF_ABI3}" for name, how in ends.items() if modules[name]}
    # The package may work without them, as users import it.
    without = sorted(name for name in errors if LEFT_OUT.search(errors[name]) is None)
    not_imported = ""
    if without and not (gil_on or ends):
        tops = {name.partition(".")[0]: None for name in without}
        _, ended, refused = _import_each(list(tops), python, environment)
        not_imported = next(iter([*ended.values(), *refused.values()]), "")
        # A module that needs an optional package needs it on every build.
        without = [name for name in without if _missing(errors[name]) in (*tops, "")]
    return msgspec.structs.replace(
        package,
        extensions=len(modules),
        # A module of another distribution is imported there.
        gil_on=tuple(name for name in gil_on if name in modules or package.has == "own"),
        ends=ends,
        not_loaded={} if not_imported else {name: errors[name] for name in without},
        not_imported=not_imported,
    )


def _missing(error: str) -> str:
    """The missing package that an error names; empty for other errors."""
    found = MISSING_MODULE.search(error)
    return found[1] if found else ""


def _import_each(
    modules: Sequence[str], python: str, environment: Mapping[str, str]
) -> tuple[dict[str, str], dict[str, str], dict[str, str]]:
    """Modules whose import turns the GIL on, ends the child (and how), or fails (and why)."""
    gil_on: dict[str, str] = {}
    ends: dict[str, str] = {}
    errors: dict[str, str] = {}
    remaining = list(modules)
    while remaining:
        answers, how = _child(remaining, [*gil_on, *ends], python, environment)
        if not answers:  # its interpreter does not start
            return gil_on, dict.fromkeys(remaining, how), errors
        name = answers[-1][0]
        ended = [each for each in answers if len(each) > 1]
        errors |= {done: why for done, _, why in ended if why and NO_EXTENSION not in why}
        last = answers[-1]
        if len(last) == 1:
            ends[name] = how
        elif turned_on := last[1]:
            gil_on[turned_on] = name
        remaining = remaining[remaining.index(name) + 1 :]
        if len(last) > 1 and last[1] not in ("", name) and last[1] not in modules:
            remaining.insert(0, name)  # again, without the other distribution's module
            errors.pop(name, None)
    return gil_on, ends, errors


def _child(
    modules: Sequence[str], without: Sequence[str], python: str, environment: Mapping[str, str]
) -> tuple[list[list[str]], str]:
    """The answers of a child, and how it ended."""
    question = json.dumps([modules, without, IMPORT_LIMIT_S])
    # Files, since a process that a module starts may keep a pipe open.
    with TemporaryDirectory() as folder, TemporaryFile() as answers, TemporaryFile() as errors:
        process = subprocess.Popen(
            [python, "-c", IMPORT_EACH, question],
            stdin=subprocess.DEVNULL,
            stdout=answers,
            stderr=errors,
            cwd=folder,
            env=dict(environment),
            start_new_session=True,
        )
        too_late = False
        try:
            process.wait(IMPORT_LIMIT_S * len(modules) + MARGIN_S)
        except subprocess.TimeoutExpired:
            too_late = True
        finally:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        answers.seek(0)
        errors.seek(0)
        lines = [json.loads(line) for line in answers.read().splitlines()]
        too_late |= b"Timeout (" in errors.read()
    if too_late:
        return lines, f"{TOO_LATE} {IMPORT_LIMIT_S} s"
    code = process.returncode
    if code < 0:
        return lines, f"ends the interpreter ({signal.Signals(-code).name})"
    return lines, f"ends the interpreter (exit code {code})"
