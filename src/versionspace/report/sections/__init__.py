"""The sections of a chapter. Each answers one question about a group of runs, or says why it cannot."""
