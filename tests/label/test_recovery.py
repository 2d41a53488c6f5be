"""No acknowledged answer is lost when servers and trainers are killed while people label."""

import os
import signal
import threading
import time
from collections import Counter
from hashlib import sha256
from pathlib import Path

import pytest

from label.conftest import Folder
from label.crowd import Crowd
from label.serving import Client, Server
from versionspace.store import Ledger, read_campaign, verify

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="finds child processes through /proc"),
]


def children(pid):
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[1]) == pid and fields[0] != "Z":
            found.append(int(stat.parent.name))
    return found


def alive(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def until(condition, seconds=60):
    limit = time.monotonic() + seconds
    while time.monotonic() < limit:
        if found := condition():
            return found
        time.sleep(0.05)
    raise AssertionError("timed out")


def trainer_of(server):
    return until(lambda: children(server.process.pid), 20)[0]


def assert_all_kept(server, crowd):
    """Every acknowledged answer is one event about its own image, and the ledger has no problems."""
    with Ledger.view(server.folder / "ledger.sqlite") as ledger:
        answered = [e for e in ledger.events() if e.kind == "answered"]
    stored = {e.uid: (e.body["id"], e.body["class"]) for e in answered}
    assert len(stored) == len(answered), "an answer was stored twice"
    assert crowd.acknowledged.items() <= stored.items(), "an acknowledged answer was lost"
    assert all(server.truth[image] == name for image, name in stored.values())
    assert read_campaign(server.folder).state.problems == []


def test_the_server_may_be_killed_at_any_moment(folder):
    with Server(folder.campaign(70)) as server:
        server.truth = folder.truth
        crowd = Crowd(server, 3, 60, pause=0.1)
        labelling = threading.Thread(target=crowd.run)
        labelling.start()
        orphans = []
        for wanted in (8, 25):
            until(lambda: len(crowd.acknowledged) >= wanted)  # noqa: B023 — called at once
            orphans += children(server.process.pid)
            server.kill()
            server.start()
        labelling.join()
        assert crowd.errors == []
        until(lambda: not any(alive(pid) for pid in orphans), 10)
        assert server.stop() == 130
        assert_all_kept(server, crowd)
        assert verify(server.folder) == {server.folder: []}
        twice = [image for image, who in crowd.served.items() if len(who) > 1]
        assert len(twice) <= 2 * 3 * 3, "only images on a screen when the server died may be served again"


def test_labelling_continues_when_the_trainer_is_killed(folder):
    with Server(folder.campaign(100)) as server:
        server.truth = folder.truth
        client = Client(server)
        first = trainer_of(server)
        for n in range(12):
            image = client.next()["tasks"][0]["image"]
            client.answer(image, server.truth[image], f"before-{n}")
        until(lambda: client.status()["training"]["stage"] in ("fit", "predict", "measure", "query") or
              client.status()["round"])  # fmt: skip
        os.kill(first, signal.SIGKILL)
        told = until(lambda: (s := client.status())["training"]["stage"] == "down" and s, 10)
        assert "-9" in told["training"]["trouble"]
        image = client.next()["tasks"][0]["image"]
        assert client.answer(image, server.truth[image], "while-down")["taken"] == ["while-down"]
        second = until(lambda: [pid for pid in children(server.process.pid) if pid != first], 20)[0]
        until(lambda: client.status()["round"] >= 1)

        split = server.folder / "split.npz"
        hidden = split.rename(split.with_name("hidden.npz"))
        os.kill(second, signal.SIGKILL)
        told = until(lambda: "split.npz" in (s := client.status())["training"]["trouble"] and s, 30)
        assert client.next()["tasks"], "labelling continues without a trainer"
        hidden.rename(split)
        until(lambda: client.status()["training"]["stage"] == "idle", 30)
        client.close()


def test_a_restarted_trainer_leaves_out_missing_images(folder):
    def label(count):
        for _ in range(count):
            image = client.next()["tasks"][0]["image"]
            client.answer(image, server.truth[image])
        return image

    def problems_after_kill(images):
        """Kill the trainer, wait for a round of the next one on this many images, and return the page's problems."""
        old = trainer_of(server)
        os.kill(old, signal.SIGKILL)
        until(lambda: [pid for pid in children(server.process.pid) if pid != old], 20)
        label(12)
        until(lambda: read_campaign(server.folder).measured_rounds()[-1].metrics.sets["pool"].images == images)
        return client.status()["troubles"]

    with Server(folder.campaign(100)) as server:
        server.truth = folder.truth
        client = Client(server)
        image = label(12)
        until(lambda: client.status()["round"] >= 1)
        file = next(f for f in folder.photos.iterdir() if sha256(f.read_bytes()).hexdigest() == image)
        content = file.read_bytes()
        file.unlink()
        assert [text.partition(",")[0] for text in problems_after_kill(119)] == [f"{file.name}: missing"]
        file.write_bytes(content)
        assert problems_after_kill(120) == []
        assert read_campaign(server.folder).state.problems == []
        client.close()


def test_many_people_label_while_training_runs(tmp_path, monkeypatch):
    monkeypatch.setenv("VERSIONSPACE_CACHE", str(tmp_path / "cache"))
    folder = Folder(tmp_path, 700, 10)
    with Server(folder.campaign(400)) as server:
        server.truth = folder.truth
        crowd = Crowd(server, 8, 10_000).run()
        assert crowd.errors == []
        assert_all_kept(server, crowd)
        record = read_campaign(server.folder)
        assert record.spent == 400
        times = Counter(image for image, _ in crowd.acknowledged.values())
        assert {image for image, n in times.items() if n > 1} <= crowd.again, "asked twice without a second look"
        until(lambda: read_campaign(server.folder).ended == "budget")
        assert server.stop() == 130
        assert verify(server.folder) == {server.folder: []}
