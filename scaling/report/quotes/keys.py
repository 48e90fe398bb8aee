"""Keys of figures: short names for their sources, so that a text stays readable as it is written.

    Two threads do 1.94 (1.92–1.97)<!-- uvloop-gain --> times the round trips of one.

`figures.toml`, in the folder of results that the text quotes, has the source of each key:

    uvloop-gain = "my-machine/pgo: speedup workload=echo loop=uvloop arm=3.14t workers=2"

`faster<!-- uvloop-gain.verdict -->` is the verdict on that figure, and `faster, by 92 to
97 %<!-- uvloop-gain.words -->` the same in words.
"""

import re
from collections.abc import Mapping
from pathlib import Path

from scaling.base.errors import UsageError
from scaling.base.files import text_in
from scaling.base.suggest import unknown
from scaling.base.toml_file import document
from scaling.report.quotes.form import VERDICT, WORDS

FILE_NAME = "figures.toml"
OF_IT = {f".{form}": form for form in (VERDICT, WORDS)}  # after a key: the verdict on its figure
WRITTEN = re.compile(r"\s(?:as|in)=\S+")


def keys_in(folder: Path) -> dict[str, str]:
    """The source of each key; none where the folder has no such file.

    Raises:
        UsageError: the file cannot be read, or a value is no text.
    """
    path = folder / FILE_NAME
    if not path.exists():
        return {}
    table = document(text_in(path), str(path))
    for key, source in table.items():
        if not isinstance(source, str):
            raise UsageError(f"{path}: {key}: expected a source as text, got {source!r}")
    return table


def source_of(comment: str, keys: Mapping[str, str]) -> str:
    """The source that a comment names: by its key, by the key of its figure, or in full.

    Raises:
        UsageError: no such key.
    """
    if ":" in comment:
        return comment
    if comment in keys:
        return keys[comment]
    end = next((each for each in OF_IT if comment.endswith(each)), "")
    key = comment.removesuffix(end)
    if key not in keys:
        raise unknown("key", key, keys, where=FILE_NAME)
    return f"{WRITTEN.sub('', keys[key])} as={OF_IT[end]}"
