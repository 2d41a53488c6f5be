"""Random numbers derived by name: every draw is a function of a root seed and the names of its purpose.

There is no global state, and no result depends on the order of calls: the hash of an image's position is the same
whether the pool is processed at once or in chunks.

>>> key(7, "ties") == key(7, "ties"), key(7, "ties") == key(8, "ties")
(True, False)
"""

import hashlib
import operator
import re
import secrets
from numbers import Integral

import numpy as np

from versionspace.errors import InputError
from versionspace.types import Array, Floats, Words

_SHA256 = re.compile("[0-9a-f]{64}")
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)


def root(seed: object) -> int:
    """Return the seed as a Python integer; None draws a new one from the operating system, a NumPy generator from it.

    Raises `InputError` unless it is None, a generator or an integer of at least 0.
    """
    if seed is None:
        return secrets.randbits(64)
    if isinstance(seed, np.random.Generator):
        return int(seed.integers(2**63))
    if isinstance(seed, np.random.RandomState):
        return int(seed.randint(2**31 - 1))
    try:
        value = operator.index(seed)  # type: ignore[arg-type]
    except TypeError:
        value = -1
    if value < 0 or isinstance(seed, bool):
        raise InputError(
            "seed",
            expected="an integer of at least 0, a NumPy generator, or None",
            got=repr(seed),
            fix="Pass an integer for a reproducible result, or None for a new random seed.",
        )
    return value


def _digest(seed: int, names: tuple[str | int, ...], size: int) -> int:
    text = repr((seed, *names)).encode()
    return int.from_bytes(hashlib.blake2b(text, digest_size=size).digest(), "little")


def key(seed: int, *names: str | int) -> int:
    """Return 64 bits derived from this seed and these names."""
    return _digest(seed, names, 8)


def generator(seed: int, *names: str | int) -> np.random.Generator:
    """Return an independent generator derived from this seed and these names."""
    return np.random.Generator(np.random.Philox(key=_digest(seed, names, 16)))


def hashes(key: int, positions: Array) -> Words:
    """Return 64-bit hashes of (key, position): the splitmix64 sequence at any position (Steele, Lea and Flood 2014)."""
    z: Words = (positions.astype(np.uint64) + np.uint64(1)) * _GOLDEN + np.uint64(key)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


def id_hashes(key: int, ids: Array) -> Words:
    """Return 64-bit hashes of (key, id), for integer or text ids. Of a SHA-256, the first 64 bits are used.

    An integer has the same hash in any type, in an array of objects too; other objects are hashed as text.
    """
    numbers = ids if ids.dtype.kind in "iu" else np.array([_number(id_) for id_ in ids.tolist()], np.uint64)
    return hashes(key, numbers)


def _number(id_: object) -> int:
    """Return an id as 64 bits."""
    if isinstance(id_, Integral) and -(2**63) <= int(id_) < 2**64:
        return int(id_) % 2**64
    return _text_hash(str(id_))


def _text_hash(text: str) -> int:
    if _SHA256.fullmatch(text):
        return int(text[:16], 16)
    return int.from_bytes(hashlib.blake2b(text.encode(errors="surrogatepass"), digest_size=8).digest(), "little")


def uniforms(key: int, positions: Array) -> Floats:
    """Return uniform numbers in [0, 1) that are functions of (key, position)."""
    return as_uniforms(hashes(key, positions))


def as_uniforms(words: Words) -> Floats:
    """Convert 64-bit hashes to numbers in [0, 1)."""
    return (words >> np.uint64(11)).astype(np.float64) * 2.0**-53
