"""What an application requires, installed for a free-threaded build and imported there.

Into an environment of its own in the cache: that of the user is not touched. What was found is kept
with it, since the same wheels on the same interpreter do the same.

Every extension module of a distribution is imported in a child, and the GIL read back. A module may
turn the GIL on, end its interpreter or hang. It is noted, and the others are tried in a new child,
where importing it fails: so what works without it is seen to work.
"""

import contextlib
import hashlib
import json
import os
import re
import shutil
import signal
import subprocess
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import Distribution, distributions
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory, TemporaryFile

import msgspec
from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

from scaling.base.formats import plural
from scaling.builds import cache, uv_tool
from scaling.builds.arms import parse_arm
from scaling.builds.build_failure import BuildFailure, build_failure, keep_log, reason_in
from scaling.builds.cache import Say
from scaling.builds.cpython import Interpreter, marker_variables
from scaling.builds.environments import make_empty, python_of, workers_path
from scaling.builds.lock import Entry, text_of
from scaling.builds.prepared_arm import MISSING_MODULE, child_environment
from scaling.builds.ready.package import Package, Readiness
from scaling.builds.ready.resolve import (
    BUILD_LIMIT_S,
    Required,
    resolve,
)

FOUND = "found.json"
NO_BYTECODE = {"PYTHONDONTWRITEBYTECODE": "1"}  # into folders of the user's
WHERE = """
import importlib.machinery, json, sysconfig
paths = sysconfig.get_paths()
print(json.dumps([[paths["purelib"], paths["platlib"]], importlib.machinery.EXTENSION_SUFFIXES]))
"""

type Progress = Callable[[int, int], None]
"""Called with how many distributions were imported, and of how many."""


def examine(
    required: Required,
    interpreter: Interpreter,
    *,
    build: bool = False,
    application: tuple[str, Path] | None = None,
    say: Say,
    progress: Progress = lambda *_: None,
) -> Readiness:
    """What of all that is required can be used on `interpreter`, which is a free-threaded one.

    Sources are built only with `build`. `application` is a module and the folder it is imported
    from; it comes after what it requires.

    Raises:
        UsageError: a requirement or a file cannot be read, or nothing satisfies it.
        ScalingError: the package index cannot be reached, or a wheel cannot be installed.
    """
    say(f"resolving for CPython {interpreter.build}")
    packages, entries = resolve(required, interpreter, build=build, say=say)
    key = _key(interpreter, packages, entries, build=build)
    destination = cache.folder() / "readiness" / f"{interpreter.build}-{key}"

    def fill(temporary: Path) -> Path:
        folder = temporary / "environment"
        python = make_empty(interpreter, folder)
        found = _installed(packages, entries, python, interpreter.build, build=build, say=say)
        found = _all_imported(found, python, interpreter, say, {}, progress)
        (folder / FOUND).write_bytes(msgspec.json.encode(found))
        return folder

    def whole(folder: Path) -> bool:
        return python_of(folder).exists() and (folder / FOUND).exists()

    cache.make_whole(destination, fill, say=say, whole=whole)
    found = msgspec.json.decode((destination / FOUND).read_bytes(), type=list[Package])
    if application:
        module, path = application
        say(f"importing {module}")
        with workers_path() as workers:
            arm = parse_arm(interpreter.build)
            variables = child_environment(arm, [str(workers), str(path)]) | NO_BYTECODE
            own = Package(name=module, has="own")
            found.append(_imported(own, {module: False}, str(python_of(destination)), variables))
    if any(TOO_LATE in how for each in found for how in each.ends.values()):
        shutil.rmtree(destination, ignore_errors=True)  # the machine may have been busy
    return Readiness(build=interpreter.build, version=interpreter.version, packages=found)


def examine_installed(python: Path, interpreter: Interpreter, *, say: Say) -> Readiness:
    """What is installed for `python`, an environment of the user's own, which is left as it is.

    `interpreter` says what `python` is. Nothing is kept: what is installed may change.
    """
    there, _ = _there(python)
    packages = [
        Package(name=name, version=each.version, has="pure") for name, each in there.items()
    ]
    found = [
        msgspec.structs.replace(each, has="wheel") if each.extensions else each
        for each in _all_imported(packages, python, interpreter, say, NO_BYTECODE)
    ]
    return Readiness(build=interpreter.build, version=interpreter.version, packages=found)


