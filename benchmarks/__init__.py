"""Speed claims as ratios, each measured in one run: ``make bench``."""
