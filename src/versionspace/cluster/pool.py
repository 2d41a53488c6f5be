"""Choose images from a pool of any size, in one pass over its shards; memory does not grow with the pool.

Pointwise methods: a shard scores its items against the reference and returns its k best; this process merges them. The
answer is that of `versionspace.query` on the whole pool, bit for bit.

Methods that choose a set work in two stages. A shard chooses more images than are needed from its own items, and draws
a uniform sample of them. The method then chooses from all of these. docs/cluster.md has the measured loss.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import numpy as np

from versionspace import rng
from versionspace.cluster.pool_shards import Chunk, PoolShard
from versionspace.cluster.tasks import run_tasks
from versionspace.errors import InputError
from versionspace.query import BestImages, Method, Stream, find, merge_best, query
from versionspace.types import Array, Floats, Vote

if TYPE_CHECKING:
    from versionspace.cluster.executor import Cluster


@dataclass(frozen=True)
class PoolChoice:
    """The images to label next."""

    ids: Array
    """(k,), best first; positions in the pool if it has no ids."""
    utilities: Floats
    """(k,)."""
    items: int
    """Items that were scored."""


@dataclass(frozen=True)
class _Question:
    """What every shard is asked."""

    method: str
    k: int
    seed: int
    options: dict[str, Any] = field(default_factory=dict)
    """Of `versionspace.query`: reference, vote, classes, labelled_features."""
    model: tuple[tuple[str, bytes], ...] | None = None
    """The files that `Ensemble.save` wrote."""
    candidates: int = 0
    sample: float = 0.0
    """The share of the items that are drawn for the second stage."""
    threads: int = 1


@dataclass(frozen=True)
class _Candidates:
    """Items for the second stage of a method that chooses a set."""

    positions: Array
    ids: Array | None
    beliefs: Array | None
    features: Array | None


@dataclass(frozen=True)
class _Answer:
    items: int
    best: BestImages | None = None
    candidates: _Candidates | None = None


def query_pool(
    method: str,
    k: int,
    shards: Sequence[PoolShard],
    *,
    model: str | Path | None = None,
    reference: Array | None = None,
    vote: Vote = "soft",
    classes: int | None = None,
    labelled_features: Array | None = None,
    seed: int = 0,
    candidates: int | None = None,
    sample: float = 0.0,
    cluster: "Cluster | None" = None,
) -> PoolChoice:
    """Return the k items of a pool to label next, from one pass over its shards.

    Args:
        method: a name in `versionspace.METHODS`, except methods that need perturbations.
        k: the number of items.
        shards: see `versionspace.cluster.image_shards` and `feature_shards`.
        model: a folder that `Ensemble.save` or ``versionspace export --model safetensors`` wrote; None: the
            shards have beliefs, or the method needs none.
        reference, vote, classes, labelled_features: as for `versionspace.query`.
        seed: of ties; the result depends neither on the workers nor on the order in which shards are complete.
        candidates: of each shard, for a method that chooses a set; by default 4·k.
        sample: for such a method, the share of all items that is drawn for its second stage, such as 5,000 divided by
            the items of the pool. Features that are not the items are those of the model's first member.
        cluster: where to run; None: here, one shard after another.

    Raises InputError for arguments that do not fit the method, and if the pool has fewer than k items.
    """
    row = find(method)
    _check(row, k, sample, candidates)
    options = {"reference": reference, "vote": vote, "classes": classes, "labelled_features": labelled_features}
    known = {name: value for name, value in options.items() if value is not None and (name, value) != ("vote", "soft")}
    question = _Question(
        method, k, seed, known, None if model is None else _read_files(Path(model)),
        candidates=0 if row.pointwise else candidates or 4 * k, sample=0.0 if row.pointwise else sample,
        threads=1 if cluster is None else cluster.cpus,
    )  # fmt: skip
    items, best, found = 0, merge_best([], k), []
    for answer in _answers(question, shards, cluster):
        items += answer.items
        if answer.best is not None:
            best = merge_best([best, answer.best], k)
        if answer.candidates is not None:
            found.append(answer.candidates)
    if items < k:
        raise InputError("k", expected=f"at most {items}, the items of the pool", got=str(k), fix="Ask for fewer.")
    if row.pointwise:
        return PoolChoice(best.positions if best.ids is None else best.ids, best.utilities, items)
    return _second_stage(question, found, items)


def _check(method: Method, k: int, sample: float, candidates: int | None) -> None:
    if method.perturbations:
        raise InputError(
            "method", expected="one that needs no perturbations", got=repr(method.name),
            fix="The size of a perturbation that is not found depends on the other images of a call.",
        )  # fmt: skip
    if not 0 <= sample <= 1 or (candidates is not None and candidates < k):
        raise InputError(
            "sample, candidates", expected=f"a share from 0 to 1, and at least k = {k} candidates",
            got=f"{sample} and {candidates}", fix="Leave them out.",
        )  # fmt: skip


def _answers(question: _Question, shards: Sequence[PoolShard], cluster: "Cluster | None") -> Iterator[_Answer]:
    if cluster is None:
        yield from (answer_shard(shard, question) for shard in shards)
        return
    with cluster.connected() as ray:
        for _, answer in run_tasks(cluster, ray, answer_shard, shards, ray.put(question)):
            yield answer


def answer_shard(shard: PoolShard, question: _Question) -> _Answer:
    """Return the best items of a shard, or for a method that chooses a set its candidates."""
    method = find(question.method)
    if not method.pointwise:
        return _choose_candidates(shard, question, method)
    options = {key: value for key, value in question.options.items() if key != "labelled_features"}
    stream, after = Stream(question.method, question.k, seed=question.seed, **options), 0
    for chunk in shard.chunks():
        stream.skip(chunk.position - after)
        stream.add(_beliefs(chunk, question, method), chunk.ids)
        after = chunk.position + chunk.count
    return _Answer(stream.images, best=stream.best())


def _beliefs(chunk: Chunk, question: _Question, method: Method) -> Array:
    """Return votes (M, n) or probabilities (M, n, C) of some items."""
    if question.model is None:
        if chunk.beliefs is not None:
            return chunk.beliefs
        if method.pool == "any":  # only the number of items matters
            return np.zeros((1, chunk.count), np.uint8)
        raise InputError(
            "model", expected=f"a model, or shards with beliefs, since {method.name!r} needs {method.needs_in_words}",
            got="neither", fix="Pass model=FOLDER, which Ensemble.save wrote.",
        )  # fmt: skip
    model = _load_model(question.model, question.threads)
    if method.pool in ("votes", "any"):
        return np.asarray(model.votes(chunk.items))
    return np.asarray(
        (model.only(0) if method.pool == "one member" else model).predict_proba(chunk.items, members=True)
    )


def _choose_candidates(shard: PoolShard, question: _Question, method: Method) -> _Answer:
    parts = [_described(chunk, question, method) for chunk in shard.chunks()]
    if not parts:
        return _Answer(0)
    whole = _joined(parts)
    count = len(whole.positions)
    chosen = _query(question, whole, min(question.candidates, count))
    draws = rng.hashes(rng.key(question.seed, "pool sample"), whole.positions) / 2.0**64
    kept = np.union1d(chosen.indices, np.flatnonzero(draws < question.sample))
    return _Answer(count, candidates=_rows(whole, kept))


def _described(chunk: Chunk, question: _Question, method: Method) -> _Candidates:
    known = question.model is not None or chunk.beliefs is not None
    beliefs = _beliefs(chunk, question, method) if method.pool and (known or not method.pool_optional) else None
    features = None
    if method.features:
        features = chunk.items if chunk.items is not None and chunk.items.ndim == 2 else _features(chunk, question)
    return _Candidates(np.arange(chunk.position, chunk.position + chunk.count), chunk.ids, beliefs, features)


def _features(chunk: Chunk, question: _Question) -> Array:
    """Return the features (n, F) of images, by the model's first member."""
    if question.model is None or chunk.items is None:
        raise InputError(
            "shards", expected=f"items with features, which {question.method!r} compares", got="none",
            fix="Extract features with `versionspace features`, and use feature_shards; or pass a model.",
        )  # fmt: skip
    return np.asarray(_load_model(question.model, question.threads).features(chunk.items, 0))


