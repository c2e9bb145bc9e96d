"""Starts the parts: the real service on its demo chains, and a server that fails on demand."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import httpx
import pytest

ROOT = Path(__file__).resolve().parents[3]
START_SECONDS_MAX = 30


@dataclass(frozen=True)
class Service:
    url: str
    environment: dict[str, str]

    def key(self, owner: str = "a@example.com", tier: str = "dev") -> str:
        arguments = [os.environ["TAXON_BIN"], "keys", "create", "--owner", owner, "--tier", tier]
        printed = subprocess.run(arguments, env=self.environment, check=True, capture_output=True, text=True)
        return printed.stdout.splitlines()[-1]


@contextmanager
def serve(**settings: str) -> Iterator[Service]:
    """The service with its demo chains. The configured upstream keeps public endpoints out; nobody listens there."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{free.getsockname()[1]}"
    with tempfile.TemporaryDirectory() as folder:
        environment = {
            "PATH": os.environ["PATH"],
            "TAXON_RPC_ETHEREUM": "http://127.0.0.1:9",
            "TAXON_DATA_DIR": folder,
            "TAXON_LISTEN": address,
            "TAXON_LOG": "error",
            "TAXON_RATE_PER_MINUTE": "0",
            **settings,
        }
        # The shell ends the service when our end of its input closes, even when the tests are killed.
        shell = ["sh", "-c", '"$@" >/dev/null & cat; kill $!; wait $!', "sh", os.environ["TAXON_BIN"], "serve", "--demo"]
        process = subprocess.Popen(shell, env=environment, cwd=folder, stdin=subprocess.PIPE)
        try:
            _wait_for(f"http://{address}/readyz")
            yield Service(f"http://{address}", environment)
        finally:
            process.communicate()


def _wait_for(url: str) -> None:
    end = time.monotonic() + START_SECONDS_MAX
    while time.monotonic() < end:
        try:
            if httpx.get(url).status_code == 200:
                return
        except httpx.TransportError:
            time.sleep(0.05)
    raise AssertionError("the service did not come up")


@pytest.fixture(scope="session")
def service() -> Iterator[Service]:
    with serve() as running:
        yield running


def _scenario(name: str) -> list[dict[str, str]]:
    transactions = json.loads((ROOT / "demo" / name).read_text())["transactions"]
    assert isinstance(transactions, list)
    return transactions


EVM = _scenario("scenario.json")
SOLANA = _scenario("solana-scenario.json")
HASHES = [transaction["hash"] for transaction in EVM + SOLANA]


def named(name: str) -> dict[str, str]:
    return next(transaction for transaction in EVM + SOLANA if transaction["name"] == name)


@dataclass
class Answer:
    """What the failing server says once."""

    status: int = 200
    body: Any = None
    headers: dict[str, str] = field(default_factory=dict)
    #: Bytes of the body that are sent before the connection is closed; None for all.
    cut_at: int | None = None
    #: Nothing is sent and the connection is reset.
    is_reset: bool = False
    #: Nothing is sent for this long.
    silent_seconds: float = 0


@dataclass(frozen=True)
class Seen:
    at: float
    path: str
    headers: dict[str, str]
    body: Any


class Script:
    """Answers in order, the last one for ever. `answers` may hold a function of the request's body."""

    def __init__(self, *answers: Answer | Callable[[Any], Answer]) -> None:
        self.answers = list(answers)
        self.seen: list[Seen] = []
        self.url = ""

    def next(self, seen: Seen) -> Answer:
        self.seen.append(seen)
        answer = self.answers[min(len(self.seen), len(self.answers)) - 1]
        return answer if isinstance(answer, Answer) else answer(seen.body)


@contextmanager
def scripted(*answers: Answer | Callable[[Any], Answer]) -> Iterator[Script]:
    script = Script(*answers)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        # Head and body in one write: two would wait for each other for 40 ms.
        wbufsize = -1

        def do_GET(self) -> None:
            sent = self._sent()
            body = json.loads(sent) if sent and self.headers.get("content-type") == "application/json" else sent or None
            headers = {name.lower(): value for name, value in self.headers.items()}
            answer = script.next(Seen(time.monotonic(), self.path, headers, body))
            time.sleep(answer.silent_seconds)
            if answer.is_reset:
                linger = b"\x01\x00\x00\x00\x00\x00\x00\x00"
                self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
                self.close_connection = True
                return
            sent = answer.body if isinstance(answer.body, bytes) else json.dumps(answer.body).encode()
            self.send_response_only(answer.status)
            for name, value in {"content-length": str(len(sent)), **answer.headers}.items():
                if value:
                    self.send_header(name, value)
            self.end_headers()
            self.wfile.write(sent[: answer.cut_at])
            self.close_connection = answer.cut_at is not None or "content-length" in answer.headers

        do_POST = do_DELETE = do_GET

        def _sent(self) -> bytes:
            if self.headers.get("transfer-encoding") != "chunked":
                return self.rfile.read(int(self.headers.get("content-length", 0)))
            whole = b""
            while size := int(self.rfile.readline(), 16):
                whole += self.rfile.read(size)
                self.rfile.readline()
            self.rfile.readline()
            return whole

        def log_message(self, format: str, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    script.url = f"http://127.0.0.1:{server.server_address[1]}"
    try:
        yield script
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def row(**fields: object) -> dict[str, object]:
    """A row as the service writes it."""
    return {
        "api_version": "v1",
        "hash": "0x" + "00" * 32,
        "chain": "demo",
        "category": "swap",
        "treatment": "disposal",
        "taxable": True,
        "confidence": 99,
        "needs_review": False,
        "ledger_action": "dispose_and_acquire",
        "protocol": None,
        "description": None,
        "review_note": None,
        "grey_area": None,
        "assets": {"sent": [], "received": [], "gas": None},
        "engine": "0.1.0+0",
        **fields,
    }


def error(status: int, code: str, message: str = "as the test says", **headers: str) -> Answer:
    headers = {name.replace("_", "-"): value for name, value in headers.items()}
    return Answer(status, {"error": {"code": code, "message": message}}, headers)


def batch(body: Any) -> Answer:
    """One row for each item, its hash and id echoed."""
    results = [
        row(hash=item["hash"], **({"id": item["tx_id"]} if "tx_id" in item else {})) for item in body["hashes"]
    ]
    return Answer(200, {"api_version": "v1", "count": len(results), "results": results})
