"""Programs from PyPI that nobody here wrote, each unchanged at the version in its requirements.

A folder has `requirements.txt`, `requests.jsonl` and, where the program has to be told something,
`main.py`: what an administrator would write. `scaling/study/reference.toml` lists them; `scaling
reference --only outside` measures them.
"""
