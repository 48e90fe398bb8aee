"""`scaling study`: the built-in studies, and the schema of study files."""

from scaling.base.console import new_console, say
from scaling.base.errors import UsageError, unknown
from scaling.cli.program import command


@command(40, "study compare")
def study(name: str | None = None, /, *, schema: bool = False) -> None:
    """List the built-in studies, or print the file of one, to start your own from.

    With --schema: save the output, and name it in the first line of a study file,
    #:schema ./study.schema.json, so that your editor completes and checks the file.

    Args:
        name: The built-in study to print.
        schema: Print the JSON Schema of study files, for your editor.
    """
    from scaling.study.file import built_in_studies, built_in_summary, built_in_text, study_schema

    names = built_in_studies()
    if schema and name:
        raise UsageError("study: --schema is the same for every study: leave out the name")
    if schema:
        import json

        print(json.dumps(study_schema(), indent=2, ensure_ascii=False))
    elif name:
        if name not in names:
            raise unknown("built-in study", name, names)
        print(built_in_text(name), end="")
    else:
        width = max(map(len, names))
        for each in names:
            say(new_console(), f"{each:{width}}  {built_in_summary(each)}")
