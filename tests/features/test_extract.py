"""Any extractor behind the cache: features are computed once, and never mixed up with another's."""

import numpy as np
import pytest
import torch

import versionspace as vs
from features.brightness import Brightness
from versionspace.features import EXTRACTORS, CachedExtractor, FeatureExtractor, available, make_extractor
from versionspace.features.extract import folder_name

IMAGES = np.random.default_rng(0).integers(0, 256, (21, 4, 6, 3), np.uint8)


def test_every_extractor_of_the_table_satisfies_the_protocol():
    assert list(EXTRACTORS) == ["lite0", "lite1", "lite2"]
    for name in EXTRACTORS:
        extractor = make_extractor(name)
        assert isinstance(extractor, FeatureExtractor)
        assert extractor.width == extractor(IMAGES[:2]).shape[1]
        assert available(name)


@pytest.mark.parametrize("threads", [1, 3])
def test_an_extractor_of_ones_own_is_called_with_padded_chunks(threads, tmp_path):
    extractor = Brightness()
    features = CachedExtractor(extractor, threads=threads, cache=tmp_path)(IMAGES)
    np.testing.assert_array_equal(features, extractor(IMAGES))
    assert extractor.calls == [8, 8, 8, 21]


def test_extractors_are_cached_apart_by_identity_and_side(tmp_path):
    first, second, third = Brightness("a"), Brightness("b", scale=2.0), Brightness("b", side=9, scale=3.0)
    for extractor in (first, second, third):
        features = CachedExtractor(extractor, cache=tmp_path)(IMAGES)
        np.testing.assert_array_equal(features, extractor.scale * Brightness()(IMAGES))
    assert first.calls == second.calls == third.calls == [8, 8, 8]
    again = Brightness("b", scale=100.0)
    np.testing.assert_array_equal(CachedExtractor(again, cache=tmp_path)(IMAGES), 2 * Brightness()(IMAGES))
    assert again.calls == []


def test_the_cache_folder_is_named_after_weights_side_rounding_and_version(tmp_path):
    extractor = make_extractor("lite0", side=32)
    folder = CachedExtractor(extractor, cache=tmp_path).cache.folder
    start, rounding, version = folder.name.rsplit("-", 2)
    assert folder.parent == tmp_path / "features"
    assert (start, len(rounding), version) == ("efficientnet-lite0-57934424-32", 12, "1")


@pytest.mark.parametrize("identity", ["../elsewhere", "hub/net", "hub_net", "", "ü", "x" * 300])
def test_every_identity_is_a_folder_name_of_its_own(identity, tmp_path):
    name = folder_name(identity)
    assert name == "hub_net" or name not in (identity, folder_name(identity + "x"), folder_name("hub_net"))
    CachedExtractor(Brightness(identity), cache=tmp_path)(IMAGES[:1])
    assert [path.parent.parent for path in tmp_path.rglob("*.npy")] == [tmp_path / "features"]


@pytest.mark.parametrize(
    ("broken", "message"),
    [
        (lambda features: features[:, :1], r"float32 of shape \(8, 1\)"),
        (lambda features: features.astype(np.float64), r"float64 of shape \(8, 2\)"),
        (lambda features: features * np.float32(np.inf), r"float32 of shape \(8, 2\) with nan or infinity"),
    ],
)
def test_features_that_cannot_be_used_are_rejected(broken, message):
    class Broken(Brightness):
        def __call__(self, images):
            return broken(super().__call__(images))

    expected = rf"extractor: expected finite float32 features of shape \(8, 2\), got {message}. Correct what Broken"
    with np.errstate(invalid="ignore"), pytest.raises(vs.InputError, match=expected):
        CachedExtractor(Broken(), cache=False)(IMAGES[:8])


def test_padding_may_have_any_features():
    """An extractor that standardises each image has none for a blank one."""

    class Standardising(Brightness):
        def __call__(self, images):
            features = super().__call__(images)
            return np.where(features == 0, np.float32(np.nan), features)

    assert np.isfinite(CachedExtractor(Standardising(), cache=False)(IMAGES[:1])).all()


def test_unknown_extractors_get_a_sentence():
    for given in ("mobilenet", 3, lambda images: images):
        with pytest.raises(vs.InputError, match=r"extractor: expected one of lite0, .*FeatureExtractor, got .* Pick a"):
            make_extractor(given)
    with pytest.raises(vs.InputError, match="side: expected 4, the side of the given extractor, got 32. Leave it out"):
        make_extractor(Brightness(side=4), side=32)
    assert make_extractor(Brightness(side=4), side=4, device=torch.device("cpu")).side == 4
