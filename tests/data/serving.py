"""An HTTP server on this machine that interrupts transfers on demand."""

import threading
import time
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Host(ThreadingHTTPServer):
    """Serves ``files``; ``cuts`` holds the number of bytes after which to close each of the next connections.

    ``pause``: seconds to wait between the two halves of a file. ``ranges``: whether downloads can be resumed.
    """

    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.files = {}
        self.cuts = []
        self.pause = 0.0
        self.ranges = True
        self.asked = []

    @property
    def base(self):
        return f"http://127.0.0.1:{self.server_port}/"


class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        server = self.server
        wanted = self.headers.get("Range")
        server.asked.append((self.path, wanted))
        content = server.files.get(self.path.removeprefix("/"))
        if content is None:
            self.send_error(404)
            return
        start = int(wanted.removeprefix("bytes=").removesuffix("-")) if wanted and server.ranges else 0
        if start and start >= len(content):
            self.send_response(416)
            self.send_header("Content-Range", f"bytes */{len(content)}")
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        self.send_response(206 if start else 200)
        if start:
            self.send_header("Content-Range", f"bytes {start}-{len(content) - 1}/{len(content)}")
        self.send_header("Content-Length", str(len(content) - start))
        self.end_headers()
        cut = server.cuts.pop(0) if server.cuts else None
        half = (start + len(content)) // 2 if server.pause and cut is None else start
        if half > start:
            self.wfile.write(content[start:half])
            time.sleep(server.pause)
        self.wfile.write(content[half:] if cut is None else content[start : start + cut])
        self.close_connection = True

    def log_message(self, *_):
        pass


@contextmanager
def host():
    with Host() as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()
