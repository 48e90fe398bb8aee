"""The requirements of an application, installed for a free-threaded build and imported there.

They are installed into an environment in the cache; the user's own is not changed. The result is
kept with the environment, since the same wheels on the same interpreter behave the same.
"""

import hashlib
import json
import os
import shutil
import subprocess
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import Distribution, distributions
from pathlib import Path

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
from scaling.builds.prepared_arm import child_environment
from scaling.builds.ready import imports
from scaling.builds.ready.imports import TOO_LATE, extension_modules, imported
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

type Installed = tuple[Mapping[str, Distribution], Sequence[str]]
type Progress = Callable[[int, int], None]
"""Called with the number of imported distributions, and of all."""


def examine(
    required: Required,
    interpreter: Interpreter,
    *,
    build: bool = False,
    application: tuple[str, Path] | None = None,
    say: Say,
    progress: Progress = lambda *_: None,
) -> Readiness:
    """The readiness of requirements on `interpreter`, a free-threaded build.

    Sources are built only with `build`. `application` is a module and the folder it is imported
    from; it is imported after its requirements.

    Raises:
        UsageError: a requirement or a file cannot be read, or nothing satisfies it.
        ScalingError: the package index cannot be reached, or a wheel cannot be installed.
    """
    say(f"resolving for CPython {interpreter.build}")
    packages, entries = resolve(required, interpreter, build=build, say=say)
    destination = _folder(interpreter, packages, entries, build=build)

    def fill(temporary: Path) -> Path:
        folder = temporary / "environment"
        python = make_empty(interpreter, folder)
        found = _installed(packages, entries, python, interpreter.build, build=build, say=say)
        found = _all_imported(found, _there(python), python, interpreter, say, {}, progress)
        (folder / FOUND).write_bytes(msgspec.json.encode(found))
        return folder

    def whole(folder: Path) -> bool:
        return python_of(folder).exists() and (folder / FOUND).exists()

    cache.make_whole(destination, fill, say=say, whole=whole)
    found = msgspec.json.decode((destination / FOUND).read_bytes(), type=list[Package])
    if application:
        found.append(_application(*application, python_of(destination), interpreter, say))
    if any(TOO_LATE in how for each in found for how in each.ends.values()):
        shutil.rmtree(destination, ignore_errors=True)  # the machine may have been busy
    return Readiness(build=interpreter.build, version=interpreter.version, packages=found)


def _application(
    module: str, path: Path, python: Path, interpreter: Interpreter, say: Say
) -> Package:
    say(f"importing {module}")
    with workers_path() as workers:
        arm = parse_arm(interpreter.build)
        variables = child_environment(arm, [str(workers), str(path)]) | NO_BYTECODE
        own = Package(name=module, has="own")
        return imported(own, {module: False}, str(python), variables)


def examine_installed(python: Path, interpreter: Interpreter, *, say: Say) -> Readiness:
    """The readiness of the packages in a user's own environment, which is not changed.

    `interpreter` has the facts of its `python`. The result is not kept: packages may change.
    """
    there = _there(python)
    packages = [
        Package(name=name, version=each.version, has="pure") for name, each in there[0].items()
    ]
    found = [
        msgspec.structs.replace(each, has="wheel") if each.extensions else each
        for each in _all_imported(packages, there, python, interpreter, say, NO_BYTECODE)
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
    """Install wheels, and build sources with `build`; return the packages with the results."""
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
    """The reason of a failed build, and the path of its log."""
    failure = build_failure(stderr) or BuildFailure(
        package.name, package.version, reason_in(stderr)
    )
    return f"{failure.reason} (log: {keep_log(failure, build, stderr)})"


def _all_imported(
    packages: Collection[Package],
    installed: Installed,
    python: Path,
    interpreter: Interpreter,
    say: Say,
    variables: Mapping[str, str],
    progress: Progress = lambda *_: None,
) -> list[Package]:
    """The packages with the results of their imports, and with the packages that require them.

    `variables` are added to those of a child.
    """
    there, suffixes = installed
    modules = {
        name: extension_modules(map(str, each.files or ()), suffixes)
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
            return imported(each, of_it, str(python), environment) if of_it else each

        found = []
        for each in pool.map(tried, packages):
            found.append(each)
            progress(len(found), len(packages))
        return found


def _there(python: Path) -> Installed:
    """The distributions installed for `python` by name, and the suffixes of extension modules."""
    answer = subprocess.run(
        [str(python), "-I", "-c", WHERE], capture_output=True, text=True, check=True
    )
    folders, suffixes = json.loads(answer.stdout)
    installed = sorted(distributions(path=list(set(folders))), key=lambda each: each.name)
    return {canonicalize_name(each.name): each for each in installed}, suffixes


def _needed_by(
    there: Mapping[str, Distribution], variables: Mapping[str, str]
) -> Mapping[str, set[str]]:
    """The installed distributions that require each distribution, extras aside."""
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


def _folder(
    interpreter: Interpreter,
    packages: Iterable[Package],
    entries: Mapping[str, Entry],
    *,
    build: bool,
) -> Path:
    """The folder for an interpreter, packages, and the way to import them."""
    made_from = [
        interpreter.identity,
        [[msgspec.to_builtins(each), str(entries.get(each.name))] for each in packages],
        [imports.IMPORT_EACH, imports.IMPORT_LIMIT_S, build],
    ]
    key = hashlib.sha256(json.dumps(made_from).encode()).hexdigest()[:16]
    return cache.folder() / "readiness" / f"{interpreter.build}-{key}"
