"""A campaign that cannot run is rejected before anything is written."""

import numpy as np
import pytest
from PIL import Image

from campaign.tiny import TOML, config
from versionspace.campaign import Campaign
from versionspace.campaign.datasets import Datasets
from versionspace.campaign.grid import run
from versionspace.campaign.validation import validate_campaign
from versionspace.errors import InputError
from versionspace.query import METHODS

WRONG = [
    (["data.pool=99999"], "too few"),
    (["data.name=nowhere"], "a folder of images, a features file or one of"),
    (["query.method=badge", "query.member=7"], "query.member: expected one of 3 members, 0 to 2"),
    (["query.method=badge", "query.member=-1"], "query.member: expected one of 3 members, 0 to 2"),
    (["ensemble.members=1"], "ensemble.members: expected at least 2, since gvd"),
    (["query.method=bald", "query.member=all", "ensemble.members=1"], "at least 2, since bald"),
    (["ensemble.net=no_such_module:x"], "can be imported"),
    (["ensemble.net=heads"], "training: expected"),
    (
        ["data.pool=4", "data.validation=0", "data.initial=2", "data.balanced=false"],
        "a pool of 4 and no validation set",
    ),
    (["machine.device=cuda:77"], "a device of this machine, got 'cuda:77'"),
    (["stop.when=flat(1.5, 0.1)"], "whole number"),
    (["stop.when=budget(20) | audit(0.9)"], "an audit for audit"),
    (["stop.when=accuracy(0.9)", "data.validation=0"], "none on validation"),
    (["stop.when=accuracy(0.9, on='pool')", "measure.pool=false"], "none on pool"),
    (["stop.when=accuracy(0.9, on='reference')"], "none on reference"),
    (["stop.when=budget(10)"], "with 10 first labels, got budget"),
    (["stop.when=budget(5) & diameter(0.1)"], "with 10 first labels, got budget"),
]


@pytest.mark.parametrize("net", [":x", ".a:b", "a..b:c", "a:", ":", "conv9"])
def test_a_malformed_path_of_a_network_is_rejected(net):
    with pytest.raises(InputError, match=r"ensemble.net: expected .*or package.module:function, got"):
        config(f"ensemble.net={net}")


@pytest.mark.parametrize(("changes", "said"), WRONG)
def test_a_campaign_that_cannot_run_is_rejected_before_anything_is_written(changes, said, tmp_path):
    with pytest.raises(InputError, match=said):
        Campaign.create(tmp_path / "c", config(*changes))
    with pytest.raises(InputError, match=said):
        run(config(*changes), out=tmp_path / "grid", progress=False)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("audit", "least"), [(0, 10), (3, 13)])
def test_the_first_labels_and_the_audit_must_fit_into_the_budget(audit, least, tmp_path):
    """The default is ten first labels."""
    toml = TOML.replace("initial = 10\n", "")
    with pytest.raises(InputError, match=f"budget.total: expected at least {least}"):
        Campaign.create(tmp_path / "c", config(f"budget.total={least - 1}", f"budget.audit={audit}", toml=toml))
    assert not (tmp_path / "c").exists()
    enough = config(f"budget.total={least}", f"budget.audit={audit}", toml=toml)
    with Campaign.create(tmp_path / "c", enough) as campaign:
        assert campaign.run().state.spent() == least


@pytest.mark.parametrize(
    "changes",
    [
        ["query.member=all"], ["query.member=2"], ["ensemble.members=1", "query.method=random"],
        ["ensemble.members=1", "query.method=bald"],
        ["stop.when=audit(0.9) | accuracy(0.9, on='test')", "budget.audit=5"],
        ["stop.when=accuracy(0.9, on='reference')", "data.validation=0"], ["stop.when=accuracy(0.9, on='pool')"],
        ["stop.when=budget(11)"], ["stop.when=budget(500) | flat(100, 0.1)"],
        ["stop.when=budget(5)", "oracle.abstain=0.9"],
        *[[f"query.method={method}"] for method in METHODS],
    ],
)  # fmt: skip
def test_valid_configs_are_accepted(changes):
    assert len(validate_campaign(config(*changes), Datasets()).roles.initial) == 10


def test_a_grid_needs_a_dataset_with_labels(tmp_path):
    (tmp_path / "photos").mkdir()
    for i in range(20):
        Image.fromarray(np.full((8, 8), 10 * i, np.uint8)).save(tmp_path / "photos" / f"{i}.png")
    toml = f"[data]\nname = '{tmp_path / 'photos'}'\nbalanced = false\n[budget]\ntotal = 5\n"
    with pytest.raises(InputError, match="a dataset whose pool has labels"):
        run(config(toml=toml), methods=["random"], out=tmp_path / "grid", progress=False)
    assert not (tmp_path / "grid").exists()


def test_a_person_may_label_fewer_images_than_a_model_needs(tmp_path):
    few = ("data.pool=4", "data.validation=0", "data.initial=0", "budget.total=4")
    with Campaign.create(tmp_path / "c", config("oracle.kind=person", *few)) as campaign:
        assert len(campaign.propose().ids) == 4
