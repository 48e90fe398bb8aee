"""`scaling interpreters` and `scaling doctor`: what there is on this machine."""

from scaling.base.console import new_console
from scaling.cli.app import app


@app.command()
def interpreters() -> None:
    """List the interpreters that are there: version, GIL or not, where from, how built."""
    from scaling.builds.interpreters import survey
    from scaling.report.tables.interpreters import interpreters_table

    new_console().print(interpreters_table(survey()))


@app.command()
def doctor() -> None:
    """Look at this machine and say what will disturb the figures, and what to do about it."""
    from scaling.machine.doctor import examine, worst
    from scaling.machine.doctor_view import report
    from scaling.machine.snapshot import look

    found = examine(look())
    new_console().print(report(found))
    if worst(found) == "stop":
        raise SystemExit(1)
