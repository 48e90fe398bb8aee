"""The servers of served workloads, one file each: what makes the protocol of a connection.

How connections arrive is the same for all of them (`workers.workloads.parts.accepting`).
"""
