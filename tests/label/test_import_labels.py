"""Labels that are there before the first click: they come on top of the budget, and what fits no image is said."""

import socket

import pytest
from typer.testing import CliRunner

import versionspace as vs
from versionspace.cli.label import label
from versionspace.cli.main import app
from versionspace.errors import InputError
from versionspace.label.create import new_config
from versionspace.label.export import labels_csv
from versionspace.label.service import LabelService

UNLABELLED = ("unsure", "bad image", "skipped")


@pytest.fixture
def table(folder, tmp_path):
    """Labels for 80 of the 120 images, in a file of its own."""
    path = tmp_path / "known.csv"
    files = sorted(f.name for f in folder.photos.iterdir())[:80]
    path.write_text("file,label\n" + "".join(f"{f},{n % 3}\n" for n, f in enumerate(files)))
    return path


def left(campaign):
    """Labels that the person is still asked for."""
    service = LabelService(campaign)
    assert service.budget - service.spent() == campaign.budget - campaign.state.spent()
    return service.budget - service.spent()


def test_the_budget_is_what_the_person_gives_and_so_is_a_larger_one(folder, table):
    with vs.label_folder(folder.photos, folder.classes, budget=30, net="small", labels=table) as campaign:
        known = campaign.state.spent()
        assert 0 < known < 80, "images that only measure distances are left out"
        assert left(campaign) == 30
        image = next(i for i, label in campaign.state.labels.items() if label.name)
        campaign.accept({image: "2"}, who="anna")  # a correction costs nothing
    for budget, wanted in ((30, 30), (22, 30), (40, 40), (40, 40), (35, 40), (None, 40)):
        with vs.label_folder(folder.photos, budget=budget) as campaign:
            assert left(campaign) == wanted, budget
            assert campaign.state.spent() == known


def test_class_folders_come_on_top_too(folder):
    for number, file in enumerate(sorted(folder.photos.glob("*.png"))[:60]):
        (folder.photos / str(number % 3)).mkdir(exist_ok=True)
        file.rename(folder.photos / str(number % 3) / file.name)
    with vs.label_folder(folder.photos, folder.classes, budget=25, net="small") as campaign:
        assert 0 < campaign.state.spent() < 60
        assert left(campaign) == 25


def test_the_same_command_goes_on_later(folder, table, caplog):
    command = {"classes": folder.classes, "budget": 30, "net": "small", "labels": table}
    with vs.label_folder(folder.photos, **command) as campaign:
        image = next(i for i, label in campaign.state.labels.items() if label.name == "0")
        campaign.accept({image: "2"}, who="anna")
        before = {i: label.name for i, label in campaign.state.labels.items()}
    for _ in range(2):
        caplog.clear()
        with vs.label_folder(folder.photos, **command) as campaign:
            assert {i: label.name for i, label in campaign.state.labels.items()} == before
            assert campaign.budget == 30 + len(before)
        assert caplog.messages == [
            f"known.csv: {len(before)} of its labels were imported when the campaign began; it is not imported again"
        ]
    table.unlink()
    vs.label_folder(folder.photos, **command).close()


def test_another_file_of_labels_is_still_refused_later(folder, table):
    vs.label_folder(folder.photos, folder.classes, budget=30, net="small", labels=table).close()
    other = table.rename(table.with_name("other.csv"))
    with pytest.raises(InputError, match="--labels: expected no change for the campaign"):
        vs.label_folder(folder.photos, labels=other)


def test_the_same_command_goes_on_though_all_labels_were_of_images_that_are_held_out(folder, tmp_path):
    with vs.label_folder(folder.photos, folder.classes, budget=30, net="small") as campaign:
        held = campaign.images.files[campaign.images.roles.reference[0]]
    table = tmp_path / "one.csv"
    table.write_text(f"file,label\n{held},1\n")
    kept = {"campaign": tmp_path / "kept", "labels": table}
    with vs.label_folder(folder.photos, folder.classes, budget=30, net="small", **kept) as campaign:
        assert campaign.state.labels == {}
        campaign.propose()
    with vs.label_folder(folder.photos, folder.classes, **kept) as campaign:
        assert campaign.state.labels == {}


def test_rows_may_name_any_copy_of_an_image(folder, tmp_path, caplog):
    """The folder keeps one of the files; the table names the other, or both, or says two things of them."""
    files = sorted(f.name for f in folder.photos.iterdir())[:60]
    for file in files:
        (folder.photos / f"z{file}").write_bytes((folder.photos / file).read_bytes())
    table = tmp_path / "known.csv"
    rows = [(f"z{f}", 1) for f in files] + [(files[0], 2), (files[1], 1)]
    table.write_text("file,label\n" + "".join(f"{f},{label}\n" for f, label in rows))
    _, found = new_config(folder.photos, folder.classes, labels=table, net="small")
    dataset = vs.data.load(folder.photos, progress=False)
    named = {dict(zip(dataset.train.ids.tolist(), dataset.train.files, strict=True))[i] for i in found.names}
    assert named == set(files[1:])
    assert set(found.names.values()) == {"1"}
    assert found.unknown == ()
    vs.label_folder(folder.photos, folder.classes, budget=30, net="small", labels=table).close()
    assert caplog.messages[1:] == [
        f"known.csv: not imported: 2 with several classes: z{files[0]} (1, 2), {files[0]} (1, 2)"
    ]


