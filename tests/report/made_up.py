"""Campaign folders with made-up ensembles, written by the store; no network is trained.

Each test image has a difficulty and a wrong class that most errors share. Members err on difficult images, less with
more labels; ``SKILL`` is how much a label is worth to a method.
"""

from dataclasses import replace

import numpy as np

from versionspace import rng
from versionspace.config import parse_config, read_config, to_toml
from versionspace.space import (
    agreement_region,
    gibbs_vote_disagreement,
    majority_vote,
    pairwise_disagreement,
    projection_distance,
    wrong_agreement,
)  # fmt: skip
from versionspace.store import CampaignFolder, Event, Ledger, write_arrays, write_file
from versionspace.store import read_campaign as read_record

SKILL = {"random": 1.0, "vr": 1.25, "ge": 1.15, "bald": 1.3, "coreset": 0.9, "dfal": 0.8, "pwd": 1.6, "gvd": 1.7}
DIGITS = tuple(str(number) for number in range(10))


def metrics(votes, truth):
    """Return the body of the metrics on one set of images."""
    out = {
        "images": votes.shape[1], "pwd": pairwise_disagreement(votes),
        "gvd": gibbs_vote_disagreement(votes, vote="hard"), "gvd_hard": gibbs_vote_disagreement(votes, vote="hard"),
        "agreement": float(agreement_region(votes).mean()),
    }  # fmt: skip
    if truth is None:
        return out
    found = projection_distance(votes, truth, vote="hard")
    members = (votes == truth).mean(axis=1)
    return out | {
        "accuracy": float((votes == truth).mean()), "accuracy_deviation": float(members.std(ddof=1)),
        "vote_accuracy": float((majority_vote(votes, vote="hard") == truth).mean()),
        "wrong_agreement": wrong_agreement(votes, truth), "gibbs_distance": found.gibbs, "vote_distance": found.vote,
    }  # fmt: skip


def ensemble(truth, classes, labels, skill, members, seed, hard):
    """Return (M, T) votes of members whose error falls with the number of labels."""
    draw = rng.generator(seed, "ensemble", labels, int(1000 * skill))
    common = rng.generator(7, "tempting").integers(1, classes, len(truth))
    known = np.log1p(labels * skill / hard)
    chance = 1 / (1 + np.exp(-4 * (rng.generator(7, "difficulty").random(len(truth)) * 2.2 - known)))
    wrong = draw.random((members, len(truth))) < chance
    shared = draw.random((members, len(truth))) < 0.8
    other = np.where(shared, common, draw.integers(1, classes, (members, len(truth))))
    return ((truth + other * wrong) % classes).astype(np.uint8)


def campaign(
    folder, method="gvd", seed=0, *, data="digits", preset="", total=60, initial=10, size=10, reach=None, ended=True,
    test=True, truth=True, pool=True, classes=DIGITS, members=6, images=240, person=False, audit=0, hard=20.0, fit=1.0,
    changes=(), ids=None, skips=(), unmeasured=(),
):  # fmt: skip
    """Write one campaign and return its folder.

    ``reach``: labels to stop at, by default the budget. ``skips``: rounds in which an image is skipped, 0 for the
    initial labels. ``unmeasured``: rounds without metrics on the test set.
    """
    place = CampaignFolder(folder)
    place.path.mkdir(parents=True)
    if preset:
        config = read_config(preset, changes)
    else:
        text = f"[data]\nname = {data!r}\ninitial = {initial}\n[budget]\ntotal = {total}\naudit = {audit}\n"
        text += f"[query]\nsize = {size}\n[ensemble]\nmembers = {members}\n"
        config = parse_config(text + ("[oracle]\nkind = 'person'\n" if person else ""), "made up", changes)
    config = config.campaign(method, seed)
    total, size, initial = config.budget.total, config.query.size, config.data.initial or 0
    write_file(place.config, to_toml(config).encode())
    answers = np.arange(images) % len(classes)
    arrays = {"test": np.arange(images)} if test else {}
    write_arrays(place.split, arrays | ({"test_truth": answers} if test and truth else {}))
    queue = list(ids) if ids is not None else rng.generator(seed, "asked", method).permutation(1700).tolist()
    with Ledger.open(place.ledger) as ledger:
        ledger.append([Event("begun", body={"classes": list(classes)}), Event("split", body={})])
        labels = _ask(ledger, queue, 0, 0, "initial", initial, classes, (0,) if 0 in skips else ())
        round_ = 1
        while True:
            _measure(place, ledger, round_, labels, method, seed, config, answers, classes,
                     test and round_ not in unmeasured, truth, pool, person, hard, fit)  # fmt: skip
            if labels >= (reach or total):
                break
            labels += _ask(ledger, queue, round_, round_, "query", min(size, total - labels), classes,
                           (0,) if round_ in skips else ())  # fmt: skip
            round_ += 1
        if ended:
            ledger.append([Event("ended", round_, {"why": "budget"})])
    return folder


