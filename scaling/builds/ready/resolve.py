"""What is required, directly or not, and what there is of it to install: uv's resolution, judged.

uv resolves for every platform at once, from wheels alone, so that a package whose wheels are all
for other builds keeps the version that a build with the GIL would get, and nothing is built. A
package without any wheel is left out and asked for alone; what it requires in turn is then unknown.
"""

import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from subprocess import CompletedProcess
from tempfile import TemporaryDirectory
from typing import Any
from urllib.parse import unquote

import msgspec
import tomli_w
from packaging import tags
from packaging.markers import Marker
from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import InvalidWheelFilename, canonicalize_name, parse_wheel_filename

from scaling.base.errors import ScalingError, UsageError
from scaling.builds import uv_tool
from scaling.builds.cpython import Interpreter, parse_build
from scaling.builds.environments import make_empty, marker_variables
from scaling.builds.ready.package import Package

type Entry = Mapping[str, Any]
"""A package in uv's lock file (PEP 751)."""

BUILD_LIMIT_S = 600.0  # for each source that is built, and for all that must be to resolve
NO_SOLUTION = "No solution found when resolving dependencies cause: "
CONCLUSION = ", we can conclude"
ANY = "any"  # the platform of a wheel in pure Python
UNREACHABLE = ("error sending request", "Failed to fetch", "dns error", "Network connectivity")
MUST_BUILD = re.compile(
    r"Building source distributions (for \S+ )?is disabled|The build backend returned an error"
)


@dataclass(frozen=True, kw_only=True)
class Required:
    """Requirements as for pip, files of them or of a lock, and files of constraints."""

    names: Sequence[str] = ()
    files: Sequence[Path] = ()
    constraints: Sequence[Path] = ()


def resolve(
    required: Required, interpreter: Interpreter, *, build: bool = False
) -> tuple[list[Package], dict[str, Entry]]:
    """Every package that is required, and of those that can be installed uv's entry, by name.

    With `build`, uv may build a source to know what it requires, and sources have entries, too.

    Raises:
        UsageError: a requirement or a file cannot be read, or nothing satisfies it.
        ScalingError: the package index cannot be reached.
    """
    with TemporaryDirectory(prefix="scaling-ready-") as temporary:
        asking = _Asking(interpreter, Path(temporary))
        entries, unusable = asking.everything(required, build=build)
        with ThreadPoolExecutor() as pool:
            packages = list(pool.map(asking.judged, entries))
            packages += pool.map(asking.unusable, unusable.items())
    had = {each["name"]: each for each in entries}
    return sorted(packages, key=lambda each: each.name), {
        each.name: had[each.name]
        for each in packages
        if each.has in ("wheel", "pure") or (each.has in ("source", "own") and each.name in had)
    }


def lock_file(entries: Iterable[Entry]) -> str:
    """The text of a lock file with these packages, which uv installs."""
    kept = [{key: value for key, value in each.items() if key != "marker"} for each in entries]
    return tomli_w.dumps({"lock-version": "1.0", "created-by": "scaling", "packages": kept})


