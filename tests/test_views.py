"""Views read the rows that are asked for, and query methods accept them like arrays."""

import numpy as np
import pytest

import versionspace as vs
from versionspace.data import ImageView
from versionspace.query import TABLE
from versionspace.space import as_array

FEATURES = np.random.default_rng(0).normal(size=(50, 6)).astype(np.float16)


class Watched(np.ndarray):
    """An array that counts how many of its rows are read at once."""

    most = 0

    def __getitem__(self, which):
        rows = super().__getitem__(which)
        Watched.most = max(Watched.most, len(rows))
        return rows


def test_a_view_is_not_converted():
    view = ImageView(FEATURES, np.arange(40))
    assert as_array(view, "features") is view


def test_a_view_reads_the_rows_that_are_selected():
    Watched.most = 0
    view = ImageView(FEATURES.view(Watched), np.arange(49, -1, -1))
    np.testing.assert_array_equal(view[3:5], FEATURES[[46, 45]])
    np.testing.assert_array_equal(view[np.array([0, 49])], FEATURES[[49, 0]])
    assert Watched.most == 2
    assert np.asarray(view, np.float32).dtype == np.float32


@pytest.mark.parametrize(
    "method", [name for name in TABLE if TABLE[name].features and (TABLE[name].pool_optional or not TABLE[name].pool)]
)
def test_methods_choose_the_same_from_a_view(method):
    rows = np.arange(49, 4, -1)
    given = {"labelled_features": FEATURES[:5], "seed": 3}
    expected = vs.query(method, 4, features=FEATURES[rows], **given)
    np.testing.assert_array_equal(vs.query(method, 4, features=ImageView(FEATURES, rows), **given), expected)
