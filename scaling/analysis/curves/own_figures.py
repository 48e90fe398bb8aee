"""The names that workloads give their own figures, read: what is measured, and in what unit.

`settle_max_s` is the largest settle time in s, `overhead_ns_per_op` a time for each operation,
`ok_total` a count (`scaling.analysis.table.own_figures`).
"""

UNITS = {"ns": "ns", "us": "µs", "ms": "ms", "s": "s", "bytes": "B", "kib": "KiB", "mib": "MiB"}
COUNT = "total"
SPELT = {"http": "HTTP", "littles": "Little's", "cpu": "CPU", "gc": "GC", "io": "I/O"}


def unit_of(name: str) -> str:
    """`s` for `settle_max_s`, `ns/op` for `overhead_ns_per_op`; empty for a count."""
    return _read(name)[1]


def readable(name: str) -> str:
    """What is measured, without its unit: `settle max`, `overhead`, `Little's law`, `ok`."""
    return " ".join(SPELT.get(word, word) for word in _read(name)[0] if word != COUNT)


def is_count(name: str) -> bool:
    """Whether it is a sum over all workers, and no time or size."""
    return COUNT in name.split("_") and not unit_of(name)


def _read(name: str) -> tuple[list[str], str]:
    """The words of a name, and the unit that they end in."""
    words = name.split("_")
    if "per" in words[1:-1]:
        place = words.index("per", 1)
        each = " ".join(words[place + 1 :])
        unit = UNITS.get(words[place - 1])
        return (words[: place - 1], f"{unit}/{each}") if unit else (words[:place], f"/{each}")
    if words[-1] in UNITS:
        return words[:-1], UNITS[words[-1]]
    return words, ""