def _joined(parts: Sequence[_Candidates]) -> _Candidates:
    def join(name: str, axis: int) -> Array | None:
        values = [getattr(part, name) for part in parts]
        return None if values[0] is None else np.concatenate(values, axis=axis)

    positions = np.concatenate([part.positions for part in parts])
    return _Candidates(positions, join("ids", 0), join("beliefs", 1), join("features", 0))


def _rows(items: _Candidates, kept: Array) -> _Candidates:
    return _Candidates(
        items.positions[kept], None if items.ids is None else items.ids[kept],
        None if items.beliefs is None else items.beliefs[:, kept],
        None if items.features is None else items.features[kept],
    )  # fmt: skip


@dataclass(frozen=True)
class _Chosen:
    indices: Array
    utilities: Floats


def _query(question: _Question, items: _Candidates, k: int) -> _Chosen:
    indices, utilities = query(
        question.method, k, pool=items.beliefs, features=items.features, **question.options, seed=question.seed,
        return_utilities=True,
    )  # fmt: skip
    return _Chosen(indices, utilities)


def _second_stage(question: _Question, found: Sequence[_Candidates], items: int) -> PoolChoice:
    """Choose from the candidates of all shards, in the order of their positions: no result depends on who was first."""
    whole = _joined(found)
    whole = _rows(whole, np.argsort(whole.positions, kind="stable"))
    chosen = _query(question, whole, question.k)
    ids = whole.positions if whole.ids is None else whole.ids
    return PoolChoice(ids[chosen.indices], chosen.utilities, items)


def _read_files(folder: Path) -> tuple[tuple[str, bytes], ...]:
    if not (folder / "ensemble.json").is_file():
        raise InputError(
            "model", expected="a folder that Ensemble.save wrote", got=repr(str(folder)), fix="Check the path."
        )
    return tuple((file.name, file.read_bytes()) for file in sorted(folder.iterdir()) if file.is_file())


@lru_cache(maxsize=1)
def _load_model(files: tuple[tuple[str, bytes], ...], threads: int) -> Any:
    """Return an ensemble, which is kept for the next shard of this process."""
    from versionspace.ensemble import Ensemble  # imports torch

    with TemporaryDirectory() as folder:
        for name, content in files:
            (Path(folder) / name).write_bytes(content)
        return Ensemble.load(folder, threads=threads)
