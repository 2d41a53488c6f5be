"""Figures, rendered with matplotlib. Nothing here computes a statistic."""
