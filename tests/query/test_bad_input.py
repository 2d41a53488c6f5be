"""Invalid queries raise errors that say what was expected, what arrived and how to fix it."""

import re

import numpy as np
import pytest

import versionspace as vs
from committees import arguments, probabilities
from versionspace.query import inputs
from versionspace.query.methods import TABLE

POOL = probabilities(5, 12, 4)
REFERENCE = probabilities(5, 9, 4, seed=1)
FEATURES = np.random.default_rng(0).normal(size=(12, 3))
BAD_FEATURES = np.where(np.arange(36).reshape(12, 3) == 7, np.nan, FEATURES)

CASES = {
    "unknown method": (("gvb", 1), {"pool": POOL}, "method: .*got 'gvb'. Did you mean 'gvd'?"),
    "unknown method, underscore and capitals": (("M2_PWD", 1), {"pool": POOL}, "Did you mean 'm2-pwd'?"),
    "unknown method, none similar": (("zzzzzz", 1), {"pool": POOL}, "See versionspace.METHODS"),
    "k of 0": (("ge", 0), {"pool": POOL}, "k: expected an integer from 1 to 12,.* got 0"),
    "k too large": (("ge", 13), {"pool": POOL}, "k: .* got 13. Ask for fewer"),
    "k too large, set method": (("coreset", 13), {"features": FEATURES}, "k: .* got 13"),
    "k not an integer": (("ge", 2.5), {"pool": POOL}, "k: .* got 2.5"),
    "k a boolean": (("ge", True), {"pool": POOL}, "k: .* got True"),
    "no pool": (("ge", 1), {}, "pool: expected a value, since 'ge' needs pool"),
    "no pool for random": (("random", 1), {}, "pool: expected a value"),
    "no reference": (("gvd", 1), {"pool": POOL}, "reference: expected a value, since 'gvd' needs"),
    "no features": (("badge", 1), {"pool": POOL[:1]}, "features: expected a value"),
    "no perturbations": (("dfal", 1), {}, "perturbations: expected a value"),
    "superfluous reference": (("ge", 1), {"pool": POOL, "reference": REFERENCE}, "reference: expected nothing.*ignor"),
    "superfluous pool": (("coreset", 1), {"pool": POOL, "features": FEATURES}, "pool: expected nothing"),
    "superfluous labelled": (
        ("badge", 1), {"pool": POOL[:1], "features": FEATURES, "labelled_features": FEATURES}, "labelled_features: ",
    ),
    "superfluous vote": (("ge", 1), {"pool": POOL, "vote": "hard"}, "vote: expected nothing, since 'ge' uses no"),
    "wrong vote": (("gvd", 1), {"pool": POOL, "reference": REFERENCE, "vote": "x"}, "vote: expected 'soft' or 'hard'"),
    "members differ": (("gvd", 1), {"pool": POOL, "reference": REFERENCE[:4]}, "reference: expected 5 members.*got 4"),
    "classes differ": (
        ("gvd", 1), {"pool": POOL, "reference": probabilities(5, 9, 3)}, "reference: expected 4 classes.*got 3",
    ),
    "one member for a diameter": (("pwd", 1), {"pool": POOL[:1], "reference": REFERENCE[:1]}, "at least 2 members"),
    "one member for gibbs error": (("ge", 1), {"pool": POOL[:1]}, "pool: expected at least 2 members.*margin"),
    "several members for badge": (("badge", 1), {"pool": POOL, "features": FEATURES}, "one member, shape"),
    "votes where probabilities are needed": (("bald", 1), {"pool": POOL.argmax(-1)}, "pool: expected probabilities"),
    "votes too high for classes": (
        ("ge", 1), {"pool": POOL.argmax(-1), "classes": 3}, "pool: expected votes from 0 to 2, got 3",
    ),
    "votes too high for the reference": (
        ("gvd", 1), {"pool": np.full((5, 2), 7), "reference": REFERENCE}, "pool: expected votes from 0 to 3, got 7",
    ),
    "classes differ from the probabilities": (("ge", 1), {"pool": POOL, "classes": 9}, "classes: expected 4"),
    "classes of 0": (("ge", 1), {"pool": POOL.argmax(-1), "classes": 0}, "classes: expected an integer of at least 1"),
    "empty pool": (("ge", 1), {"pool": POOL[:, :0]}, "pool: expected at least one member, one image"),
    "empty reference": (("gvd", 1), {"pool": POOL, "reference": REFERENCE[:, :0]}, "reference: expected at least"),
    "empty features": (("coreset", 1), {"features": FEATURES[:0]}, "features: expected at least one image"),
    "empty perturbations": (("dfal", 1), {"perturbations": []}, "perturbations: expected one number"),
    "NaN in the reference": (("gvd", 1), {"pool": POOL, "reference": REFERENCE * np.nan}, r"reference\[0, 0\]: "),
    "NaN in features": (("coreset", 1), {"features": BAD_FEATURES}, r"features\[2\]: expected finite"),
    "NaN in perturbations": (("dfal", 1), {"perturbations": [1.0, np.nan]}, r"perturbations\[1\]: expected finite"),
    "negative perturbations": (("dfal", 1), {"perturbations": [1.0, -1.0]}, r"perturbations\[1\]: .*got -1.0"),
    "features with an axis too many": (("coreset", 1), {"features": FEATURES[None]}, "features: expected numbers"),
    "labelled features of another width": (
        ("coreset", 1), {"features": FEATURES, "labelled_features": FEATURES[:, :2]}, "expected 3 features",
    ),
    "features of other images": (
        ("badge", 1), {"pool": POOL[:1], "features": FEATURES[:5]}, "features: expected 12 images, as pool has, got 5",
    ),
    "ids of other images": (("ge", 1), {"pool": POOL, "ids": [1, 2]}, "ids: expected 12 images"),
    "duplicate ids": (("ge", 1), {"pool": POOL, "ids": [*range(11), 3]}, "ids: expected ids that are all different.*3"),
    "ids of two kinds": (("ge", 1), {"pool": POOL, "ids": [None, *"abcdefghijk"]}, "ids: .* got NoneType and str"),
    "integers and text as ids": (("ge", 1), {"pool": POOL, "ids": [7, *"abcdefghijk"]}, "ids: .* got int and str"),
    "a mask as ids": (("ge", 1), {"pool": POOL, "ids": [True] * 12}, "ids: .* got bool.* mask is not a list of ids"),
    "floats as ids": (("ge", 1), {"pool": POOL, "ids": np.arange(12.0)}, "ids: .* got float"),
    "method not a text": ((["ge"], 1), {"pool": POOL}, r"method: .*got \['ge'\]"),
    "votes beyond 32 bits": (
        ("ge", 1), {"pool": [[0], [2**32]], "classes": 2**33}, "pool: expected votes from 0 to 4294967295",
    ),
    "features too large for finite distances": (
        ("coreset", 1), {"features": FEATURES * 1e160}, "features: expected features of at most .* distances",
    ),
    "float32 features too large": (
        ("badge", 1), {"pool": POOL[:1], "features": (FEATURES * 1e19).astype(np.float32)}, "features of at most",
    ),
    "ids with two axes": (("ge", 1), {"pool": POOL, "ids": [[1]]}, "ids: expected one id for each image"),
    "a negative seed": (("ge", 1), {"pool": POOL, "seed": -1}, "seed: expected an integer of at least 0"),
    "a seed that is not a number": (("ge", 1), {"pool": POOL, "seed": "x"}, "seed: expected an integer"),
}  # fmt: skip


