"""The labelling server: one socket, one campaign, one trainer."""

import errno
import os
import socket
import threading
import webbrowser
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path

import uvicorn

from versionspace.campaign import Campaign
from versionspace.data import decoding
from versionspace.errors import InputError
from versionspace.label.api import create_app
from versionspace.label.auth import Access, Guard, identity, save_identity
from versionspace.label.image_encoding import ImageEncoder
from versionspace.label.service import LabelService
from versionspace.label.supervisor import Supervisor
from versionspace.machine import release_memory

_LOOPBACK = ("127.0.0.1", "localhost", "::1")
_EVERY = ("0.0.0.0", "::")


@dataclass(frozen=True)
class ServedPage:
    """Where the page is served."""

    address: str
    """Contains the secret token."""
    port: int
    folder: Path


def serve(
    campaign: Campaign, *, host: str = "127.0.0.1", port: int | None = None, browser: bool = True,
    say: Callable[[ServedPage], None] = lambda _: None,
) -> None:  # fmt: skip
    """Serve the page until the process is stopped; then close the campaign.

    ``port``: by default the one of the previous start, or another if that is in use. Raises InputError if the given
    port is in use, or if the host is not an address of this machine.
    """
    with ExitStack() as stack:
        stack.callback(campaign.close)
        stack.enter_context(decoding())
        service = LabelService(campaign)
        release_memory()  # reading a large folder needed more than labelling it does
        known = identity(campaign.folder.path)
        bound = stack.enter_context(_bound(host, (known.port, 0) if port is None else (port,)))
        number = int(bound.getsockname()[1])
        known = save_identity(
            campaign.folder.path, replace(known, port=number, host=_url_host(host), process=os.getpid())
        )
        access = _access(known.token, number, host)
        data = campaign.config.data
        encoder = ImageEncoder(Path(data.name), campaign.dataset, campaign.images.files, follow_links=data.follow_links)
        supervisor = Supervisor(service).start()
        stack.callback(supervisor.close)
        app = Guard(create_app(service, supervisor, encoder), access)
        opened = ServedPage(known.address, number, campaign.folder.path)
        say(opened)
        if browser:
            threading.Timer(0.5, webbrowser.open, [opened.address]).start()
        config = uvicorn.Config(
            app, log_level="warning", access_log=False, server_header=False, timeout_graceful_shutdown=3, lifespan="off"
        )
        uvicorn.Server(config).run(sockets=[bound])


def _bound(host: str, ports: tuple[int, ...]) -> socket.socket:
    """Return a socket on the first of these ports that is free; 0 is any. Raises InputError if none is."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    for port in ports:
        bound = socket.socket(family, socket.SOCK_STREAM)
        if os.name == "posix":
            bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            bound.bind((host, port))
            bound.listen()  # two sockets that do not listen may share a port
            return bound
        except OSError as error:
            bound.close()
            last = error
    if last.errno in (errno.EADDRINUSE, errno.EACCES):
        raise InputError(
            "--port", expected="a free port", got=f"{ports[-1]} ({last.strerror})",
            fix="Choose another, or leave it out: a free one is used.",
        ) from last  # fmt: skip
    raise InputError(
        "--host",
        expected="an address of this machine",
        got=f"{host} ({last})",
        fix="Leave it out to serve this machine only.",
    ) from last


def _access(token: str, port: int, host: str) -> Access:
    if host in _LOOPBACK:
        return Access(token, port)
    if host in _EVERY:
        return Access(token, port, (*_LOOPBACK, socket.gethostname().lower()), any_address=True)
    return Access(token, port, (*_LOOPBACK, host.lower()))


def _url_host(host: str) -> str:
    name = socket.gethostname() if host in _EVERY else host
    return f"[{name}]" if ":" in name else name
