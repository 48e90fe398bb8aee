"""How to deploy what won: the commands, and a program that serves N loops in threads."""