def _installed(
    packages: Iterable[Package],
    entries: Mapping[str, Entry],
    python: Path,
    build_name: str,
    *,
    build: bool,
    say: Say,
) -> list[Package]:
    """Install what has a wheel, and build what has none if asked; the packages as they are then."""
    install = ["pip", "install", "--python", str(python), "--no-deps", "--quiet"]
    lock = python.parents[1] / "pylock.toml"
    wheels = [entries[each.name] for each in packages if each.has in ("wheel", "pure")]
    if wheels:
        say(f"installing {plural(len(wheels), 'wheel')} for {build_name}")
        lock.write_text(text_of(wheels), encoding="utf-8")
        uv_tool.must(uv_tool.run([*install, "--no-build", "-r", str(lock)]), "the wheels")
    found = []
    for each in packages:
        if not (build and each.has in ("source", "own") and each.name in entries):
            found.append(each)
            continue
        named = f"{each.name} {each.version}".rstrip()
        say(f"building {named} (at most {BUILD_LIMIT_S:.0f} s)")
        lock.write_text(text_of([entries[each.name]]), encoding="utf-8")
        answer = uv_tool.run([*install, "-r", str(lock)], limit_s=BUILD_LIMIT_S)
        failed = _why_not_built(each, build_name, answer.stderr) if answer.returncode else ""
        has = each.has if failed or each.has == "own" else "built"
        found.append(msgspec.structs.replace(each, has=has, reason=failed))
    lock.unlink(missing_ok=True)
    return found


def _why_not_built(package: Package, build: str, stderr: str) -> str:
    """The reason, and where all that was printed is kept."""
    failure = build_failure(stderr) or BuildFailure(
        package.name, package.version, reason_in(stderr)
    )
    return f"{failure.reason} (log: {keep_log(failure, build, stderr)})"


def _all_imported(
    packages: Collection[Package],
    python: Path,
    interpreter: Interpreter,
    say: Say,
    variables: Mapping[str, str],
    progress: Progress = lambda *_: None,
) -> list[Package]:
    """The packages with what their extension modules did, and with what requires them.

    `variables` are those of a child, beside the usual ones.
    """
    there, suffixes = _there(python)
    modules = {
        name: _extension_modules(map(str, each.files or ()), suffixes)
        for name, each in there.items()
    }
    needed_by = _needed_by(there, marker_variables(interpreter.version))
    count = sum(map(len, modules.values()))
    compiled = sum(map(bool, modules.values()))
    say(f"importing {plural(count, 'extension module')} of {plural(compiled, 'distribution')}")

    with workers_path() as workers, ThreadPoolExecutor(os.cpu_count()) as pool:
        arm = parse_arm(interpreter.build)
        environment = {**child_environment(arm, [str(workers)]), **variables}

        def tried(each: Package) -> Package:
            each = msgspec.structs.replace(each, needed_by=tuple(sorted(needed_by[each.name])))
            of_it = modules.get(each.name)
            return _imported(each, of_it, str(python), environment) if of_it else each

        found = []
        for each in pool.map(tried, packages):
            found.append(each)
            progress(len(found), len(packages))
        return found


def _there(python: Path) -> tuple[Mapping[str, Distribution], Sequence[str]]:
    """The distributions installed for `python`, by name, and the endings of extension modules."""
    answer = subprocess.run(
        [str(python), "-I", "-c", WHERE], capture_output=True, text=True, check=True
    )
    folders, suffixes = json.loads(answer.stdout)
    installed = sorted(distributions(path=list(set(folders))), key=lambda each: each.name)
    return {canonicalize_name(each.name): each for each in installed}, suffixes


