"""Sub-spaces as bit masks and as sorted lists of members."""

import numpy as np
import pytest

from versionspace.space import masks


@pytest.mark.parametrize("members", [1, 8, 20, 63, 64, 65, 200])
def test_pack_and_unpack_are_inverse(members):
    bits = np.random.default_rng(members).random((30, members)) < 0.4
    packed = masks.pack(bits)
    assert packed.shape == (30, masks.words(members))
    np.testing.assert_array_equal(masks.unpack(packed, members), bits)
    np.testing.assert_array_equal(masks.sizes(packed), bits.sum(axis=1))


def test_sizes_without_numpys_bitwise_count(monkeypatch):
    packed = masks.pack(np.random.default_rng(0).random((30, 100)) < 0.4)
    expected = masks.sizes(packed)
    monkeypatch.delattr(np, "bitwise_count", raising=False)
    np.testing.assert_array_equal(masks.sizes(packed), expected)


@pytest.mark.parametrize("members", [5, 70])
def test_sorted_masks_are_sorted_lists_that_share_prefixes(members):
    packed = masks.unique(masks.pack(np.random.default_rng(1).random((200, members)) < 0.5)).masks
    lists = masks.lists(packed, members)
    rows = [lists.members[lists.starts[k] : lists.starts[k + 1]].tolist() for k in range(len(packed))]
    bits = [tuple(masks.unpack(packed[k : k + 1], members)[0]) for k in range(len(packed))]
    assert bits == sorted(bits)
    for k in range(1, len(rows)):
        prefix = lists.shared[k]
        assert rows[k][:prefix] == rows[k - 1][:prefix]
        assert rows[k][prefix : prefix + 1] != rows[k - 1][prefix : prefix + 1]


def test_unique_returns_the_index_of_each_mask():
    packed = masks.pack(np.random.default_rng(2).random((500, 4)) < 0.5)
    found = masks.unique(packed)
    np.testing.assert_array_equal(found.masks[found.inverse], packed)
    assert len(np.unique(packed)) == len(found.masks)
