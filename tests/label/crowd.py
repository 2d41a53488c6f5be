"""Many annotators at once, each in a thread with a session of its own, with a record of what the server replied."""

import threading
import time
import uuid
from dataclasses import dataclass, field

import httpx

from label.serving import Client, Server


@dataclass
class Crowd:
    """Annotators who always answer correctly."""

    server: Server
    people: int
    stop_at: int
    """Number of labels, all people together."""
    acknowledged: dict[str, tuple[str, str]] = field(default_factory=dict)
    """Answers that the server acknowledged: image and class by uid."""
    served: dict[str, list[str]] = field(default_factory=dict)
    """People that each image was served to."""
    again: set[str] = field(default_factory=set)
    """Images served for a second look."""
    errors: list[str] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    """Seconds from sending an answer to its acknowledgement."""
    waits: int = 0
    """Times that a person got no image although labelling was not finished."""
    pause: float = 0.0
    """Seconds between two answers of one person."""
    lock: threading.Lock = field(default_factory=threading.Lock)

    def run(self) -> "Crowd":
        threads = [threading.Thread(target=self._person, args=(f"person {n}",)) for n in range(self.people)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return self

    def _person(self, who: str) -> None:
        client = Client(self.server, who)
        try:
            ahead: list[str] = []
            while len(self.acknowledged) < self.stop_at:
                if not ahead:
                    found = self._retry(lambda: client.next(want=3))
                    if found["finished"]:
                        return
                    ahead = [task["image"] for task in found["tasks"]]
                    with self.lock:
                        self.waits += not ahead
                        for image in ahead:
                            self.served.setdefault(image, []).append(who)
                        self.again |= {task["image"] for task in found["tasks"] if task["again"]}
                    if not ahead:
                        time.sleep(0.05)
                        continue
                image = ahead.pop(0)
                uid, name = uuid.uuid4().hex, self.server.truth[image]
                began = time.perf_counter()
                reply = self._retry(lambda: client.answer(image, name, uid))  # noqa: B023 — called at once
                with self.lock:
                    self.seconds.append(time.perf_counter() - began)
                    if reply["taken"] == [uid]:
                        self.acknowledged[uid] = (image, name)
                    else:
                        self.errors.append(str(reply))
                time.sleep(self.pause)
        except Exception as error:  # the test reads the errors of all threads
            self.errors.append(f"{who}: {error!r}")
        finally:
            client.close()

    def _retry(self, call):
        """Retry until the server is back, as the page does."""
        limit = time.monotonic() + 60
        while True:
            try:
                return call()
            except httpx.TransportError as error:
                if time.monotonic() > limit:
                    raise AssertionError("the server did not come back") from error
                time.sleep(0.05)
