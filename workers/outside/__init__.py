"""Servers as people deploy them: commands that are started, watched and ended from outside.

The process that does it (`hosting`) is the child of a run as any other and leaves the same record.
It measures nothing inside the command. Operations are the answers that the load generator counted,
CPU time is the kernel's for the command's processes. Only a start-up hook (`hook`) runs in these,
which notes the state of the GIL and the classes of event loops.
"""