@pytest.mark.parametrize("way", ["--labels", "labels.csv"])
def test_what_export_writes_as_csv_is_read_back(folder, tmp_path, way):
    """Labels, a skipped image and one that is gone; files and classes that a spreadsheet would take for formulas."""
    classes = ("-1", "=x", "cat")
    for number, file in enumerate(sorted(folder.photos.iterdir())):
        file.rename(folder.photos / f"{'=+-@'[number % 4]}{file.name}")
    with vs.label_folder(folder.photos, classes, budget=60, net="small") as campaign:
        ids = campaign.propose().ids
        answers = {image: (*classes, None)[n % 4] for n, image in enumerate(ids)}
        campaign.accept(answers)
        files = campaign.images.files
    (folder.photos / files[ids[0]]).unlink()
    table = folder.photos / "labels.csv" if way == "labels.csv" else tmp_path / "out.csv"
    done = CliRunner().invoke(app, ["export", str(campaign.folder.path), "--labels", "csv", "--out", str(table)])
    assert done.exit_code == 0, done.output
    _, found = new_config(folder.photos, classes, labels=None if way == "labels.csv" else table, net="small")
    assert found.names == {image: name for image, name in answers.items() if name is not None and image != ids[0]}
    assert len(found.unknown) == 1
    assert found.unknown[0].endswith(files[ids[0]])


@pytest.mark.parametrize("form", ["csv", "label-studio", "page"])
def test_why_an_image_has_no_class_survives_the_way_out_and_is_said_on_the_way_in(folder, tmp_path, caplog, form):
    with vs.label_folder(folder.photos, folder.classes, budget=120, net="small") as campaign:
        ids = campaign.propose().ids
        reasons = dict(zip(ids, ("unsure", "bad image", "skipped", None, "undone"), strict=False))
        campaign.accept(dict.fromkeys(ids, "1"))
        for image, reason in reasons.items():
            campaign.accept({image: None}, shown={"reason": reason} if reason else {})
        files, state = campaign.images.files, campaign.state
    out = tmp_path / "out.txt"
    if form == "page":
        out.write_text(labels_csv(state, files))
    else:
        export = ["export", str(campaign.folder.path), "--labels", form, "--out", str(out)]
        assert CliRunner().invoke(app, export).exit_code == 0
    caplog.set_level("INFO")
    with vs.label_folder(
        folder.photos, folder.classes, net="small", labels=out, campaign=tmp_path / "other", budget=40
    ) as again:
        taken = set(again.state.labels)
    unit = "tasks" if form == "label-studio" else "rows"
    held_out = sorted(files[i] for i in set(ids) - set(reasons) - taken)
    assert held_out
    names = {reason: [files[i] for i, why in reasons.items() if (why or "skipped") == reason] for reason in UNLABELLED}
    said = [message for message in caplog.messages if not message.startswith("Reading ")]
    assert said[:4] == [
        f"out.txt: {len(taken)} of {len(ids) - 1} {unit} imported",
        f"out.txt: not imported: 1 without a class (bad image): {names['bad image'][0]}",
        f"out.txt: not imported: 2 without a class (skipped): {', '.join(names['skipped'])}",
        f"out.txt: not imported: 1 without a class (unsure): {names['unsure'][0]}",
    ]
    assert said[4].startswith(f"out.txt: not imported: {len(held_out)} held out to measure on: ")


def test_names_that_fit_no_image_are_said_once(folder, table, caplog):
    with table.open("a") as more:
        more.write("".join(f"gone/{n}.png,1\n" for n in range(7)))
    vs.label_folder(folder.photos, folder.classes, budget=30, net="small", labels=table).close()
    assert caplog.messages[1:] == [
        "known.csv: not imported: 7 without exactly one matching image: gone/0.png, gone/1.png, gone/2.png, "
        "gone/3.png, gone/4.png and 2 more"
    ]
    caplog.clear()
    vs.label_folder(folder.photos).close()
    assert caplog.messages == []


def test_names_in_the_folders_own_table_that_fit_no_image_are_said(folder, table, caplog):
    (folder.photos / "labels.csv").write_text(table.read_text() + "lost.png,1\n")
    vs.label_folder(folder.photos, folder.classes, budget=30, net="small").close()
    assert caplog.messages[1:] == [
        "class folders or labels.csv: not imported: 1 without exactly one matching image: lost.png"
    ]


