"""Configs: validated when read, with errors that name the mistake, and read back as they were written."""

import re
import tomllib

import pytest

from versionspace.config import PRESETS, differences, parse_config, preset_text, read_config, to_toml, with_changes
from versionspace.data import SPLIT_SIZES
from versionspace.ensemble import TRAININGS
from versionspace.errors import InputError

LEAST = "[data]\nname = 'digits'\n[budget]\ntotal = 50\n"


@pytest.mark.parametrize("preset", PRESETS)
def test_presets_are_read_and_round_trip(preset):
    config = read_config(preset)
    assert config.preset == preset
    assert parse_config(to_toml(config)) == config
    assert preset_text(preset).startswith("# ")


PAPER = {  # the paper's table "Settings": pool/val/test, members, init/query/total, runs
    "mnist": (45000, 5000, 10000, "conv2", 20, 10, 5, 400, 4),
    "fashion-mnist": (55000, 5000, 10000, "conv3", 20, 10, 10, 1000, 4),
    "svhn": (40000, 5000, 15000, "conv6", 20, 100, 20, 3000, 4),
    "stl10": (4000, 1000, 8000, "resnet18", 20, 100, 40, 2580, 3),
}


@pytest.mark.parametrize("name", PAPER)
def test_paper_presets_are_the_papers_settings(name):
    config = read_config(f"paper/{name}")
    data = config.data
    found = (data.pool, data.validation, data.test, config.ensemble.net, config.ensemble.members, data.initial,
             config.query.size, config.budget.total, len(config.grid.seeds))  # fmt: skip
    assert found == PAPER[name]
    assert config.training_for(True) == TRAININGS[name]
    assert config.grid.methods == ("random", "vr", "ge", "bald", "coreset", "dfal", "pwd", "gvd", "m2-pwd")
    assert (data.pool, data.validation, data.test, data.initial) == (
        SPLIT_SIZES[name].pool, SPLIT_SIZES[name].validation, SPLIT_SIZES[name].test, SPLIT_SIZES[name].initial
    )  # fmt: skip
    assert config.budget.audit == 0
    assert config.stop.when == ""
    assert (config.budget.total - data.initial) % config.query.size == 0


@pytest.mark.parametrize("name", PAPER)
def test_small_presets_keep_the_papers_protocol(name):
    small, paper = read_config(f"small/{name}"), read_config(f"paper/{name}")
    assert small.ensemble.net == paper.ensemble.net
    assert small.data.pool < paper.data.pool
    assert small.budget.total < paper.budget.total
    header = preset_text(f"small/{name}").partition("[data]")[0]
    assert f"versionspace run small/{name}" in header
    assert "Measured on two cores" in header
    assert re.search(
        r"accuracy and PWD in percent: random [\d.]+ and [\d.]+, gvd [\d.]+ and [\d.]+", " ".join(header.split("\n# "))
    )
    assert (small.budget.total - small.data.initial) % small.query.size == 0


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("budget", "TOML"),
        (LEAST + "[quary]\nsize = 3\n", "Did you mean query"),
        (LEAST + "[query]\nsizes = 3\n", "Did you mean query.size?"),
        (LEAST + "[query]\nmethod = 'gdv'\n", "gvd"),
        (LEAST + "[query]\nsize = 0\n", "greater than or equal to 1, got 0"),
        (LEAST + "[query]\nsize = '5'\n", "query.size"),
        (LEAST + "[training]\nepoks = 3\n", "epochs"),
        (LEAST + "[training]\nrate = -1.0\n", "training.rate: expected a positive number, got -1.0"),
        (LEAST + "[training]\nrate = 'fast'\n", "training.rate: expected a positive number, got 'fast'"),
        (LEAST + "[training]\nrate = inf\n", "training.rate"),
        (LEAST + "[training]\nepochs = 'many'\n", "training.epochs: expected a whole number of at least 1, got 'many'"),
        (LEAST + "[training]\nepochs = 2.5\n", "training.epochs: expected a whole number of at least 1, got 2.5"),
        (LEAST + "[training]\nbatch = true\n", "training.batch"),
        (LEAST + "[training]\nmomentum = [1]\n", "training.momentum"),
        (LEAST + "[training]\nlike = 3\n", "mnist"),
        (LEAST + "[query]\nmethod = 'badge'\nmember = 'all'\n", "query.member: expected the number of a member"),
        (LEAST + "[ensemble]\nnet = 'conv9'\n", "conv6"),
        ("[data]\nname = 'digits'\n", "a value for budget"),
        (
            "[data]\nname = 'digits'\ninitial = 60\n[budget]\ntotal = 50\n",
            "budget.total: expected at least data.initial (60) plus",
        ),
        (
            "[data]\nname = 'digits'\n[budget]\ntotal = 50\naudit = 50\n",
            "budget.audit: expected fewer labels than budget.total, 50, got 50.",
        ),
        ("[data]\nname = 'x'\nclasses = ['a', 'a']\n[budget]\ntotal = 50\n", "distinct"),
        (LEAST + "[oracle]\nnoise = 1.5\n", "less than or equal to 1"),
        (LEAST + "[grid]\nseeds = [-1]\n", "at least 0"),
    ],
)
def test_a_mistake_is_named(text, message):
    with pytest.raises(InputError) as error:
        parse_config(text, "mine.toml")
    assert "mine.toml" in str(error.value)
    assert message in str(error.value)


