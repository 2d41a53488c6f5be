"""Networks: the named architectures, and stacks of members of one architecture that run in one pass."""

from versionspace.nets.architectures import NETS, Factory, Shape
from versionspace.nets.dropout import Dropout, active_dropouts, draw_mask
from versionspace.nets.fast_input_grad import with_fast_input_grad
from versionspace.nets.head import FEATURE_NETS
from versionspace.nets.module_checks import reject_batches_of_one
from versionspace.nets.stacks import (
    Masks,
    Network,
    Runner,
    Stack,
    count_members,
    find_factory,
    first_names,
    join_members,
    load_member,
    network,
    one_member,
    seeded,
    select_members,
    stack,
    to_contiguous,
)

__all__ = [
    "FEATURE_NETS",
    "NETS",
    "Dropout",
    "Factory",
    "Masks",
    "Network",
    "Runner",
    "Shape",
    "Stack",
    "active_dropouts",
    "count_members",
    "draw_mask",
    "find_factory",
    "first_names",
    "join_members",
    "load_member",
    "network",
    "one_member",
    "reject_batches_of_one",
    "seeded",
    "select_members",
    "stack",
    "to_contiguous",
    "with_fast_input_grad",
]
