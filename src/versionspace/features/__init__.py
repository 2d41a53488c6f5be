"""Features of images from frozen pretrained networks, computed once and kept."""
