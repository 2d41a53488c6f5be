"""Members trained as tasks: the bits of a local fit, whoever trained them; errors are the members' own."""

import os
import signal
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn

import versionspace as vs
from campaign.tiny import config
from versionspace import data
from versionspace.cluster import members
from versionspace.cluster.members import MemberTrainer
from versionspace.errors import InputError, TrainingError
from versionspace.store import read_campaign

DIGITS = data.load("digits").train
TRAINING = {"epochs": 3, "rate": 2e-3}


def fit(trainer=None, net="small", count=40, training=TRAINING, **options):
    ensemble = vs.Ensemble(
        net, members=10, classes=10, training=training, threads=2, progress=False, trainer=trainer, **options
    )
    held = (DIGITS.images[-300:], DIGITS.labels[-300:])
    return ensemble.fit(DIGITS.images[:count], DIGITS.labels[:count], validation=held, round=2)


def same(one, other):
    assert [history.losses for history in one.history_] == [history.losses for history in other.history_]
    np.testing.assert_array_equal(one.predict_proba(DIGITS.images[:50]), other.predict_proba(DIGITS.images[:50]))


@pytest.mark.parametrize("net", ["small", lambda shape, classes: nn.Sequential(nn.Flatten(), nn.Linear(64, classes))])
def test_the_weights_are_those_of_a_local_fit(net, local, ray):
    expected = fit(net=net)
    for workers in (1, 2):
        same(fit(MemberTrainer(local(workers=workers), ray), net), expected)


class Dying(nn.Module):
    """A network whose first process dies."""

    def __init__(self, path):
        super().__init__()
        self.path, self.linear = path, nn.Linear(64, 10)

    def forward(self, images):
        if (
            torch.is_grad_enabled()
            and not Path(self.path).exists()
            and "ray::" in Path("/proc/self/cmdline").read_text()
        ):
            Path(self.path).write_text("")
            os.kill(os.getpid(), signal.SIGKILL)
        return self.linear(images.flatten(1))


def test_a_group_whose_worker_was_killed_is_trained_again(local, ray, tmp_path):
    path = str(tmp_path / "dead")
    found = fit(MemberTrainer(local(), ray), lambda shape, classes: Dying(path))
    assert Path(path).exists()
    same(found, fit(net=lambda shape, classes: Dying(path)))


def test_images_are_put_once(local, ray, monkeypatch):
    monkeypatch.setattr(members, "BLOCK", 50)
    trainer = MemberTrainer(local(), ray)
    fit(trainer, count=100)
    assert trainer.puts == 2 + 6
    fit(trainer, count=120)
    assert trainer.puts == 2 + 6 + 1, "the new labels; the other images are there already"


def test_an_error_is_the_members_own(local, ray):
    with pytest.raises(TrainingError, match=r"^member \d, epoch 1: expected a finite training loss, got (nan|inf)"):
        fit(MemberTrainer(local(), ray), training=TRAINING | {"rate": 1e30, "optimiser": "sgd"})


def test_another_processor_is_rejected(local, ray, monkeypatch):
    monkeypatch.setattr(members.runtime, "arithmetic", lambda device: "another processor")
    with pytest.raises(InputError, match="expected another processor, as where the campaign runs, got .* on a worker"):
        fit(MemberTrainer(local(), ray))
    fit(MemberTrainer(local(accept_different=True), ray))


def test_a_fit_stops_at_once_on_request(local, ray):
    class EnoughError(Exception):
        pass

    def progress(epochs, ended):
        raise EnoughError

    ensemble = vs.Ensemble("small", members=4, training=TRAINING | {"epochs": 5_000, "patience": 5_000}, threads=1,
                           progress=progress, trainer=MemberTrainer(local(), ray))  # fmt: skip
    with pytest.raises(EnoughError):
        ensemble.fit(DIGITS.images[:40], DIGITS.labels[:40], validation=(DIGITS.images[:9], DIGITS.labels[:9]))


def test_a_campaign_has_the_results_of_the_local_executor(local, tmp_path):
    small, heard = config("budget.total=20", "ensemble.members=10"), []
    vs.run(small, methods=["gvd"], seeds=[0], out=tmp_path / "local", progress=False)
    executor = local(spread="members")
    result = vs.run(small, methods=["gvd"], seeds=[0], out=tmp_path / "ray", progress=heard.append, executor=executor)
    assert result.failed == {}
    here, there = (read_campaign(tmp_path / name / "gvd" / "0").rounds for name in ("local", "ray"))
    assert [(r.asked, r.answers, r.metrics) for r in here] == [(r.asked, r.answers, r.metrics) for r in there]
    assert max(news.share for news in heard if news.stage == "fit") == 1.0
