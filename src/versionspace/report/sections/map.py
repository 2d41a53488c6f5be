"""Maps of the version spaces of a run, as in the paper's appendix."""

from versionspace.report.document import Block, Column, ReportSection, Table
from versionspace.report.groups import RunGroup
from versionspace.report.mds import map_stages
from versionspace.report.options import ReportOptions, parse_run_name
from versionspace.report.plots.images import map_figure
from versionspace.report.plots.style import method_label
from versionspace.report.runs import CampaignRun
from versionspace.space import pairwise_disagreement
from versionspace.store import Round, StoreError

_HOW_TO_READ = (
    "Each dot is a member; members with similar answers are close. Two triangles are as far apart as a random member "
    "of one stage and of the other disagree, and a triangle is as far from the star as its members err on average. "
    "Distances within a cloud are those between its members. Each cloud is laid out separately and moved onto its "
    "triangle, so distances between dots of different clouds, and the orientation of a cloud, mean nothing. Stress "
    "measures how much of the distances two dimensions lose: 0 is nothing, above 0.2 is a lot."
)
BUDGET_SHARES = (0.25, 0.5, 0.75)
"""Shares of the label budget that are mapped, between the first round and the last."""


def map_section(group: RunGroup, options: ReportOptions) -> ReportSection:
    """Return maps of the first run of random and of the runs that the options name."""
    blocks: list[Block] = []
    random = group.runs_of("random")
    if random:
        blocks += _map_run(group, random[0])
    else:
        blocks.append("There is no run of random to map; --embed METHOD/SEED maps another run.")
    for text in options.embed:
        wanted = parse_run_name(text)
        runs = [run for run in group.runs_of(wanted.method) if wanted.seed in (None, run.seed)]
        if not runs:
            blocks.append(f"There is no run {text} to map.")
        elif not random or runs[0] is not random[0]:
            blocks += _map_run(group, runs[0])
    return ReportSection("Maps of the version space", _HOW_TO_READ, tuple(blocks))


def stages(run: CampaignRun) -> tuple[Round, ...]:
    """Return the first round, the rounds nearest to `BUDGET_SHARES` of the budget, and the last; each once."""
    total = run.record.budget
    nearest = [min(run.rounds, key=lambda r: abs(r.labels - share * total)) for share in BUDGET_SHARES]
    ordered = sorted([run.rounds[0], *nearest, run.rounds[-1]], key=lambda r: r.labels)
    return tuple({r.number: r for r in ordered}.values())


def _map_run(group: RunGroup, run: CampaignRun) -> list[Block]:
    name = f"{method_label(run.method)}, seed {run.seed}"
    try:
        votes = {stage.labels: run.record.votes(stage.number) for stage in stages(run)}
        truth = run.record.truth()
    except StoreError as error:
        return [f"{name} cannot be mapped. {error}"]
    known = {labels: found for labels, found in votes.items() if found is not None}
    if not known:
        return [f"{name} cannot be mapped: distances require a test set."]
    mapped = map_stages(list(known.values()), truth, seed=run.seed)
    stage_labels = [f"{labels:,} labels" for labels in known]
    members, images = next(iter(known.values())).shape
    file = f"{group.name}-embedding-{run.method}-{run.seed}"
    blocks: list[Block] = [
        map_figure(
            file, mapped, stage_labels,
            caption=f"{group.title}: {name}, {members} members, {images:,} test images. Stress of the "
            f"triangles{' and the star' if truth is not None else ''}: {mapped.stress:.3f}; of the clouds: "
            + ", ".join(f"{value:.3f}" for value in mapped.member_stress) + ".",
            alt=f"Map of the version spaces of {name} at {', '.join(stage_labels)}.",
        )
    ]  # fmt: skip
    if truth is None:
        blocks.append("The map does not show the true labels: the classes of the test images are unknown.")
    rows = tuple(
        (
            labels,
            100 * pairwise_disagreement(found),
            None if truth is None else float(100 * (found != truth).mean()),
            cloud_stress,
        )
        for (labels, found), cloud_stress in zip(known.items(), mapped.member_stress, strict=True)
    )
    columns = (
        Column("labels", kind=float), Column("diameter of the cloud, PWD (%)", kind=float),
        Column("distance to the truth (%)", kind=float), Column("stress of the cloud", digits=3, kind=float),
    )  # fmt: skip
    return [*blocks, Table(file, f"{group.title}: {name}, the stages of the map.", columns, rows)]
