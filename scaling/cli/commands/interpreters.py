"""`scaling interpreters`: the builds of Python on this machine."""

from scaling.base.console import new_console
from scaling.cli.program import command


@command(20, "interpreters")
def interpreters() -> None:
    """List the interpreters on this machine: version, GIL, origin, build options."""
    from scaling.builds.interpreters.find import survey
    from scaling.report.interpreters import interpreters_table

    new_console().print(interpreters_table(survey()))
