"""`pwd` and `gvd` against direct implementations of their definitions, and their cost as the pool grows.

Two baselines compute the definition image by image; they are timed on a few images and extrapolated to the pool: the
plain loops of tests/reference.py, and the same in NumPy, vectorised over the reference set.
"""

import shutil
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

import versionspace as vs
from benchmarks.committees import C, M, N, T, case, committee, differing, noise_for
from benchmarks.measure import in_fresh_process, peak_extra_bytes, report, seconds

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))
import reference as plain


def _loops(method: str, pool: np.ndarray, reference: np.ndarray, images: int = 3) -> float:
    pool_votes, ref_votes = plain.votes(pool[:, :images].tolist()), reference.argmax(-1).tolist()
    probs = reference.tolist()
    start = time.perf_counter()
    for x in range(images):
        if method == "pwd":
            plain.worst_case(pool_votes, x, lambda S: plain.pwd(S, ref_votes))
        else:
            plain.worst_case(pool_votes, x, lambda S: plain.gvd(S, probs, ref_votes))
    return (time.perf_counter() - start) / images * N


def _numpy(method: str, pool: np.ndarray, reference: np.ndarray, images: int = 60) -> float:
    pool_votes, ref_votes = pool[:, :images].argmax(-1), reference.argmax(-1)
    start = time.perf_counter()
    for x in range(images):
        worst = 0.0
        for y in np.unique(pool_votes[:, x]):
            S = np.flatnonzero(pool_votes[:, x] == y)
            if method == "gvd":
                vote = reference[S].sum(axis=0, dtype=np.float64).argmax(axis=1)
                worst = max(worst, (ref_votes[S] != vote).mean())
            elif len(S) > 1:
                pairs = [(ref_votes[i] != ref_votes[j]).mean() for i in S for j in S if i != j]
                worst = max(worst, sum(pairs) / len(pairs))
    return (time.perf_counter() - start) / images * N


def _diameter(method: str, S: np.ndarray, reference: np.ndarray, ref_votes: np.ndarray) -> float:
    if method == "gvd":
        vote = reference[S].sum(axis=0, dtype=np.float64).argmax(axis=1)
        return float((ref_votes[S] != vote).mean())
    return sum(float((ref_votes[i] != ref_votes[j]).mean()) for i in S for j in S if i < j)


def _numpy_that_remembers(method: str, pool: np.ndarray, reference: np.ndarray, timed: int = 40) -> float:
    """Return the time of NumPy image by image, with each distinct sub-space scored once; extrapolated from some."""
    start = time.perf_counter()
    votes, ref_votes = pool.argmax(-1), reference.argmax(-1)
    found = {(votes[:, x] == y).tobytes() for x in range(votes.shape[1]) for y in set(votes[:, x].tolist())}
    listing = time.perf_counter() - start
    some = np.random.default_rng(0).permutation(sorted(found))[:timed]
    start = time.perf_counter()
    for mask in some:
        _diameter(method, np.flatnonzero(np.frombuffer(mask.ljust(M, b"\0"), bool)), reference, ref_votes)
    return listing + (time.perf_counter() - start) / len(some) * len(found)


def against_the_definition() -> None:
    targets = {"pwd": {"late": 1000, "middle": 1000, "early": 1000}, "gvd": {"late": 1000, "middle": 500, "early": 200}}
    for stage in ("late", "middle", "early"):
        pool, reference = case(stage)
        for method in ("pwd", "gvd"):
            ours = seconds(lambda m=method, p=pool, r=reference: vs.utilities(m, pool=p, reference=r))
            argmax = seconds(lambda p=pool: p.argmax(-1))
            loops, by_numpy = _loops(method, pool, reference), _numpy(method, pool, reference)
            target = targets[method][stage]
            passes = ours / argmax
            report(
                f"{method} utilities, {stage} in learning",
                DIS=differing(reference),
                seconds=ours,
                ratio=loops / ours,
                ratio_to_numpy_image_by_image=by_numpy / ours,
                ratio_to_numpy_that_remembers=_numpy_that_remembers(method, pool, reference) / ours,
                passes_of_argmax=passes,
                target=f"ratio ≥ {target}" + (", ≤ 5 passes of pool.argmax(-1)" if stage == "late" else ""),
                met=loops / ours >= target and (stage != "late" or passes <= 5),
            )