@dataclass(frozen=True)
class _Asking:
    """uv, asked for one interpreter; files are written to `folder`."""

    interpreter: Interpreter
    folder: Path

    def everything(
        self, required: Required, *, build: bool
    ) -> "tuple[list[Entry], dict[str, CompletedProcess[str]]]":
        """The entries for this interpreter; and by name uv's refusal of what has none."""
        given = self.folder / "given.txt"
        given.write_text("\n".join(map(_requirement, required.names)), encoding="utf-8")
        files = [str(given), *(str(self._readable(each)) for each in required.files)]
        options = [word for each in required.constraints for word in ("-c", str(_there(each)))]
        if not build:
            # uv builds an editable folder even so, if it finds its backend: not in here.
            bare = make_empty(self.interpreter, self.folder / "bare")
            options += ["--no-build", "--no-build-isolation", "--python", str(bare)]
        left_out: dict[str, CompletedProcess[str]] = {}
        while True:
            excluded = self.folder / "excluded.txt"
            excluded.write_text("\n".join(left_out), encoding="utf-8")
            excludes = ["--excludes", str(excluded)]
            limit_s = BUILD_LIMIT_S if build else None
            answer = self._compile([*options, *excludes, *files], limit_s=limit_s)
            if answer.returncode == 0:
                break
            name = uv_tool.without_wheel(answer) or _not_built(answer)
            if not build and MUST_BUILD.search(answer.stderr):
                raise UsageError(
                    "a requirement is a folder or an archive that only says what it requires when "
                    "built. Name its pyproject.toml with -r instead, or build it with --build."
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

    def judged(self, entry: Entry) -> Package:
        """What there is to install of a package."""
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
        return package if wheels & free else self._without_wheel(package)

    def unusable(self, left_out: "tuple[str, CompletedProcess[str]]") -> Package:
        """A package that no platform has a wheel of, or that cannot be built."""
        name, answer = left_out
        if _not_built(answer):
            return Package(name=name, has="source", reason=build_error(answer.stderr))
        # `Because docopt==0.6 has no usable wheels`: how it is pinned.
        pinned = re.search(rf"{re.escape(name)}([=~!<>]=?\S+) has no usable", answer.stderr)
        found = self._alone(name, pinned[1] if pinned else "")
        version = found.get("version", "") if found else ""
        return self._without_wheel(Package(name=name, version=version, has="source"), found)

    def _without_wheel(self, package: Package, found: Entry | None = None) -> Package:
        """The same with what there is instead of a wheel: a source, a later version, nothing."""
        pinned = f"=={package.version}" if package.version else ""
        source = found or self._alone(package.name, pinned)
        later = self._first_with_wheel(package) if package.version else ""
        has_source = bool(source and ({"sdist", "vcs", "archive"} & source.keys()))
        return msgspec.structs.replace(
            package,
            has="source" if has_source else "nothing",
            reason=""
            if has_source
            else f"neither a wheel for {self.interpreter.build} nor a source",
            first_with_wheel=later,
        )

    def _alone(self, name: str, specifier: str) -> Entry | None:
        """The entry of one package, a source included; nothing is built: what it requires is said
        to be nothing.
        """
        folder = self.folder / name
        folder.mkdir(exist_ok=True)
        known = {"dependency-metadata": [{"name": name, "requires-dist": []}]}
        (folder / "uv.toml").write_text(tomli_w.dumps(known), encoding="utf-8")
        (folder / "one.txt").write_text(f"{name}{specifier}", encoding="utf-8")
        return self._one(self._compile(["--directory", str(folder), "--no-deps", "one.txt"]))

    def _first_with_wheel(self, package: Package) -> str:
        """The first version after it with a wheel for this very interpreter; empty if none has."""
        folder = self.folder / package.name
        folder.mkdir(exist_ok=True)
        later = folder / "later.txt"
        later.write_text(f"{package.name}>{package.version}", encoding="utf-8")
        options = ["--no-deps", "--no-build", "--resolution", "lowest", str(later)]
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
        return uv_tool.run([*base, *arguments], limit_s=limit_s)

    def _readable(self, file: Path) -> Path:
        """A file that uv resolves: the pins of a lock file, any other file as it is."""
        _there(file)
        pins = self.folder / f"{file.name}.txt"
        if file.name == "uv.lock":
            options = ["--frozen", "--no-dev", "--no-emit-project", "--no-hashes", "--quiet"]
            where = ["--project", str(file.absolute().parent), "-o", str(pins)]
            answer = uv_tool.run(["export", *options, *where])
            if answer.returncode:
                words = uv_tool.reason(answer).removeprefix("error: ")
                raise UsageError(f"{file}: cannot be read: {words}")
            return pins
        if file.name.endswith(".lock"):
            raise UsageError(
                f"{file}: a lock file of another tool: export it as requirements.txt or pylock.toml"
            )
        if not re.fullmatch(r"pylock(\.[^.]+)?\.toml", file.name):
            return file
        try:
            locked = tomllib.loads(file.read_text(encoding="utf-8"))["packages"]
            pins.write_text("\n".join(map(_pin, locked)), encoding="utf-8")
        except (ValueError, KeyError, TypeError) as error:
            raise UsageError(f"{file}: not a lock file ({error})") from None
        return pins


def _requirement(text: str) -> str:
    """A requirement as uv reads it from a file: a path is one from where the user stands."""
    if text and (path := Path(text)).exists():
        return str(path.absolute())
    try:
        return str(Requirement(text))
    except InvalidRequirement as error:
        raise UsageError(
            f"{text}: not a requirement ({str(error).partition(chr(10))[0]})"
        ) from None


def _pin(entry: Entry) -> str:
    version = f"=={entry['version']}" if "version" in entry else ""
    marker = f" ; {entry['marker']}" if "marker" in entry else ""
    return f"{entry['name']}{version}{marker}"


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
    """What can be installed on this machine with a free-threaded build, and with its twin."""
    build = parse_build(interpreter.build)
    version, name = (3, build.minor), f"cp3{build.minor}"
    pure = set(tags.compatible_tags(version, name))
    free, gil = (set(tags.cpython_tags(version, [abi])) for abi in (f"{name}t", name))
    return free | pure, gil | pure


def _not_built(answer: "CompletedProcess[str]") -> str | None:
    """The package that uv tried to build in vain."""
    found = re.search(r"Failed to (?:download and )?build `([\w.-]+)", answer.stderr)
    return canonicalize_name(found[1]) if found else None


def build_error(stderr: str) -> str:
    """The last line of what a build printed, as uv passes it on."""
    lines = [line.strip() for line in stderr.partition("hint:")[0].splitlines() if line.strip()]
    return lines[-1][:200] if lines else "the build failed"


def _refusal(answer: "CompletedProcess[str]") -> ScalingError:
    if any(each in answer.stderr for each in UNREACHABLE):
        return ScalingError(
            "the package index cannot be reached. Check the network, or the index that pip or uv "
            "is set to, and run the same command again."
        )
    words = uv_tool.reason(answer).removeprefix("error: ").removeprefix(NO_SOLUTION)
    return UsageError(f"the requirements cannot be resolved: {words.partition(CONCLUSION)[0]}")
