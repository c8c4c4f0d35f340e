"""A real HTTP server that speaks Ollama's and OpenAI's protocols, and fails as a test scripts it."""

from __future__ import annotations

import hashlib
import json
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event, Thread
from typing import Any, Self

DIMENSIONS = 8


def direction(text: str, dimensions: int = DIMENSIONS) -> list[float]:
    """Make a vector from a text: always the same, different for different texts, never of length 1."""
    digest = hashlib.sha256(text.encode()).digest() * (1 + dimensions // 32)
    return [byte - 127.5 for byte in digest[:dimensions]]


@dataclass(frozen=True)
class Request:
    """One request as the server got it."""

    method: str
    path: str
    headers: dict[str, str]
    body: dict[str, Any]


@dataclass(frozen=True)
class Answer:
    """The answer instead of the right one."""

    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    raw: bytes | None = None
    change: Callable[[dict[str, Any]], object] | None = None
    """Gets the right answer, to spoil it in place or to return another."""
    hang: bool = False
    """Say nothing until the server stops."""
    hang_up: bool = False
    """Close the connection without a word."""


class EmbeddingServer:
    """Answers rightly, except that the next answers are taken from `script` while it lasts."""

    def __init__(self) -> None:
        self.requests: list[Request] = []
        self.script: deque[Answer] = deque()
        self.models = ["nomic-embed-text:latest"]
        self.stopped = Event()
        self._http = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._http.daemon_threads = True
        self._thread = Thread(target=self._http.serve_forever, args=(0.01,), daemon=True)

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self._http.server_port}"

    @property
    def url(self) -> str:
        return f"http://{self.address}"

    @property
    def sizes(self) -> list[int]:
        """How many texts each request carried."""
        return [len(request.body["input"]) for request in self.requests]

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        if not self.stopped.is_set():
            self.stop()

    def stop(self) -> None:
        self.stopped.set()
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()

    def right(self, request: Request) -> tuple[int, dict[str, Any]]:
        """Answer as the real servers do."""
        texts = request.body.get("input", [])
        vectors = [direction(text, request.body.get("dimensions", DIMENSIONS)) for text in texts]
        match request.method, request.path:
            case "GET", "/api/tags":
                return 200, {"models": [{"name": name, "model": name} for name in self.models]}
            case "POST", "/api/embed":
                return 200, {"model": request.body["model"], "embeddings": vectors, "total_duration": 1}
            case "POST", "/v1/embeddings":
                data = [{"object": "embedding", "index": n, "embedding": v} for n, v in enumerate(vectors)]
                return 200, {"object": "list", "data": data, "model": request.body["model"]}
            case "POST", "/v1/chat/completions":
                message = {"role": "assistant", "content": "{}"}
                return 200, {"choices": [{"index": 0, "message": message}], "usage": {"total_tokens": 1}}
            case _:
                return 404, {"error": "no such path"}

    def _handler(server) -> type[BaseHTTPRequestHandler]:
        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            wbufsize = -1

            def do_GET(self) -> None:
                self._serve("GET")

            def do_POST(self) -> None:
                self._serve("POST")

            def _serve(self, method: str) -> None:
                length = int(self.headers.get("content-length", 0))
                body = json.loads(self.rfile.read(length)) if length else {}
                headers = {name.lower(): value for name, value in self.headers.items()}
                request = Request(method, self.path, headers, body)
                server.requests.append(request)
                answer = server.script.popleft() if server.script else Answer(hang_up=server.stopped.is_set())
                if answer.hang:
                    server.stopped.wait()
                if answer.hang or answer.hang_up:
                    self.close_connection = True
                    return
                status, content = server.right(request)
                changed = answer.change(content) if answer.change else None
                raw = json.dumps(content if changed is None else changed).encode()
                raw = raw if answer.raw is None else answer.raw
                self.send_response(answer.status if answer.status != 200 else status)
                for name, value in {"content-type": "application/json", **answer.headers}.items():
                    self.send_header(name, value)
                self.send_header("content-length", str(len(raw)))
                self.end_headers()
                self.wfile.write(raw)

            def log_message(self, format: str, *args: object) -> None:
                """Keep the tests' output clean."""

        return Handler