def other_methods() -> None:
    for stage in ("late", "middle", "early"):
        pool, reference = case(stage)
        gvd = seconds(lambda p=pool, r=reference: vs.utilities("gvd", pool=p, reference=r), 3)
        loo = seconds(lambda p=pool, r=reference: vs.utilities("gvd-loo", pool=p, reference=r), 1)
        batch = seconds(lambda p=pool, r=reference: vs.query("gvd-batch", 10, pool=p, reference=r, seed=0), 1)
        report(
            f"gvd-loo and a gvd-batch of 10, {stage} in learning",
            gvd_loo_seconds=loo,
            gvd_batch_seconds=batch,
            gvd_loo_over_gvd=loo / gvd,
            gvd_batch_over_gvd=batch / gvd,
            target="none set",
            met=True,
        )


def _memory(method: str, folder: str) -> int:
    votes, reference = np.load(f"{folder}/votes.npy"), np.load(f"{folder}/reference.npy")
    return peak_extra_bytes(lambda: vs.utilities(method, pool=votes, reference=reference))


def growth() -> None:
    """Cost per image for a million images, with votes as input, relative to 45,000 images."""
    for stage in ("late", "middle", "early"):
        noise = noise_for(stage)
        _, reference = case(stage)
        large = np.concatenate([committee(50_000, noise, seed).argmax(-1).astype(np.uint8) for seed in range(20)], 1)
        small = np.ascontiguousarray(large[:, :N])
        folder = tempfile.mkdtemp()
        np.save(f"{folder}/votes.npy", large)
        np.save(f"{folder}/reference.npy", reference)
        for method in ("pwd", "gvd"):
            per_small = seconds(lambda m=method, v=small, r=reference: vs.utilities(m, pool=v, reference=r)) / N
            per_large = seconds(lambda m=method, v=large, r=reference: vs.utilities(m, pool=v, reference=r), 2) / 10**6
            extra = in_fresh_process(_memory, method, folder)
            report(
                f"{method} utilities of 1,000,000 images, votes given, {stage} in learning",
                seconds=per_large * 10**6,
                cost_per_image_over_that_at_45000=per_large / per_small,
                peak_extra_MB=extra / 1e6,
                target="cost per image ≤ 1.2 times, < 1000 MB",
                met=per_large <= 1.2 * per_small and extra < 1e9,
            )
        shutil.rmtree(folder)


def _stream(noise: float) -> dict[str, float]:
    """Stream a hundred chunks of 100,000 images; members are permuted so that each chunk has new sub-spaces."""
    rng = np.random.default_rng(0)
    chunk = committee(100_000, noise, 0).argmax(-1).astype(np.uint8)
    stream = vs.Stream("gvd", 100, reference=committee(T, noise, 1), seed=0)

    def add(times: int) -> None:
        for _ in range(times):
            stream.add(chunk[rng.permutation(M)])

    start = time.perf_counter()
    first = peak_extra_bytes(lambda: add(10))
    whole = first + max(0, peak_extra_bytes(lambda: add(90)))
    return {"images": stream.images, "seconds": time.perf_counter() - start, "first": first / 1e6, "whole": whole / 1e6}


def stream() -> None:
    """Ten million images in chunks, in constant memory."""
    found = in_fresh_process(_stream, noise_for("late"))
    report(
        "gvd in a Stream of 10,000,000 images, late in learning",
        images=found["images"],
        seconds=found["seconds"],
        peak_extra_MB_after_1_million=found["first"],
        peak_extra_MB_after_10_million=found["whole"],
        target="constant memory: at most 100 MB more after ten million images than after one",
        met=found["images"] == 10**7 and found["whole"] <= found["first"] + 100,
    )


def run() -> None:
    print(f"# M={M}, N={N}, C={C}, T={T}", flush=True)
    against_the_definition()
    other_methods()
    growth()
    stream()
