"""`scaling ready`: the readiness of requirements as a table, lines and JSON."""

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from scaling.builds.ready.package import OTHERWISE, REPLACEMENTS, Package, Readiness
from scaling.report.render.grid import Grid, Heading, Text

SAYS_ITSELF = ("pure", "source", "nothing")  # their reason or note says what they have
WORDS = {
    "wheel": "wheel",
    "pure": "pure Python",
    "built": "built here",
    "own": "your own code",
    "source": "source",
    "nothing": "nothing",
}


def ready_grid(found: Sequence[Readiness]) -> Grid:
    """The answer for the first build, and all packages on every build, blocking ones first."""
    rows: list[list[Text]] = []
    beside = [{each.name: each for each in other.packages} for other in found[1:]]
    for each in sorted(found[0].packages, key=lambda each: (not each.blocks, not each.note)):
        others = [_words(other[each.name]) if each.name in other else "" for other in beside]
        texts = [f"{each.name} {each.version}".rstrip(), _words(each), *others, todo(each)]
        rows.append([Text(text) for text in texts])
    names = ["package", *(each.build for each in found), "what to do"]
    notes = [f"{each.name}: {source}" for each in found[0].packages if (source := source_of(each))]
    notes += [each.sentence for each in found[1:]]
    headings = [Heading(name, left=True, wrap=True) for name in names]
    return Grid(found[0].sentence, headings, rows, notes)


def blocking_lines(found: Readiness) -> Iterator[str]:
    """A line for each package that blocks or is known to race, with its remedy."""
    for each in found.packages:
        if each.blocks or each.race:
            yield f"  {each.name} {each.version}: {each.blocks or each.note}"
            yield f"    {todo(each)}"
            if source := source_of(each):
                yield f"    {source}"


def source_of(package: Package) -> str:
    """The source of the advice about a package; empty without advice."""
    if package.blocks:
        known = REPLACEMENTS.get(package.name)
        return known.source if known else ""
    return package.race.source if package.race else ""


def ready_json(found: Sequence[Readiness]) -> str:
    """The readiness on each build as one JSON object."""
    builds = [
        {
            "build": each.build,
            "version": each.version,
            "ready": not each.blocking,
            "packages": [_package(package) for package in each.packages],
        }
        for each in found
    ]
    return msgspec.json.encode({"ready": not found[0].blocking, "builds": builds}).decode()


def todo(package: Package) -> str:
    """The remedy for a package that blocks or is known to race; empty for others."""
    if not package.blocks:
        return package.race.to_do if package.race else ""
    parts = [f"needed by {', '.join(package.needed_by)}"] if package.needed_by else []
    if package.first_with_wheel:
        parts.append(f"{package.first_with_wheel} is the first version with a wheel")
    if known := REPLACEMENTS.get(package.name):
        parts.append(known.instead)
    elif package.has == "source" and not (package.reason or package.first_with_wheel):
        parts.append("--build tries to build it")
    elif not package.first_with_wheel:
        parts.append(OTHERWISE)
    return "; ".join(parts)


def _words(package: Package) -> str:
    said = package.blocks or package.note
    if said and package.has in SAYS_ITSELF:
        return said
    return f"{WORDS[package.has]}: {said}" if said else WORDS[package.has]


def _package(package: Package) -> dict[str, Any]:
    built: dict[str, Any] = msgspec.to_builtins(package)
    more = {
        "blocks": package.blocks,
        "note": package.note,
        "to_do": todo(package),
        "source": source_of(package),
    }
    return built | {name: text for name, text in more.items() if text}
