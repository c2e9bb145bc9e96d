"""Three real NATS servers with deploy/fleet/nats.conf and the certificates of deploy/fleet/make-secrets, but for ports and folders: the
cluster forms, each user can do what its command does and nothing else, and a server that stops is missed by nobody.

    python servers.py WORK    with an empty folder
"""

import asyncio
import contextlib
import logging
import os
import pathlib
import shutil
import socket
import ssl
import subprocess
import sys
import time
import urllib.request

import nats
from nats.js.api import AckPolicy, ConsumerConfig, DiscardPolicy, RetentionPolicy, StorageType, StreamConfig

# It says of every connection that ends that TLS ended it.
logging.getLogger("asyncio").setLevel(logging.ERROR)
ROOT = pathlib.Path(__file__).resolve().parents[2]
SERVER = shutil.which("nats-server", path=os.environ["PATH"] + ":/usr/sbin")
START_SECONDS_MAX = 60
ANSWER_SECONDS_MAX = 10
# How long a refusal may take; the server tells it at once.
REFUSED_SECONDS = 3
DUPLICATES_SECONDS = 1800
# Whose inbox is called after the command.
COMMANDS = {"streams": "streams", "feeder": "feed", "worker": "work", "drainer": "drain", "service": "serve"}
STREAMS = {
    "TAXON_REQUESTS": (["taxon.requests.*"], RetentionPolicy.WORK_QUEUE),
    "TAXON_RESULTS": (["taxon.results.*"], RetentionPolicy.LIMITS),
    "TAXON_DEAD": (["taxon.dead.*"], RetentionPolicy.LIMITS),
    "TAXON_FEEDS": (["taxon.feeds.*"], RetentionPolicy.LIMITS),
}


def free_ports(count):
    sockets = [socket.socket() for _ in range(count)]
    for one in sockets:
        one.bind(("127.0.0.1", 0))
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports


class Servers:
    def __init__(self, work):
        self.work = pathlib.Path(work)
        self.secrets = self.work / "secrets"
        subprocess.run([ROOT / "deploy/fleet/make-secrets", self.secrets], check=True)
        ports = free_ports(9)
        self.clients, self.routes, self.monitors = ports[:3], ports[3:6], ports[6:]
        self.processes = [self.start(node) for node in range(3)]

    def configuration(self, node):
        text = (ROOT / "deploy/fleet/nats.conf").read_text()
        changes = [
            # Only NATS 2.10 and later know it, and Debian's server is 2.9.
            ("sync_interval: always", ""),
            ("0.0.0.0:4222", f"127.0.0.1:{self.clients[node]}"),
            ("127.0.0.1:8222", f"127.0.0.1:{self.monitors[node]}"),
            ("0.0.0.0:6222", f"127.0.0.1:{self.routes[node]}"),
            ('"/data"', f'"{self.work}/data-{node + 1}"'),
            ("/run/secrets/nats.", f"{self.secrets}/nats-{node + 1}."),
            ("/run/secrets/route.", f"{self.secrets}/route-{node + 1}."),
            ("/run/secrets/", f"{self.secrets}/"),
        ]
        changes += [(f"nats-{at + 1}:6222", f"localhost:{port}") for at, port in enumerate(self.routes)]
        for before, after in changes:
            assert before in text, f"nats.conf has no {before}"
            text = text.replace(before, after)
        file = self.work / f"nats-{node + 1}.conf"
        file.write_text(text)
        return file

    def start(self, node):
        environment = os.environ | {"NATS_NAME": f"nats-{node + 1}", "NATS_ROUTE": f"localhost:{self.routes[node]}"}
        log = open(self.work / f"nats-{node + 1}.log", "w")
        return subprocess.Popen([SERVER, "-c", self.configuration(node)], env=environment, stdout=log, stderr=log)

    def are_well(self):
        """The question of the containers' health check."""
        end = time.monotonic() + START_SECONDS_MAX
        for port in self.monitors:
            while True:
                with contextlib.suppress(OSError):
                    with urllib.request.urlopen(f"http://127.0.0.1:{port}/healthz?js-server-only=true", timeout=2) as answer:
                        assert answer.status == 200
                        break
                assert time.monotonic() < end, f"not well: {(self.work / 'nats-1.log').read_text()[-2000:]}"
                time.sleep(0.2)

    def stop(self):
        for process in self.processes:
            process.kill()
            process.wait()

    def context(self, who, authority="clients-ca"):
        context = ssl.create_default_context(cafile=self.secrets / f"{authority}.crt")
        if who:
            context.load_cert_chain(self.secrets / f"{who}.crt", self.secrets / f"{who}.key")
        return context

    @contextlib.asynccontextmanager
    async def connected(self, who, ports=None, is_patient=True):
        refused = []

        async def heard(error):
            refused.append(str(error))

        urls = [f"tls://localhost:{port}" for port in ports or self.clients]
        inbox = f"_INBOX.{COMMANDS.get(who, 'nobody')}".encode()
        client = await nats.connect(
            urls, tls=self.context(who), error_cb=heard, allow_reconnect=is_patient, connect_timeout=5, inbox_prefix=inbox
        )
        client.refused = refused
        try:
            yield client
        finally:
            await client.close()


