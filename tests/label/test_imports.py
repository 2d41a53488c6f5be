"""Labels that are there before the first click: they come on top of the budget, and what fits no image is said."""

import pytest

import versionspace as vs
from versionspace.label.desk import Desk


@pytest.fixture
def table(folder, tmp_path):
    """Labels for 80 of the 120 images, in a file of its own."""
    path = tmp_path / "known.csv"
    files = sorted(f.name for f in folder.photos.iterdir())[:80]
    path.write_text("file,label\n" + "".join(f"{f},{n % 3}\n" for n, f in enumerate(files)))
    return path


def left(campaign):
    """Labels that the person is still asked for."""
    desk = Desk(campaign)
    assert desk.total - desk.spent() == campaign.budget - campaign.state.spent()
    return desk.total - desk.spent()


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


def test_names_that_fit_no_image_are_said_once(folder, table, caplog):
    with table.open("a") as more:
        more.write("".join(f"gone/{n}.png,1\n" for n in range(7)))
    vs.label_folder(folder.photos, folder.classes, budget=30, net="small", labels=table).close()
    assert caplog.messages == [
        "known.csv: 7 of its names fit no image of the folder, such as gone/0.png, gone/1.png, gone/2.png"
    ]
    caplog.clear()
    vs.label_folder(folder.photos).close()
    assert caplog.messages == []


def test_names_in_the_folders_own_table_that_fit_no_image_are_said(folder, table, caplog):
    (folder.photos / "labels.csv").write_text(table.read_text() + "lost.png,1\n")
    vs.label_folder(folder.photos, folder.classes, budget=30, net="small").close()
    (said,) = caplog.messages
    assert "1 of its names fit no image of the folder, such as lost.png" in said


def test_when_all_fit_nothing_is_said(folder, table, caplog):
    vs.label_folder(folder.photos, folder.classes, budget=30, net="small", labels=table).close()
    assert caplog.messages == []
