"""What the figures mean: estimates with their intervals, and the curves they make."""