def _needed_by(
    there: Mapping[str, Distribution], variables: Mapping[str, str]
) -> Mapping[str, set[str]]:
    """The installed distributions that require each one, whatever extras are asked for."""
    found: defaultdict[str, set[str]] = defaultdict(set)
    for name, each in there.items():
        for text in each.requires or ():
            try:
                needed = Requirement(text)
            except InvalidRequirement:
                continue
            if needed.marker is None or needed.marker.evaluate({**variables, "extra": ""}):
                found[canonicalize_name(needed.name)].add(name)
    return found


def _key(
    interpreter: Interpreter,
    packages: Iterable[Package],
    entries: Mapping[str, Entry],
    *,
    build: bool,
) -> str:
    """Changes with the interpreter, with what is installed, and with how it is tried."""
    made_from = [
        interpreter.identity,
        [[msgspec.to_builtins(each), str(entries.get(each.name))] for each in packages],
        [IMPORT_EACH, IMPORT_LIMIT_S, build],
    ]
    return hashlib.sha256(json.dumps(made_from).encode()).hexdigest()[:16]


# ------------------------------------------------------------------------------------------- import

IMPORT_LIMIT_S = 60  # for the import of one module, on a busy machine too
MARGIN_S = 30  # for the child itself, beyond the limits of its modules
TOO_LATE = "takes more than"
ABI3 = ".abi3."  # and not `.abi3t.`, which is for free-threaded builds (PEP 803)
OF_ABI3 = "it is abi3, made for builds with the GIL"

# Imports one module after the other until one turns the GIL on; prints each name, then what came of
# it: the module that turned the GIL on, and the error. A module's own output goes to stderr.
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


def _extension_modules(files: Iterable[str], suffixes: Sequence[str]) -> dict[str, bool]:
    """The extension modules among the files of a RECORD, and whether each is `abi3`.

    `suffixes` are those of the interpreter. Libraries that a wheel brings along have other names.
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


def _imported(
    package: Package, modules: Mapping[str, bool], python: str, environment: Mapping[str, str]
) -> Package:
    """The package with what the import of each of its extension modules did.

    A free-threaded build takes the files of `abi3` modules, whose objects have another layout: on
    3.14.7 their import ends with SIGSEGV. `environment` are the variables of a child of `python`
    that finds `workers`.
    """
    gil_on, ends, errors = _import_each(list(modules), python, environment)
    ends |= {name: f"{how}: {OF_ABI3}" for name, how in ends.items() if modules[name]}
    # The package may work without them: in the way in which its users import it.
    without = sorted(name for name in errors if LEFT_OUT.search(errors[name]) is None)
    not_imported = ""
    if without and not (gil_on or ends):
        tops = {name.partition(".")[0]: None for name in without}
        _, ended, refused = _import_each(list(tops), python, environment)
        not_imported = next(iter([*ended.values(), *refused.values()]), "")
        # What needs an optional package does so on every build.
        without = [name for name in without if _missing(errors[name]) in (*tops, "")]
    return msgspec.structs.replace(
        package,
        extensions=len(modules),
        # A module of another distribution is that one's, and is tried there.
        gil_on=tuple(name for name in gil_on if name in modules or package.has == "own"),
        ends=ends,
        not_loaded={} if not_imported else {name: errors[name] for name in without},
        not_imported=not_imported,
    )


def _missing(error: str) -> str:
    """The package that an error says is not there; empty if it says something else."""
    found = MISSING_MODULE.search(error)
    return found[1] if found else ""


def _import_each(
    modules: Sequence[str], python: str, environment: Mapping[str, str]
) -> tuple[dict[str, str], dict[str, str], dict[str, str]]:
    """What turns the GIL on (in the import of which module), what ends the child (how), what cannot
    be imported (why).
    """
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
            remaining.insert(0, name)  # again, without what is another distribution's
            errors.pop(name, None)
    return gil_on, ends, errors


def _child(
    modules: Sequence[str], without: Sequence[str], python: str, environment: Mapping[str, str]
) -> tuple[list[list[str]], str]:
    """What a child answered, and how it ended where it did not come to its end."""
    question = json.dumps([modules, without, IMPORT_LIMIT_S])
    # Files, since what a module starts may keep a pipe open. It stands in an empty folder.
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
