"""The packages that are required, directly or not, and their wheels for a build: uv's resolution.

uv resolves for all platforms at once, from wheels alone. So a package whose wheels are all for
other builds keeps the version that a build with the GIL would get, and nothing is built. A package
without any wheel is resolved alone; its own requirements are then unknown.

A package that a lock file has from elsewhere than an index is not resolved (`scaling.builds.lock`),
and is looked up in no index.
"""

import re
import tomllib
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from subprocess import CompletedProcess
from tempfile import TemporaryDirectory
from typing import Self
from urllib.parse import unquote

import msgspec
import tomli_w
from packaging import tags
from packaging.markers import Marker
from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import InvalidWheelFilename, canonicalize_name, parse_wheel_filename

from scaling.base.errors import ScalingError, UsageError
from scaling.builds import uv_tool
from scaling.builds.build_failure import build_failure, keep_log
from scaling.builds.cache import Say
from scaling.builds.cpython import Interpreter, marker_variables, parse_build
from scaling.builds.environments import make_empty
from scaling.builds.index_options import index_options, variables_for
from scaling.builds.lock import Entry, Locked, is_lock, read_lock
from scaling.builds.ready.package import Package

BUILD_LIMIT_S = 600.0  # for each source that is built, and for a resolution that builds sources
DIRECT = {"vcs", "directory", "archive"}  # keys of an entry that comes from no index
ANY = "any"  # the platform of a wheel in pure Python
UNREACHABLE = ("error sending request", "Failed to fetch", "dns error", "Network connectivity")
MUST_BUILD = re.compile(
    r"Building source distributions (for \S+ )?is disabled|The build backend returned an error"
)


@dataclass(frozen=True, kw_only=True)
class Required:
    """Requirements as in requirements.txt, files of them, lock files, and constraints files."""

    names: Sequence[str] = ()
    files: Sequence[Path] = ()
    constraints: Sequence[Path] = ()


def resolve(
    required: Required, interpreter: Interpreter, *, build: bool = False, say: Say
) -> tuple[list[Package], dict[str, Entry]]:
    """Every required package; and uv's entries of those that can be installed, by name.

    With `build`, uv may build a source to know its requirements, and sources have entries, too.
    `say` gets the packages of lock files that are not examined.

    Raises:
        UsageError: a requirement or a file cannot be read, or nothing satisfies it.
        ScalingError: the package index cannot be reached.
    """
    locks = [
        read_lock(_there(each), interpreter.version) for each in required.files if is_lock(each)
    ]
    for lock in locks:
        for line in lock.left_out:
            say(line)
    with TemporaryDirectory(prefix="scaling-ready-") as temporary:
        resolver = _Resolver.about(required, locks, interpreter, Path(temporary))
        entries, unusable = resolver.everything(required, locks, build=build)
        with ThreadPoolExecutor() as pool:
            packages = list(pool.map(resolver.judged, entries))
            packages += pool.map(resolver.unusable, unusable.items())
    had = {each["name"]: each for each in entries}
    return sorted(packages, key=lambda each: each.name), {
        each.name: had[each.name]
        for each in packages
        if each.has in ("wheel", "pure") or (each.has in ("source", "own") and each.name in had)
    }