def test_when_all_fit_nothing_is_warned_of(folder, table, caplog):
    vs.label_folder(folder.photos, folder.classes, budget=30, net="small", labels=table).close()
    assert caplog.messages == []


def test_the_command_says_how_many_rows_it_imports(folder, table, capfd):
    with socket.create_server(("127.0.0.1", 0)) as taken, pytest.raises(InputError, match="--port"):
        label(folder.photos, "0,1,2", net="small", labels=table, port=taken.getsockname()[1], browser=False)
    with vs.label_folder(folder.photos) as campaign:
        rows = len(table.read_text().splitlines()) - 1
        assert f"known.csv: {campaign.state.spent()} of {rows} rows imported\n" in capfd.readouterr().err


def test_of_the_folders_own_table_the_labels_of_the_chosen_classes_are_taken(folder, table, caplog):
    """Labels of 0, 1 and 2 are there; 0 and 1 are chosen."""
    (folder.photos / "labels.csv").write_text(table.read_text())
    with vs.label_folder(folder.photos, ("1", "0"), budget=30, net="small") as campaign:
        given = {campaign.images.files[i]: label.name for i, label in campaign.state.labels.items()}
        assert campaign.budget == 30 + len(given)
    rows = dict(line.split(",") for line in table.read_text().splitlines()[1:])
    assert given == {file: rows[file] for file in given}
    assert set(given.values()) == {"0", "1"}
    assert caplog.messages == [
        "class folders or labels.csv: labels of 2 are not imported, since 2 is not among the classes 1, 0"
    ]


def test_that_none_of_its_classes_was_chosen_is_said_too(folder, table, caplog):
    (folder.photos / "labels.csv").write_text(table.read_text() + "lost.png,1\n")
    with vs.label_folder(folder.photos, ("cat", "dog"), budget=30, net="small") as campaign:
        assert campaign.state.labels == {}
    count, first, second = caplog.messages
    assert count.endswith("labels.csv: 0 of 1 images imported")
    assert "not imported: 1 without exactly one matching image: lost.png" in first
    assert "labels of 0, 1, 2 are not imported, since 0, 1, 2 are not among the classes cat, dog" in second


def sorted_into(photos, names):
    """Moves the images into folders of these names."""
    for number, file in enumerate(sorted(photos.glob("*.png"))):
        place = photos / names[number % len(names)]
        place.mkdir(parents=True, exist_ok=True)
        file.rename(place / file.name)


def test_where_some_folders_have_other_names_none_is_a_label_and_that_is_said(folder, caplog):
    sorted_into(folder.photos, ("0", "1", "2023"))
    with vs.label_folder(folder.photos, folder.classes, budget=30, net="small") as campaign:
        assert campaign.state.labels == {}
    assert caplog.messages == [
        "class folders or labels.csv: folder names are not imported, since 2023 is not among the classes 0, 1, 2"
    ]


def test_folders_of_which_none_has_the_name_of_a_class_need_no_word(folder, caplog):
    sorted_into(folder.photos, ("2023", "2024"))
    vs.label_folder(folder.photos, folder.classes, budget=30, net="small").close()
    assert caplog.messages == []


@pytest.mark.parametrize("new", ["train/bird", "val/bird", "test/bird"])
def test_a_folder_that_comes_later_changes_nothing_for_a_campaign_that_has_begun(folder, new):
    classes = ("0", "1", "2")
    sorted_into(folder.photos, [f"{part}/{name}" for part in ("train", "train", "val", "test") for name in classes])
    with vs.label_folder(folder.photos, classes, budget=30, net="small") as campaign:
        assert len(campaign.images.roles.validation) == len(campaign.images.roles.test) == 30
        truth = {name: campaign.images.truth(name).tolist() for name in ("validation", "test")}
        labels = len(campaign.state.labels)
        assert labels == 60
    other = folder.photos / new / "0.png"
    other.parent.mkdir()
    other.write_bytes(min((folder.photos / "train/0").iterdir()).read_bytes() + b"\0")
    with vs.label_folder(folder.photos) as again:
        assert again.state.missing == frozenset()
        assert len(again.state.labels) == labels
        assert {name: again.images.truth(name).tolist() for name in truth} == truth


def test_validation_and_test_in_folders_of_other_names_have_no_truth(folder):
    sorted_into(folder.photos, [f"{part}/{name}" for part in ("train", "train", "val", "test") for name in ("0", "x")])
    with vs.label_folder(folder.photos, folder.classes, budget=30, net="small") as campaign:
        assert len(campaign.images.roles.validation) == len(campaign.images.roles.test) == 30, "all of them"
        assert campaign.images.truth("validation") is campaign.images.truth("test") is None
        assert campaign.state.labels == {}
    with vs.label_folder(folder.photos) as again:
        assert again.images.truth("validation") is None
