"""The state that is really in use, read back from the interpreter: GIL, allocator, switches."""
