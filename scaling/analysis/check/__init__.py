"""Whether an application is safe on several loops and in several processes: answers compared."""
