"""The interpreters on this machine as a table."""

from collections.abc import Sequence

from rich.table import Table

from scaling.interpreters import Interpreter


def interpreters_table(found: Sequence[Interpreter]) -> Table:
    """One row an interpreter; the caption says how to get more where there is none."""
    table = Table(box=None, header_style="bold", pad_edge=False)
    for heading in ("build", "version", "GIL", "from", "compiled", "configured with"):
        table.add_column(heading, overflow="fold")
    table.add_column("where", overflow="fold", style="dim")
    for one in found:
        flags = " ".join(one.config_args) or "–"
        gil = "off" if one.free_threaded else "on"
        table.add_row(
            one.build, one.version, gil, one.origin, one.flags, flags, str(one.executable)
        )
    if not found:
        table.caption = "none yet: `nox -s interpreters` gets 3.14 and 3.14t"
    return table