@dataclass(frozen=True, kw_only=True)
class _Resolver:
    """uv's resolver for one interpreter; files are written to `folder`.

    `indexes` are options of the user's files that name package indexes. The packages
    `from_elsewhere` are looked up in no index.
    """

    interpreter: Interpreter
    folder: Path
    indexes: Sequence[str]
    from_elsewhere: frozenset[str]

    @classmethod
    def about(
        cls, required: Required, locks: Sequence[Locked], interpreter: Interpreter, folder: Path
    ) -> Self:
        """The resolver for these requirements."""
        files = [_there(each) for each in (*required.files, *required.constraints)]
        written = {entry["name"] for each in locks for entry in each.written}
        return cls(
            interpreter=interpreter,
            folder=folder,
            indexes=[line for each in files for line in index_options(each)],
            from_elsewhere=frozenset(written.union(*map(_names_with_sources, files))),
        )

    def everything(
        self, required: Required, locks: Sequence[Locked], *, build: bool
    ) -> "tuple[list[Entry], dict[str, CompletedProcess[str]]]":
        """The entries for this interpreter; and by name uv's refusals of packages without one.

        A lock file is complete: requirements of its packages are not resolved.
        """
        written = {entry["name"]: entry for each in locks for entry in each.written}
        pins = self._file("pins.txt", [pin for each in locks for pin in each.pins])
        given = self._file("given.txt", map(_requirement, required.names))
        files = [str(each) for each in required.files if not is_lock(each)]
        limits = [word for each in (*required.constraints, pins) for word in ("-c", str(each))]
        options = [] if build else self._nothing_is_built()
        limit_s = BUILD_LIMIT_S if build else None
        locked, refused = self._resolved([*options, "--no-deps", pins], (), limit_s)
        more, refused_too = self._resolved([*options, *limits, given, *files], written, limit_s)
        found = {each["name"]: each for each in (*more, *locked, *written.values())}
        return list(found.values()), refused_too | refused

    def _nothing_is_built(self) -> list[str]:
        """Options without builds: uv finds no backend to build an editable folder with."""
        bare = make_empty(self.interpreter, self.folder / "bare")
        return ["--no-build", "--no-build-isolation", "--python", str(bare)]

    def _resolved(
        self, arguments: Sequence[str], written: Iterable[str], limit_s: float | None
    ) -> "tuple[list[Entry], dict[str, CompletedProcess[str]]]":
        """The entries and refusals for some files, without packages `written` in a lock file."""
        left_out: dict[str, CompletedProcess[str]] = {}
        while True:
            excluded = self._file("excluded.txt", [*written, *left_out])
            answer = self._compile(["--excludes", excluded, *arguments], limit_s=limit_s)
            if answer.returncode == 0:
                break
            failure = build_failure(answer.stderr)
            name = uv_tool.without_wheel(answer) or (failure.name if failure else None)
            if "--no-build" in arguments and MUST_BUILD.search(answer.stderr):
                what = failure.name if failure else "a requirement"
                raise UsageError(
                    f"{what} is a folder or an archive whose requirements are only known once it "
                    "is built. Name its pyproject.toml with -r instead, or build it with --build."
                )
            if name is None or name in left_out:
                raise _refusal(answer)
            left_out[name] = answer
        environment = marker_variables(self.interpreter.version)
        entries = [
            entry
            for entry in tomllib.loads(answer.stdout).get("packages", ())
            if "marker" not in entry or Marker(entry["marker"]).evaluate(environment)
        ]
        return entries, left_out

    def _file(self, name: str, lines: Iterable[str]) -> str:
        """Write a file of requirements; return its path."""
        file = self.folder / name
        file.write_text("\n".join(lines), encoding="utf-8")
        return str(file)

    def judged(self, entry: Entry) -> Package:
        """A package with what this build can install of it."""
        free, gil = _tags(self.interpreter)
        wheels = set(_wheel_tags(entry))
        with_gil = {tag for tag in wheels & gil if tag.platform != ANY}
        package = Package(
            name=entry["name"],
            version=entry.get("version", ""),
            has="pure",
            compiled_with_gil=bool(with_gil),
            only_abi3=bool(with_gil) and all(tag.abi == "abi3" for tag in with_gil),
        )
        if "directory" in entry:
            return msgspec.structs.replace(package, has="own")
        if any(tag.platform != ANY for tag in wheels & free):
            return msgspec.structs.replace(package, has="wheel", only_abi3=False)
        return package if wheels & free else self._without_wheel(package, entry)

    def unusable(self, left_out: "tuple[str, CompletedProcess[str]]") -> Package:
        """A package without a wheel for any platform, or that cannot be built."""
        name, answer = left_out
        if failure := build_failure(answer.stderr):
            log = keep_log(failure, self.interpreter.build, answer.stderr)
            return Package(
                name=name,
                version=failure.version,
                has="source",
                reason=f"{failure.reason} (log: {log})",
            )
        # `Because docopt==0.6 has no usable wheels`: how it is pinned.
        pinned = re.search(rf"{re.escape(name)}([=~!<>]=?\S+) has no usable", answer.stderr)
        found = self._alone(name, pinned[1] if pinned else "")
        version = found.get("version", "") if found else ""
        return self._without_wheel(Package(name=name, version=version, has="source"), found or {})

    def _without_wheel(self, package: Package, entry: Entry) -> Package:
        """The package with the alternatives to a wheel: a source, a later version, nothing."""
        is_asked = not (package.name in self.from_elsewhere or DIRECT & entry.keys())
        pinned = f"=={package.version}" if package.version else ""
        source = entry
        if is_asked and "sdist" not in entry:
            source = self._alone(package.name, pinned) or entry
        later = self._first_with_wheel(package) if is_asked and package.version else ""
        has_source = bool({"sdist", *DIRECT} & source.keys())
        return msgspec.structs.replace(
            package,
            has="source" if has_source else "nothing",
            reason=""
            if has_source
            else f"neither a wheel for {self.interpreter.build} nor a source",
            first_with_wheel=later,
        )

    def _alone(self, name: str, specifier: str) -> Entry | None:
        """The entry of one package, a source included.

        Nothing is built, since uv is told that the package has no requirements.
        """
        if name in self.from_elsewhere:
            return None
        folder = self.folder / name
        folder.mkdir(exist_ok=True)
        known = {"dependency-metadata": [{"name": name, "requires-dist": []}]}
        (folder / "uv.toml").write_text(tomli_w.dumps(known), encoding="utf-8")
        asked = self._file(f"{name}/one.txt", [*self.indexes, f"{name}{specifier}"])
        return self._one(self._compile(["--directory", str(folder), "--no-deps", asked]))

    def _first_with_wheel(self, package: Package) -> str:
        """The first version after it with a wheel for this very interpreter; empty if none has."""
        (self.folder / package.name).mkdir(exist_ok=True)
        asked = [*self.indexes, f"{package.name}>{package.version}"]
        later = self._file(f"{package.name}/later.txt", asked)
        options = ["--no-deps", "--no-build", "--resolution", "lowest", later]
        entry = self._one(self._compile(options, universal=False))
        return str(entry["version"]) if entry else ""

    def _one(self, answer: "CompletedProcess[str]") -> Entry | None:
        if answer.returncode:
            return None
        entries: list[Entry] = tomllib.loads(answer.stdout).get("packages", [])
        return entries[0] if entries else None

    def _compile(
        self, arguments: Sequence[str], *, universal: bool = True, limit_s: float | None = None
    ) -> "CompletedProcess[str]":
        base = ["pip", "compile", "--quiet", "--no-header", "--format", "pylock.toml"]
        if "--python" not in arguments:
            base += ["--python", str(self.interpreter.executable)]
        if universal:
            minor = parse_build(self.interpreter.build).version
            base += ["--universal", "--python-version", minor]
        variables = variables_for(self.indexes)
        return uv_tool.run([*base, *arguments], limit_s=limit_s, **variables)


