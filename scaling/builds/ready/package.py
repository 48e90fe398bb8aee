"""A distribution on a free-threaded build: its wheels, the result of its import, and remedies."""

from pathlib import Path
from typing import Literal

import msgspec

from scaling.base.formats import listed, plural
from scaling.builds.ready.races import Race, race_of

# ------------------------------------------------------------------------------------- replacements


class Replacement(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A replacement of a package that blocks a free-threaded build, and who recommends it.

    On 3.14t the requirements in `tried` leave the GIL off: a test checks them. `modules` are the
    names of its modules, if they differ from the package's name.
    """

    package: str
    instead: str
    source: str
    tried: tuple[str, ...] = ()
    modules: tuple[str, ...] = ()


_KNOWN = msgspec.toml.decode(
    Path(__file__).with_name("replacements.toml").read_bytes(), type=dict[str, list[Replacement]]
)
REPLACEMENTS = {each.package: each for each in _KNOWN["replacement"]}  # by name, as uv writes it
OTHERWISE = "look for a version of that package that supports this build, or leave it out"


def instead_of_module(module: str) -> str:
    """The remedy for a module that turns the GIL on, such as `psycopg2._psycopg`."""
    top = module.partition(".")[0]
    for name, each in REPLACEMENTS.items():
        if top in (each.modules or (name,)):
            return each.instead
    return OTHERWISE


# ------------------------------------------------------------------------------------------ package

NAMED = 3  # modules, the public ones first


class Package(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A distribution that is required, directly or not, or the user's own application.

    `has` is what this build can install: a `wheel` with compiled code, a `pure` wheel, a wheel that
    was `built` here, only a `source`, or `nothing`. `own` is the user's own code, which is not
    installed. `needed_by` are the distributions that require it.
    """

    name: str
    version: str = ""
    has: Literal["wheel", "pure", "built", "source", "nothing", "own"]
    needed_by: tuple[str, ...] = ()
    compiled_with_gil: bool = False
    """Whether the build with the GIL of this version has a wheel with compiled code."""
    only_abi3: bool = False
    """Its compiled wheels are `abi3`, made for builds with the GIL."""
    first_with_wheel: str = ""
    """The first later version with a wheel, if this version has none."""
    reason: str = ""
    """Reason there is nothing to install, or the reason of a failed build."""
    extensions: int = 0
    """The number of extension modules that were imported."""
    gil_on: tuple[str, ...] = ()
    """Its extension modules that turn the GIL on."""
    ends: dict[str, str] = {}
    """Its modules whose import ends the interpreter or takes too long, with what happens."""
    not_loaded: dict[str, str] = {}
    """Its modules that cannot be imported, though the package can, with the error."""
    not_imported: str = ""
    """Reason the package itself cannot be imported."""

    @property
    def blocks(self) -> str:
        """Reason it cannot be used, or turns the GIL on; empty if it can be used."""
        if self.has == "nothing":
            return self.reason or "nothing to install"
        if self.has == "source" and self.reason:
            return f"cannot be built: {self.reason}"
        if self.has == "source" and (self.compiled_with_gil or self.first_with_wheel):
            return "no wheel, only a source" + (": its wheels are abi3" if self.only_abi3 else "")
        if self.ends:
            module, how = next(iter(self.ends.items()))
            return f"importing {module} {how}" + _more(self.ends)
        if self.gil_on:
            named = sorted(self.gil_on, key=lambda name: "._" in f".{name}")[:NAMED]
            more = f" (+{len(self.gil_on) - NAMED})" if len(self.gil_on) > NAMED else ""
            return f"turns the GIL on: {', '.join(named)}{more}"
        if self.not_imported:
            return f"cannot be imported: {self.not_imported}"
        return ""

    @property
    def note(self) -> str:
        """Notes on a package that does not block, known races first."""
        if self.blocks:
            return ""
        return "; ".join(filter(None, [self.race.words if self.race else "", self._use]))

    @property
    def race(self) -> Race | None:
        """The known race of threads that share its objects, if any."""
        return race_of(self.name, self.version)

    @property
    def _use(self) -> str:
        """A note on its use."""
        if self.has == "source":
            return "only a source, on every build"
        if self.has == "pure" and self.compiled_with_gil:
            abi3 = ", which is abi3" if self.only_abi3 else ""
            return f"pure Python, slower than the wheel for the build with the GIL{abi3}"
        if self.not_loaded:
            module, why = next(iter(self.not_loaded.items()))
            return f"works without {module}{_more(self.not_loaded)}: {why}"
        return ""


class Readiness(msgspec.Struct, frozen=True, kw_only=True):
    """All required packages on one build: `3.14t` in `version` 3.14.7."""

    build: str
    version: str
    packages: list[Package]

    @property
    def blocking(self) -> list[Package]:
        """The packages that block."""
        return [each for each in self.packages if each.blocks]

    @property
    def sentence(self) -> str:
        """The answer in one sentence."""
        count = plural(len(self.packages), "distribution")
        if not self.packages:
            return f"Ready for {self.build}: nothing is required."
        if blocking := self.blocking:
            names = listed(each.name for each in blocking)
            verb = "blocks" if len(blocking) == 1 else "block"
            return f"Not ready for {self.build}: of {count} {names} {verb}."
        noted = sum(bool(each.note) for each in self.packages)
        more = f", {noted} with a note" if noted else ""
        races = [each.name for each in self.packages if each.race]
        known = f" Known races: {listed(races)}." if races else ""
        return f"Ready for {self.build}: {count}{more}; the GIL stays off.{known}"


def _more(names: dict[str, str]) -> str:
    return f" (+{len(names) - 1})" if len(names) > 1 else ""
