"""Runtimes other than Python that run the same program: Go, Node and Bun, for `spawn` and `echo`.

A runtime is an arm of the study like any build. Its program (a folder in `programs/`, in which each
workload is a file) reads a cell and prints a record as `python -m workers` does, so its runs are in
the same blocks and journal, are repeated as often and get the same intervals. Runtimes that are not
on PATH are listed in the plan and left out. Factor, of which factor-2025 also has figures, is in
none of the package registries.
"""
