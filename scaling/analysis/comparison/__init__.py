"""Arms, models and loops compared, by ratios paired inside blocks."""