async def is_refused(client, what, subject, payload=b"{}"):
    before = len(client.refused)
    await client.publish(subject, payload, reply=client.new_inbox())
    end = time.monotonic() + REFUSED_SECONDS
    while len(client.refused) == before and time.monotonic() < end:
        await client.flush(timeout=ANSWER_SECONDS_MAX)
    told = "".join(client.refused[before:])
    assert "permissions violation" in told.lower() and subject.lower() in told.lower(), f"{what} is not refused: {told!r}"


async def is_deaf(client, what, subject):
    before = len(client.refused)
    await client.subscribe(subject)
    end = time.monotonic() + REFUSED_SECONDS
    while len(client.refused) == before and time.monotonic() < end:
        await client.flush(timeout=ANSWER_SECONDS_MAX)
    assert "permissions violation" in "".join(client.refused[before:]).lower(), f"{what} is not refused"


async def streams_are_made(servers):
    async with servers.connected("streams") as client:
        js = client.jetstream(timeout=ANSWER_SECONDS_MAX)
        for name, (subjects, retention) in STREAMS.items():
            made = await js.add_stream(
                StreamConfig(
                    name=name, subjects=subjects, retention=retention, storage=StorageType.FILE, discard=DiscardPolicy.NEW,
                    num_replicas=3, max_bytes=64 << 20, duplicate_window=DUPLICATES_SECONDS,
                )
            )
            assert made.config.num_replicas == 3
        await js.add_consumer(
            "TAXON_REQUESTS", ConsumerConfig(durable_name="taxon-workers", ack_policy=AckPolicy.EXPLICIT, ack_wait=30)
        )
        await is_refused(client, "a request of streams", "taxon.requests.feed")


async def a_feeder_feeds(servers):
    async with servers.connected("feeder") as client:
        js = client.jetstream(timeout=ANSWER_SECONDS_MAX)
        for is_repeat in [None, True]:
            told = await js.publish("taxon.requests.feed", b"{}", headers={"Nats-Msg-Id": "one"})
            assert told.duplicate == is_repeat, told
        await js.publish("taxon.feeds.place", b"{}")
        assert (await js.get_last_msg("TAXON_FEEDS", "taxon.feeds.place")).data == b"{}"
        assert (await js.stream_info("TAXON_REQUESTS")).state.messages == 1
        await is_refused(client, "a result of a feeder", "taxon.results.feed")
        await is_refused(client, "a feeder that reads", "$JS.API.CONSUMER.CREATE.TAXON_RESULTS")
        await is_refused(client, "a feeder that takes requests", "$JS.API.CONSUMER.MSG.NEXT.TAXON_REQUESTS.taxon-workers", b"1")
        await is_refused(client, "a feeder that clears", "$JS.API.STREAM.PURGE.TAXON_REQUESTS")
        await is_deaf(client, "a feeder that hears what workers are given", "_INBOX.work.>")
        await is_deaf(client, "a feeder that hears everything", "_INBOX.>")


async def are_waiting(js, count):
    """Whoever leads the consumer may be another server than took the message, and hears of it a moment later."""
    for _ in range(10 * ANSWER_SECONDS_MAX):
        waiting = (await js.consumer_info("TAXON_REQUESTS", "taxon-workers")).num_pending
        if waiting == count:
            return
        await asyncio.sleep(0.1)
    raise AssertionError(f"{waiting} requests wait, and not {count}")


async def a_worker_works(servers):
    async with servers.connected("worker") as client:
        js = client.jetstream(timeout=ANSWER_SECONDS_MAX)
        pulled = await js.pull_subscribe_bind("taxon-workers", "TAXON_REQUESTS")
        [message] = await pulled.fetch(1, timeout=ANSWER_SECONDS_MAX)
        told = await js.publish("taxon.results.feed", b"outcome", headers={"Nats-Msg-Id": "one"})
        again = await js.publish("taxon.results.feed", b"another", headers={"Nats-Msg-Id": "one"})
        assert again.duplicate and again.seq == told.seq
        assert (await js.get_msg("TAXON_RESULTS", told.seq)).data == b"outcome"
        await js.publish("taxon.dead.feed", b"dead", headers={"Nats-Msg-Id": "one:dead"})
        rest = await js.publish("taxon.requests.feed", b"rest", headers={"Nats-Msg-Id": "one~"})
        assert rest.stream == "TAXON_REQUESTS"
        await message.ack_sync(timeout=ANSWER_SECONDS_MAX)
        await are_waiting(js, 1)
        await is_refused(client, "a worker that keeps a feed's place", "taxon.feeds.place")
        await is_refused(client, "a worker that deletes", "$JS.API.STREAM.DELETE.TAXON_RESULTS")
        await is_refused(client, "a worker that makes streams", "$JS.API.STREAM.CREATE.TAXON_OTHER")
        await is_refused(client, "a worker that deletes a message", "$JS.API.STREAM.MSG.DELETE.TAXON_RESULTS")


