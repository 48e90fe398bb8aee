"""`scaling interpreters`: the interpreters on this machine as a table."""

from collections.abc import Sequence

from rich.table import Table
from rich.text import Text

from scaling.builds.cpython import Interpreter


def interpreters_table(found: Sequence[Interpreter]) -> Table:
    """A row for each interpreter; without any, the caption says how to get one."""
    table = Table(box=None, header_style="bold", pad_edge=False)
    for heading in ("build", "version", "GIL", "from", "compiled"):
        table.add_column(heading, no_wrap=True)
    table.add_column("configured with · where", overflow="fold", ratio=1)
    for one in found:
        gil = "off" if one.free_threaded else "on"
        lines = [Text(" ".join(one.config_args)), Text(str(one.executable), style="dim")]
        configured = Text("\n").join(each for each in lines if each)
        table.add_row(one.build, one.version, gil, one.origin, one.flags, configured)
    if not found:
        table.caption = "none yet: `nox -s scale-3.14t` or `scaling run` gets what it needs"
    return table
