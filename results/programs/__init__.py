"""Programs from PyPI that nobody here wrote, each unchanged at the version in its requirements.

A folder has `requirements.txt`, `requests.jsonl` and, where the program has to be told something,
`main.py`: what an administrator would write. `results/reference.toml` has the commands that measure
them (`nox -s reference -- --only 'outside-*'`).
"""
