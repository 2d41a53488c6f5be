"""The parts of a section: each answers one question about a group of runs, and says so where it cannot."""
