"""An executor without an SDK: runs shards of a namespace and reports their loads.

What it takes in any language: one stream, a lease that the executor counts itself,
and a word for each shard that has started or stopped. proto/plimsoll/v1/executor.proto
says the rest. Ctrl-C hands the shards over and ends it.
"""

import argparse
import os
import queue
import signal
import threading
import time

import grpc
from plimsoll.v1 import executor_pb2 as wire
from plimsoll.v1 import executor_pb2_grpc

# The executor stops before the server gives its shards to others, since its clock
# and the server's may not run at the same speed.
MARGIN = 0.2
# How long a process that ends waits for others to take its shards, in seconds.
LEAVE_WITHIN = 10
# gRPC waits longer and longer before it connects again, but a lease does not wait.
AT_ONCE = [("grpc.initial_reconnect_backoff_ms", 100), ("grpc.min_reconnect_backoff_ms", 100),
           ("grpc.max_reconnect_backoff_ms", 300)]


class Executor:
    def __init__(self, namespace, executor_id, address):
        self.namespace, self.id, self.address = namespace, executor_id, address
        self.running = {}  # shard key: generation
        self.lock = threading.Lock()
        self.outgoing = queue.Queue()
        self.lease_ends = 0.0  # on the monotonic clock
        self.lease, self.beat_every = 2.0, 0.5  # until the server's Welcome says
        self.sent = {}  # when which beat was sent
        self.attempt = 0
        self.leaving = self.said_goodbye = False
        self.session = None
        threading.Thread(target=self.watch_lease, daemon=True).start()

    # What an application does for its shards goes into these two.

    def start(self, key, generation):
        print(f"start {key} (generation {generation})", flush=True)

    def stop(self, key):
        print(f"stop {key}", flush=True)

    # The session.

    def run(self, server):
        channel = grpc.insecure_channel(server, options=AT_ONCE)
        stub = executor_pb2_grpc.ExecutorServiceStub(channel)
        while True:
            self.outgoing, self.sent = queue.Queue(), {}
            try:
                self.session = stub.Session(self.requests(self.outgoing))
                for response in self.session:
                    self.heard(response)
                    if response.HasField("farewell"):
                        self.session.cancel()
                        break
            except grpc.RpcError as error:
                print(f"no session: {error.code().name}: {error.details()}", flush=True)
            self.outgoing.put(None)
            if self.leaving and not self.running:
                return
            # The lease runs on meanwhile: the shards do, too.
            time.sleep(0.2)

    def requests(self, outgoing):
        """Hello, then whatever is to be said, and a beat when it is time for one."""
        yield self.hello()
        if self.leaving:
            yield wire.SessionRequest(leaving=wire.Leaving())
        sequence, next_beat = 1, time.monotonic()
        while True:
            try:
                message = outgoing.get(timeout=max(0.0, next_beat - time.monotonic()))
                if message is None:
                    return
                yield message
            except queue.Empty:
                next_beat = time.monotonic() + self.beat_every
                self.sent[sequence] = time.monotonic()
                yield wire.SessionRequest(beat=wire.Beat(sequence=sequence, loads=self.loads()))
                sequence += 1

    def hello(self):
        self.attempt = max(self.attempt + 1, time.time_ns() // 1000)
        with self.lock:
            running = [wire.Holding(shard_key=k, generation=g) for k, g in self.running.items()]
        hello = wire.Hello(
            namespace=self.namespace, executor_id=self.id, host=self.id, running=running,
            attempt=self.attempt, metadata={"grpc_address": self.address},
        )
        self.sent[0] = time.monotonic()
        self.said_goodbye = False
        return wire.SessionRequest(hello=hello)

    def loads(self):
        """Only loads that changed need be sent; here all are, and each costs the same."""
        with self.lock:
            return [wire.MeasuredLoad(shard_key=key, load=1.0) for key in self.running]

    def heard(self, response):
        kind = response.WhichOneof("message")
        if kind == "welcome":
            welcome = response.welcome
            self.lease, self.beat_every = welcome.lease_ms / 1000, welcome.beat_ms / 1000
            self.acknowledged(0)
            granted = {grant.shard_key: grant.generation for grant in welcome.grants}
            for key in [key for key in self.running if key not in granted]:
                self.revoked(key, self.running[key])
            self.granted(welcome.grants)
        elif kind == "granted":
            self.granted(response.granted.grants)
        elif kind == "revoked":
            for revocation in response.revoked.revocations:
                self.revoked(revocation.shard_key, revocation.generation)
        elif kind == "beat_ack":
            self.acknowledged(response.beat_ack.sequence)
        elif kind == "farewell":
            reason = response.farewell.reason
            if reason != wire.Farewell.REASON_SERVER_LEAVING:
                self.stop_all()
        self.say_goodbye_if_done()

    def acknowledged(self, sequence):
        """The lease counts from when the beat was sent, not from when its answer came."""
        sent = self.sent.pop(sequence, None)
        if sent is not None:
            self.lease_ends = max(self.lease_ends, sent + self.lease * (1 - MARGIN))

    def granted(self, grants):
        for grant in grants:
            with self.lock:
                is_new = grant.shard_key not in self.running
                self.running[grant.shard_key] = grant.generation
            if is_new:
                self.start(grant.shard_key, grant.generation)
            self.say(started=wire.Started(shard_key=grant.shard_key, generation=grant.generation))

    def revoked(self, key, generation):
        with self.lock:
            was_running = self.running.pop(key, None) is not None
        if was_running:
            self.stop(key)
        self.say(stopped=wire.Stopped(shard_key=key, generation=generation))

    def say(self, **message):
        self.outgoing.put(wire.SessionRequest(**message))

    def leave(self, *_):
        self.leaving = True
        self.say(leaving=wire.Leaving())
        give_up = threading.Timer(LEAVE_WITHIN, self.give_up)
        give_up.daemon = True
        give_up.start()

    def give_up(self):
        """Nobody took them all: the last executor of a namespace comes here."""
        self.stop_all()
        self.say_goodbye_if_done()

    def say_goodbye_if_done(self):
        if self.leaving and not self.running and not self.said_goodbye:
            self.said_goodbye = True
            self.say(goodbye=wire.Goodbye())

    def watch_lease(self):
        """Nobody else stops a shard whose lease is over: not the server, not the stream."""
        while True:
            if self.running and time.monotonic() > self.lease_ends:
                print("the lease ended before a server was heard", flush=True)
                self.stop_all()
                # A session that is still there would go on with what it knew: say hello anew.
                self.session.cancel()
            time.sleep(0.05)

    def stop_all(self):
        with self.lock:
            keys, self.running = list(self.running), {}
        for key in keys:
            self.stop(key)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("namespace")
    parser.add_argument("--server", default="127.0.0.1:7943")
    parser.add_argument("--id", default=f"python-{os.getpid()}", help="another for each process")
    parser.add_argument("--address", default="", help="where requests for its shards go")
    arguments = parser.parse_args()
    executor = Executor(arguments.namespace, arguments.id, arguments.address)
    signal.signal(signal.SIGINT, executor.leave)
    signal.signal(signal.SIGTERM, executor.leave)
    executor.run(arguments.server)


if __name__ == "__main__":
    main()
