"""Benchmarks: every speed claim as a ratio of two times measured in the same run (``make bench``)."""