def _names_with_sources(file: Path) -> Iterator[str]:
    """The packages for which a project names a source in uv's table."""
    if file.name == "pyproject.toml":
        with suppress(ValueError, TypeError, AttributeError):  # uv says what is wrong with it
            tables = tomllib.loads(file.read_text(encoding="utf-8")).get("tool", {})
            yield from map(canonicalize_name, tables.get("uv", {}).get("sources", ()))


def _requirement(text: str) -> str:
    """A requirement as uv reads it from a file; a path becomes absolute."""
    if text and (path := Path(text)).exists():
        return str(path.absolute())
    try:
        return str(Requirement(text))
    except InvalidRequirement as error:
        raise UsageError(
            f"{text}: not a requirement ({str(error).partition(chr(10))[0]})"
        ) from None


def _there(file: Path) -> Path:
    if not file.is_file():
        raise UsageError(f"{file}: there is no such file")
    return file


def _wheel_tags(entry: Entry) -> Iterator[tags.Tag]:
    """The tags of all wheels of a package, for whatever platform."""
    for wheel in [*entry.get("wheels", ()), *([entry["archive"]] if "archive" in entry else ())]:
        name = wheel.get("name") or unquote(wheel.get("url") or wheel.get("path", ""))
        try:
            yield from parse_wheel_filename(name.rpartition("/")[2])[3]
        except InvalidWheelFilename:
            continue  # an archive with the source


def _tags(interpreter: Interpreter) -> tuple[set[tags.Tag], set[tags.Tag]]:
    """The tags of wheels for a free-threaded build here, and for its build with the GIL."""
    build = parse_build(interpreter.build)
    version, name = (3, build.minor), f"cp3{build.minor}"
    pure = set(tags.compatible_tags(version, name))
    free, gil = (set(tags.cpython_tags(version, [abi])) for abi in (f"{name}t", name))
    return free | pure, gil | pure


def _refusal(answer: "CompletedProcess[str]") -> ScalingError:
    if any(each in answer.stderr for each in UNREACHABLE):
        return ScalingError(
            "the package index cannot be reached. Check the network, or the index that pip or uv "
            "is set to, and run the same command again."
        )
    return UsageError(f"the requirements cannot be resolved: {uv_tool.reason(answer)}")