async def a_drainer_drains(servers):
    async with servers.connected("drainer") as client:
        js = client.jetstream(timeout=ANSWER_SECONDS_MAX)
        for stream, subject, payload in [("TAXON_RESULTS", "taxon.results.feed", b"outcome"), ("TAXON_DEAD", "taxon.dead.feed", b"dead")]:
            made = await js.add_consumer(stream, ConsumerConfig(ack_policy=AckPolicy.EXPLICIT, filter_subject=subject))
            pulled = await js.pull_subscribe_bind(made.name, stream)
            [message] = await pulled.fetch(1, timeout=ANSWER_SECONDS_MAX)
            assert message.data == payload
            await message.ack_sync(timeout=ANSWER_SECONDS_MAX)
            assert await js.delete_consumer(stream, made.name)
            assert await js.purge_stream(stream, subject=subject)
        # Whether the lane has requests left.
        assert (await js.get_last_msg("TAXON_REQUESTS", "taxon.requests.feed")).data == b"rest"
        await is_refused(client, "a drainer that feeds", "taxon.requests.feed")
        await is_refused(client, "a drainer that takes requests", "$JS.API.CONSUMER.CREATE.TAXON_REQUESTS")
        await is_refused(client, "a drainer that clears requests", "$JS.API.STREAM.PURGE.TAXON_REQUESTS")


async def a_service_hands_over_its_jobs(servers):
    async with servers.connected("service") as client:
        js = client.jetstream(timeout=ANSWER_SECONDS_MAX)
        await js.publish("taxon.requests.jobs", b"rows of a job", headers={"Nats-Msg-Id": "job.1"})
        await are_waiting(js, 2)
        async with servers.connected("worker") as worker:
            work = worker.jetstream(timeout=ANSWER_SECONDS_MAX)
            pulled = await work.pull_subscribe_bind("taxon-workers", "TAXON_REQUESTS")
            for message in await pulled.fetch(2, timeout=ANSWER_SECONDS_MAX):
                lane = message.subject.rsplit(".", 1)[1]
                await work.publish(f"taxon.results.{lane}", message.data)
                await message.ack_sync(timeout=ANSWER_SECONDS_MAX)
        made = await js.add_consumer(
            "TAXON_RESULTS", ConsumerConfig(name="of-a-service", ack_policy=AckPolicy.NONE, filter_subject="taxon.results.jobs")
        )
        pulled = await js.pull_subscribe_bind(made.name, "TAXON_RESULTS")
        [message] = await pulled.fetch(1, timeout=ANSWER_SECONDS_MAX)
        assert message.data == b"rows of a job"
        assert await js.delete_consumer("TAXON_RESULTS", made.name)
        await is_refused(client, "a service that feeds", "taxon.requests.feed")
        await is_refused(client, "a service that reads what others asked", "$JS.API.CONSUMER.CREATE.TAXON_RESULTS.mine.taxon.results.feed")
        await is_refused(client, "a service that reads all results", "$JS.API.CONSUMER.CREATE.TAXON_RESULTS")
        await is_refused(client, "a service that clears", "$JS.API.STREAM.PURGE.TAXON_RESULTS")


async def nobody_else_comes_in(servers):
    # Nobody, a server, and a server's other certificate, whose authority is not that of clients.
    for who in [None, "nats-1", "route-1"]:
        try:
            async with servers.connected(who, servers.clients[:1], is_patient=False) as client:
                await client.flush(timeout=REFUSED_SECONDS)
        except Exception:
            continue
        raise AssertionError(f"{who} came in")
    # A worker at the port where the servers trust each other.
    assert greets(servers, "route-1"), "no server comes in either"
    assert not greets(servers, "worker"), "a worker came in as a server"


def greets(servers, who):
    with socket.create_connection(("localhost", servers.routes[0]), timeout=ANSWER_SECONDS_MAX) as stream:
        try:
            with servers.context(who, "routes-ca").wrap_socket(stream, server_hostname="localhost") as routed:
                return routed.recv(4096).startswith(b"INFO ")
        except (ssl.SSLError, ConnectionError):
            return False


async def one_server_less(servers):
    servers.processes[0].kill()
    servers.processes[0].wait()
    async with servers.connected("feeder") as client:
        js = client.jetstream(timeout=ANSWER_SECONDS_MAX)
        end = time.monotonic() + START_SECONDS_MAX
        while True:
            # Until the other two have chosen a leader, nobody answers.
            with contextlib.suppress(Exception):
                await js.publish("taxon.requests.feed", b"{}", headers={"Nats-Msg-Id": "two"})
                break
            assert time.monotonic() < end, "two of three servers take no request"
            await asyncio.sleep(0.5)
        assert (await js.stream_info("TAXON_REQUESTS")).state.messages == 1


async def main():
    servers = Servers(sys.argv[1])
    try:
        servers.are_well()
        await streams_are_made(servers)
        await a_feeder_feeds(servers)
        await a_worker_works(servers)
        await a_drainer_drains(servers)
        await a_service_hands_over_its_jobs(servers)
        await nobody_else_comes_in(servers)
        await one_server_less(servers)
    finally:
        servers.stop()


asyncio.run(main())
