"""What is really in use, read back: GIL, allocator, switches, what can run here."""
