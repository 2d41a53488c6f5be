"""Many annotators at once, each in a thread with a tab of its own; what each of them was told is remembered."""

import threading
import time
import uuid
from dataclasses import dataclass, field

import httpx

from label.serving import Client, Server


@dataclass
class Crowd:
    """Annotators who know the truth."""

    server: Server
    people: int
    stop_at: int
    """Labels, all together."""
    acknowledged: dict[str, tuple[str, str]] = field(default_factory=dict)
    """Answers that the server said it has: image and class by uid."""
    served: dict[str, list[str]] = field(default_factory=dict)
    """By image: to whom it was served."""
    again: set[str] = field(default_factory=set)
    """Served for a second look."""
    errors: list[str] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    """That an answer took, from sending to acknowledgement."""
    waits: int = 0
    """Times that somebody was given nothing though there was something left."""
    pause: float = 0.0
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
                    found = self._again(lambda: client.next(want=3))
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
                told = self._again(lambda: client.answer(image, name, uid))  # noqa: B023 — called at once
                with self.lock:
                    self.seconds.append(time.perf_counter() - began)
                    if told["taken"] == [uid]:
                        self.acknowledged[uid] = (image, name)
                    else:
                        self.errors.append(str(told))
                time.sleep(self.pause)
        except Exception as error:  # a thread's error must reach the test
            self.errors.append(f"{who}: {error!r}")
        finally:
            client.close()

    def _again(self, call):
        """As the page does: tries until the server is back."""
        limit = time.monotonic() + 60
        while True:
            try:
                return call()
            except httpx.TransportError as error:
                if time.monotonic() > limit:
                    raise AssertionError("the server did not come back") from error
                time.sleep(0.05)
