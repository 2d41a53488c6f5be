"""Readers for the file formats in which the datasets are published."""
