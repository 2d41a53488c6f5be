"""Version spaces of a run in the plane, as the paper's appendix draws them."""

from versionspace.report.document import Block, Column, Part, Table
from versionspace.report.groups import Group
from versionspace.report.mds import embed
from versionspace.report.options import Options, read_run
from versionspace.report.plots.images import plane
from versionspace.report.plots.style import method_label
from versionspace.report.runs import Run
from versionspace.space import pairwise_disagreement
from versionspace.store import Round, StoreError
from versionspace.types import Array

_HOW = (
    "Every dot is a member; near means that two of them give the same answers. Distances between triangles and to the "
    "star are those between a random member of one stage and of another, and to the truth; distances within a cloud "
    "are those between its members. Each cloud was laid out by itself and moved onto its triangle: between dots of "
    "different clouds, and in which direction a cloud is stretched, there is nothing to read. Stress says how much of "
    "the distances two dimensions lose: 0 nothing, above 0.2 much."
)
STAGES = (0.25, 0.5, 0.75)
"""Of the budget, between the first round and the last."""


def embedded(group: Group, options: Options) -> Part:
    """The first run of random, and those that were asked for."""
    blocks: list[Block] = []
    random = group.of("random")
    if random:
        blocks += _one(group, random[0])
    else:
        blocks.append("There is no run of random to embed; --embed METHOD/SEED shows another.")
    for text in options.embed:
        wanted = read_run(text)
        runs = [run for run in group.of(wanted.method) if wanted.seed in (None, run.seed)]
        if not runs:
            blocks.append(f"There is no run {text} here to embed.")
        elif not random or runs[0] is not random[0]:
            blocks += _one(group, runs[0])
    return Part("Version spaces in the plane", _HOW, tuple(blocks))


def stages(run: Run) -> tuple[Round, ...]:
    """The first round, those nearest to a quarter, a half and three quarters of the budget, and the last; each once."""
    total = run.record.budget
    near = [min(run.rounds, key=lambda r: abs(r.labels - share * total)) for share in STAGES]
    return tuple({r.number: r for r in sorted([run.rounds[0], *near, run.rounds[-1]], key=lambda r: r.labels)}.values())


def _one(group: Group, run: Run) -> list[Block]:
    try:
        kept: list[tuple[Round, Array]] = []
        for stage in stages(run):
            votes = run.record.votes(stage.number)
            if votes is not None:
                kept.append((stage, votes))
        truth = run.record.truth()
    except StoreError as error:
        return [f"{method_label(run.method)}, seed {run.seed} cannot be embedded. {error}"]
    name = f"{method_label(run.method)}, seed {run.seed}"
    if not kept:
        return [f"{name} cannot be embedded: it has no test set, on which distances would be measured."]
    found = embed([votes for _, votes in kept], truth, seed=run.seed)
    words = [f"{stage.labels:,} labels" for stage, _ in kept]
    file = f"{group.name}-embedding-{run.method}-{run.seed}"
    blocks: list[Block] = [
        plane(
            file, found, words,
            caption=f"{group.title}: {name}, {len(kept[0][1])} members, {kept[0][1].shape[1]:,} test images. Stress "
            "of the "
            f"triangles{' and the star' if truth is not None else ''}: {found.stress:.3f}; of the clouds: "
            + ", ".join(f"{value:.3f}" for value in found.stresses) + ".",
            alt=f"Version spaces of {name} at {', '.join(words)}, embedded in the plane.",
        )
    ]  # fmt: skip
    if truth is None:
        blocks.append("The classes of the test images are not known: the truth is not in the picture.")
    errors = [None if truth is None else float(100 * (votes != truth).mean()) for _, votes in kept]
    rows = tuple(
        (stage.labels, 100 * pairwise_disagreement(votes), error, found.stresses[i])
        for i, ((stage, votes), error) in enumerate(zip(kept, errors, strict=True))
    )
    columns = (
        Column("labels", kind=float), Column("diameter of the cloud, PWD (%)", kind=float),
        Column("distance to the truth (%)", kind=float), Column("stress of the cloud", digits=3, kind=float),
    )  # fmt: skip
    return [*blocks, Table(file, f"{group.title}: {name}, the stages of the picture in numbers.", columns, rows)]
