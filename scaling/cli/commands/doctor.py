"""`scaling doctor`: what on this machine disturbs measurements."""

from scaling.base.console import new_console
from scaling.cli.program import command


@command(10, "doctor")
def doctor() -> None:
    """Check this machine for what disturbs measurements, and say what to do about it."""
    from scaling.machine.doctor import examine, report, worst
    from scaling.machine.snapshot import look

    found = examine(look())
    new_console().print(report(found))
    if worst(found) == "stop":
        raise SystemExit(1)