def add_rounds(folder, *counts, fit=1.0):
    """Add rounds with these numbers of labels; each has a test accuracy of its own."""
    place = CampaignFolder(folder)
    for count in counts:
        last = read_record(folder).measured_rounds()[-1]
        before = last.metrics.sets
        sets = {**before, "test": replace(before["test"], accuracy=before["test"].accuracy - 0.01)}
        body = replace(last.metrics, labels=count, fit=fit, sets=sets).to_body()
        place.votes(last.number + 1).write_bytes(place.votes(last.number).read_bytes())
        with Ledger.open(place.ledger) as ledger:
            ledger.append([Event("measured", last.number + 1, body, environment={"seconds": dict(last.seconds)})])


def grid(folder, methods=("random", "ge", "gvd"), seeds=(0, 1, 2), **options):
    """Write METHOD/SEED folders, as in a grid, and return the folder."""
    for method in methods:
        for seed in seeds:
            campaign(folder / method / str(seed), method, seed, **options)
    return folder


def _ask(ledger, queue, round_, part, purpose, count, classes, skipped):
    ids = [queue.pop(0) for _ in range(count)]
    body = {"part": part, "purpose": purpose, "ids": ids, "utilities": [0.0] * count}
    events = [Event("proposed", round_, body)]
    for rank, image in enumerate(ids):
        name = None if rank in skipped else classes[number_of(image) % len(classes)]
        events.append(Event("answered", round_, {"id": image, "class": name, "part": part, "rank": rank}))
    ledger.append(events)
    return count - len(skipped)


def number_of(image):
    """Return an integer for an id of either kind."""
    return image if isinstance(image, int) else int(image[:8], 16)


def _measure(
    place, ledger, round_, labels, method, seed, config, answers, classes, test, truth, pool, person, hard, fit,
):  # fmt: skip
    skill = SKILL.get(method, 1.4)
    if round_ == 1:
        skill = 1.0  # methods with the same seed share the first ensemble
    members = config.ensemble.members
    votes = ensemble(answers, len(classes), labels, skill, members, seed, hard)
    sets = {"test": metrics(votes, answers if truth else None)} if test else {}
    if pool:
        more = ensemble(answers, len(classes), labels, skill * 1.05, members, seed, hard)
        sets["pool"] = metrics(more, None if person else answers)
    held = ensemble(answers[::2], len(classes), labels, skill, members, seed, hard)
    sets["reference"] = metrics(held, None)
    counts = {name: labels // len(classes) for name in classes}
    body = {
        "labels": labels, "classes": counts, "fit": fit, "consistent": 1.0, "epochs": 30.0,
        "diameter": sets["reference"]["pwd"], "kappa": None, "sets": sets, "votes_sha256": "",
        "audit": {"images": 20, "accuracy": 0.8, "low": 0.6, "high": 0.95} if config.budget.audit else None,
    }  # fmt: skip
    spent = {"fit": 2.0 + labels / 10, "predict": 0.5, "measure": 0.25, "query": 0.1 * skill}
    if test:
        write_arrays(place.votes(round_), {"test": votes})
    else:
        write_arrays(place.votes(round_), {"reference": votes[0]})
    ledger.append([Event("measured", round_, body, environment={"seconds": spent})])