@pytest.mark.parametrize(("positional", "named", "message"), CASES.values(), ids=CASES.keys())
def test_invalid_arguments_raise_an_explained_error(positional, named, message):
    with pytest.raises(vs.InputError) as caught:
        vs.query(*positional, **named)
    assert isinstance(caught.value, ValueError)
    assert isinstance(caught.value, vs.VersionspaceError)
    assert re.match(message if message.startswith(("k:", "pool:")) else ".*" + message, str(caught.value))
    assert "expected" in str(caught.value)
    assert caught.value.fix in str(caught.value)


@pytest.mark.parametrize("name", vs.METHODS)
def test_each_missing_argument_is_named(name):
    given = arguments(TABLE[name])
    for missing in TABLE[name].needs:
        rest = {key: value for key, value in given.items() if key != missing}
        with pytest.raises(vs.InputError, match=f"^{missing}: expected a value"):
            vs.query(name, 1, **rest)


@pytest.mark.parametrize("name", vs.METHODS)
def test_each_superfluous_argument_is_named(name):
    given = arguments(TABLE[name])
    everything = {"pool": POOL, "reference": REFERENCE, "features": FEATURES, "labelled_features": FEATURES,
                  "perturbations": np.ones(12)}  # fmt: skip
    for extra in set(everything) - set(given):
        with pytest.raises(vs.InputError, match=f"^{extra}: expected nothing"):
            vs.query(name, 1, **given, **{extra: everything[extra]})


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_a_feature_that_is_not_finite_is_found_in_any_block(dtype, bad, monkeypatch):
    monkeypatch.setattr(inputs, "_ELEMENTS", 6)
    features = FEATURES.astype(dtype)
    features[7, 1] = bad
    with pytest.raises(vs.InputError, match=r"^features\[7\]: expected finite features"):
        vs.query("maxherding", 1, features=features)


def test_labelled_features_must_have_finite_distances_in_the_precision_of_the_pool():
    with pytest.raises(vs.InputError, match="^labelled_features: expected features of at most"):
        vs.query("coreset", 1, features=FEATURES.astype(np.float32), labelled_features=FEATURES * 1e30)


def test_an_unknown_keyword_is_a_type_error():
    with pytest.raises(TypeError, match="poool"):
        vs.query("ge", 1, poool=POOL)


def test_a_masked_array_is_refused_unless_nothing_is_masked():
    pool = probabilities(3, 5, 4)
    plain = vs.utilities("entropy", pool=pool)
    masked = np.ma.masked_array(pool, np.zeros(pool.shape, bool))
    np.testing.assert_array_equal(vs.utilities("entropy", pool=masked), plain)
    masked[1, 2, 3] = np.ma.masked
    with pytest.raises(
        vs.InputError, match="pool: expected an array without masked elements, got 1 masked elements of 60"
    ):
        vs.utilities("entropy", pool=masked)
    with pytest.raises(vs.InputError, match="features: expected an array without masked"):
        vs.query("maxherding", 1, features=np.ma.masked_equal(np.eye(3), 0))
