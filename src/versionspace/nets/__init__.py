"""Networks: the paper's architectures, and a stack of members of one architecture run in one pass."""

from versionspace.nets.architectures import NETS, Factory, Shape, conv2, conv3, conv6, resnet18, small
from versionspace.nets.stacks import Network, Stack, network

__all__ = ["NETS", "Factory", "Network", "Shape", "Stack", "conv2", "conv3", "conv6", "network", "resnet18", "small"]
