"""The program that the commands are registered with.

A command imports what it needs when it is called: `scaling --help` waits for no pandas.
"""

import typer

app = typer.Typer(
    name="scaling",
    help="How does asyncio scale over N event loops, on free-threaded Python and on the GIL?",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)
