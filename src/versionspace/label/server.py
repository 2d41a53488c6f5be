"""The server: one socket, one campaign, one trainer; started, and ended without loss however it ends."""

import os
import socket
import threading
import webbrowser
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path

import uvicorn

from versionspace.campaign.campaign import Campaign
from versionspace.data.folder.decode import decoding
from versionspace.errors import InputError
from versionspace.label.api import create_app
from versionspace.label.auth import Door, Guard, identity, keep
from versionspace.label.image_encoding import Showing
from versionspace.label.service import LabelService
from versionspace.label.supervisor import Supervisor

_LOOPBACK = ("127.0.0.1", "localhost", "::1")
_EVERY = ("0.0.0.0", "::")


@dataclass(frozen=True)
class Opened:
    """Where the page is."""

    address: str
    """With the token: for the person alone."""
    port: int
    folder: Path


def serve(
    campaign: Campaign, *, host: str = "127.0.0.1", port: int | None = None, browser: bool = True,
    say: Callable[[Opened], None] = lambda _: None,
) -> None:  # fmt: skip
    """Serves the page until it is stopped. Closes the campaign."""
    with ExitStack() as stack:
        stack.callback(campaign.close)
        stack.enter_context(decoding())
        service = LabelService(campaign)
        known = identity(campaign.folder.path)
        bound = stack.enter_context(_bound(host, known.port if port is None else port))
        number = int(bound.getsockname()[1])
        keep(campaign.folder.path, replace(known, port=number))
        door = _door(known.token, number, host)
        showing = Showing(Path(campaign.config.data.name), campaign.dataset, campaign.pictures.files)
        supervisor = Supervisor(service).start()
        stack.callback(supervisor.close)
        app = Guard(create_app(service, supervisor, showing), door)
        opened = Opened(f"http://{_shown(host)}:{number}/?token={known.token}", number, campaign.folder.path)
        say(opened)
        if browser:
            threading.Timer(0.5, webbrowser.open, [opened.address]).start()
        config = uvicorn.Config(
            app, log_level="warning", access_log=False, server_header=False, timeout_graceful_shutdown=3, lifespan="off"
        )
        uvicorn.Server(config).run(sockets=[bound])


def _bound(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    for wanted in dict.fromkeys((port, 0)):
        bound = socket.socket(family, socket.SOCK_STREAM)
        if os.name == "posix":
            bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            bound.bind((host, wanted))
            return bound
        except OSError as error:
            bound.close()
            last = error
    raise InputError(
        "--host",
        expected="an address of this machine",
        got=f"{host} ({last})",
        fix="Leave it out for this machine alone.",
    ) from last


def _door(token: str, port: int, host: str) -> Door:
    if host in _LOOPBACK:
        return Door(token, port)
    if host in _EVERY:
        return Door(token, port, (*_LOOPBACK, socket.gethostname().lower()), any_address=True)
    return Door(token, port, (*_LOOPBACK, host.lower()))


def _shown(host: str) -> str:
    name = socket.gethostname() if host in _EVERY else host
    return f"[{name}]" if ":" in name else name
