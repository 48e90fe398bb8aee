"""What services that are programs of their own (not Python) have in common.

A small process in Python starts the program, reports that it answers, and ends it. It is a
child of the driver, and the program is its child: each ends when its parent does.
"""
