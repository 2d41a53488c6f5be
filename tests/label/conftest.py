"""Fixtures: a browser, small campaigns, and the service behind the page."""

import shutil
import socket
import threading
from hashlib import sha256
from pathlib import Path

import pytest

from label.serving import Server, digits, quick

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
SWITCHES = [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage",
]  # fmt: skip


@pytest.fixture(scope="session")
def browser(tmp_path_factory):
    """Headless Chromium; tests of the page are skipped without it."""
    if CHROMIUM is None:
        pytest.skip("THE PAGE IS NOT TESTED: chromium is missing (apt-get install chromium)")
    sync = pytest.importorskip("playwright.sync_api", reason="THE PAGE IS NOT TESTED: pip install playwright")
    home = tmp_path_factory.mktemp("home")
    with sync.sync_playwright() as playwright:
        opened = playwright.chromium.launch(
            executable_path=CHROMIUM, args=SWITCHES, env={"HOME": str(home), "PATH": "/usr/bin:/bin"}
        )
        yield opened
        opened.close()


class Folder:
    """Digits in a folder, with the true class of each image id."""

    def __init__(self, root: Path, count: int, classes: int) -> None:
        self.photos = root / "photos"
        files = digits(self.photos, count, classes)
        self.classes = tuple(str(c) for c in range(classes))
        self.truth = {sha256((self.photos / f).read_bytes()).hexdigest(): c for f, c in files.items()}

    def campaign(self, total: int, **changes) -> Path:
        return quick(self.photos, self.classes, total, **changes)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """120 images of three digits, with a cache of their own."""
    monkeypatch.setenv("VERSIONSPACE_CACHE", str(tmp_path / "cache"))
    return Folder(tmp_path, 120, 3)


@pytest.fixture
def served(folder):
    """A running server with a budget of 40."""
    with Server(folder.campaign(40)) as server:
        server.truth = folder.truth
        yield server


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    """A running server that several tests of a module share: 500 images, a budget of 300."""
    root = tmp_path_factory.mktemp("shared")
    folder = Folder(root, 500, 3)
    with Server(folder.campaign(300), environment={"VERSIONSPACE_CACHE": str(root / "cache")}) as server:
        server.truth = folder.truth
        yield server


@pytest.fixture
def service(folder):
    """A service without a trainer: 120 images, a budget of 60."""
    from versionspace.campaign.campaign import Campaign
    from versionspace.label.service import LabelService

    with Campaign.open(folder.campaign(60)) as campaign:
        made = LabelService(campaign, clock=lambda: made.now if hasattr(made, "now") else 0.0)
        made.truth, made.photos = folder.truth, folder.photos
        yield made


class Home:
    """The web application of a service on a real socket, in a thread of this process."""

    token = "a-token-that-nobody-guesses"

    def __init__(self, service) -> None:
        import uvicorn

        from versionspace.label.api import create_app
        from versionspace.label.auth import Access, Guard
        from versionspace.label.image_encoding import ImageEncoder

        self.socket = socket.create_server(("127.0.0.1", 0))
        self.port = self.socket.getsockname()[1]
        self.base = f"http://127.0.0.1:{self.port}"
        self.address = f"{self.base}/?token={self.token}"
        self.folder, self.truth = service.campaign.folder.path, getattr(service, "truth", {})
        self.showing = ImageEncoder(service.photos, service.campaign.dataset)
        self.app, self.door = create_app(service, None, self.showing), Access(self.token, self.port)
        config = uvicorn.Config(Guard(self.app, self.door), log_level="critical", lifespan="off")
        self.server = uvicorn.Server(config)
        self.thread = threading.Thread(target=self.server.run, args=([self.socket],))

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.server.should_exit = True
        self.thread.join(timeout=10)
        self.socket.close()


@pytest.fixture
def home(service):
    with Home(service) as found:
        yield found


@pytest.fixture
def stranger(home):
    """An HTTP client without the token."""
    import httpx

    with httpx.Client(base_url=home.base, timeout=10) as client:
        yield client


@pytest.fixture
def client(home, stranger):
    """An HTTP client that has opened the page."""
    assert stranger.get("/", params={"token": home.token}).status_code == 200
    return stranger
