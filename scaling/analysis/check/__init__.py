"""Check of an application on several loops and in several processes: answers compared."""
