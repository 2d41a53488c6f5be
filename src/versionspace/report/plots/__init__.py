"""Figures: what the parts found, drawn by matplotlib. Nothing here computes a statistic."""
