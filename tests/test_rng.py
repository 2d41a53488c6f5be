"""Random numbers derived by name: independent, stable and evenly distributed."""

import numpy as np
import pytest

from versionspace import rng
from versionspace.errors import InputError


def test_different_names_and_seeds_have_different_keys():
    keys = {rng.key(seed, name) for seed in (0, 1, 2**70) for name in ("a", "b", "ab")}
    assert len(keys) == 9
    assert rng.key(0, "a", "b") != rng.key(0, "ab")
    assert rng.key(0, "1") != rng.key(0, 1)


def test_keys_never_change_between_releases():
    """A stored campaign must draw the same images in every later version."""
    assert rng.key(0, "ties") == 13105959806136875433
    assert rng.generator(0, "x").integers(0, 1000, 3).tolist() == [197, 929, 958]


def test_hashes_are_splitmix64():
    """The sequence that the authors' code returns for the seed 1234567."""
    assert rng.hashes(1234567, np.arange(3)).tolist() == [
        6457827717110365317,
        3203168211198807973,
        9817491932198370423,
    ]


def test_hashes_do_not_depend_on_the_chunk():
    whole = rng.hashes(5, np.arange(1000))
    np.testing.assert_array_equal(whole[300:400], rng.hashes(5, np.arange(300, 400)))
    assert len(set(whole.tolist())) == 1000


def test_every_bit_of_the_hashes_is_balanced():
    bits = np.unpackbits(rng.hashes(rng.key(0, "x"), np.arange(20_000)).view(np.uint8)).reshape(-1, 64)
    assert np.abs(bits.mean(axis=0) - 0.5).max() < 0.02


def test_any_integer_of_at_least_0_is_a_seed():
    assert rng.root(np.int32(7)) == 7
    assert rng.root(2**100) == 2**100
    assert rng.root(None) != rng.root(None)
    for invalid in (-1, 1.5, "7", True):
        with pytest.raises(InputError, match="^seed: "):
            rng.root(invalid)


def test_hashes_of_ids_depend_on_their_whole_text():
    """Of a SHA-256 the first 64 bits are used; other ids may share a prefix or not be hexadecimal."""
    digest = "0123456789abcdef" + "0" * 48
    np.testing.assert_array_equal(
        rng.id_hashes(5, np.array([digest])), rng.hashes(5, np.array([0x0123456789ABCDEF], np.uint64))
    )
    names = np.array([f"{i:020d}" for i in range(50)] + ["u", "é", "photo 1.jpg"])
    assert len(set(rng.id_hashes(5, names).tolist())) == 53
