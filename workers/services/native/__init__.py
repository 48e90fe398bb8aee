"""What services that are programs of their own (not Python) have in common.

A small process in Python starts the program, reports that it answers, and ends it. It is below the
program's driver, and the program is below it: each ends when the one above it does.
"""