def test_a_config_is_read_with_changes():
    config = read_config(
        "demo", ["budget.total=200", "data.name=digits", "training.epochs = 7", "stop.when=flat(2, 0.1)"]
    )
    assert config.budget.total == 200
    assert config.training_for(True).epochs == 7
    assert config.stop.when == "flat(2, 0.1)"


def test_a_config_is_copied_with_changes():
    before = read_config("demo")
    after = with_changes(before, ["budget.total=200"])
    assert (before.budget.total, after.budget.total, after.preset) == (100, 200, "demo")
    assert differences(before, after) == ["budget.total: 100 before, 200 now"]
    with pytest.raises(InputError, match="Did you mean budget.total?"):
        with_changes(before, ["budget.totle=200"])


@pytest.mark.parametrize("change", ["budget", "=3", "budget.=3", "preset.x=1"])
def test_invalid_changes_are_rejected(change):
    with pytest.raises(InputError, match="section.key=value"):
        read_config("demo", [change])


def test_files_are_read_and_missing_files_are_named(tmp_path):
    (tmp_path / "mine.toml").write_text(LEAST)
    assert read_config(tmp_path / "mine.toml").budget.total == 50
    with pytest.raises(InputError, match="small/mnist"):
        read_config("smal/mnist")
    with pytest.raises(InputError, match="which is a folder"):
        read_config(tmp_path)
    (tmp_path / "latin.toml").write_bytes(b"name = '\xe9'")
    with pytest.raises(InputError, match="can be read"):
        read_config(tmp_path / "latin.toml")


def test_differences_leave_out_settings_that_do_not_affect_results():
    demo = read_config("demo")
    assert differences(demo, read_config("demo", ["machine.threads=7", "grid.seeds=[5]"])) == []
    assert differences(demo, read_config("demo", ["budget.total=60", "training.epochs=3"])) == [
        "budget.total: 100 before, 60 now",
        "training.epochs: nothing before, 3 now",
    ]


def test_a_campaign_of_the_grid_has_its_method_and_seed_and_no_grid():
    one = read_config("demo", ["query.vote=hard"]).campaign("ge", 4)
    assert (one.query.method, one.seed, one.grid.methods) == ("ge", 4, ())
    assert one.query.vote == "soft"  # ge ignores it


@pytest.mark.parametrize("grid", [[], ['grid.methods=["random","gvd"]']])
def test_the_vote_is_passed_only_to_methods_that_use_it(grid):
    shared = read_config("demo", ["query.method=random", "query.vote=hard", *grid])
    assert shared.campaign("gvd", 0).query.vote == "hard"
    assert shared.campaign("random", 0).query.vote == "soft"
    assert parse_config(to_toml(shared)) == shared


def test_toml_is_written_without_empty_sections():
    text = to_toml(read_config("demo"))
    assert "null" not in text
    assert tomllib.loads(text)["data"]["pool"] == 1000


HEADS = LEAST + "[ensemble]\nnet = 'heads'\n"


def test_the_default_extractor_is_not_written():
    """Networks that see pixels have none."""
    config = parse_config(HEADS)
    assert config.ensemble.extractor == "lite0"
    assert "extractor" not in to_toml(config)
    other = parse_config(HEADS, changes=["ensemble.extractor=lite2"])
    assert parse_config(to_toml(other)) == other
    assert other.campaign("gvd", 3).ensemble.extractor == "lite2"
    assert differences(config, other) == ["ensemble.extractor: nothing before, 'lite2' now"]


@pytest.mark.parametrize(
    ("extractor", "message"),
    [
        (
            "lte0",
            "config: ensemble.extractor: expected one of lite0, lite1, .*:function, got 'lte0'. Did you mean 'lite0'",
        ),
        ("hf:", "got 'hf:'. For example hf:facebook/dinov2-small, or hf:FOLDER"),
        (3, "config: ensemble.extractor: expected a valid string, got 3"),
    ],
)
def test_an_unknown_extractor_is_rejected(extractor, message):
    with pytest.raises(InputError, match=message):
        parse_config(HEADS, changes=[f"ensemble.extractor={extractor}"])


@pytest.mark.parametrize("net", ["conv6", "versionspace.nets.architectures:small"])
def test_networks_that_see_pixels_have_no_extractor(net):
    changes = [f"ensemble.net={net}", "ensemble.extractor=lite0"]
    assert parse_config(LEAST, changes=changes).ensemble.net == net
    with pytest.raises(InputError, match=f"ensemble.extractor: expected none, since {net} sees pixels, got 'lite1'"):
        parse_config(LEAST, changes=[*changes, "ensemble.extractor=lite1"])


def test_the_path_of_an_extractor_is_made_absolute(tmp_path, monkeypatch):
    (tmp_path / "model").mkdir()
    monkeypatch.chdir(tmp_path)
    assert parse_config(HEADS, changes=["ensemble.extractor=hf:model"]).ensemble.extractor == f"hf:{tmp_path}/model"
