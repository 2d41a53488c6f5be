"""Readers of image files in the formats in which the datasets' authors publish them."""
