"""A spectator without an SDK: keeps the map of a namespace and prints what changes.

proto/plimsoll/v1/routing.proto says what is in each message.
"""

import argparse
import time

import grpc
from plimsoll.v1 import routing_pb2 as wire
from plimsoll.v1 import routing_pb2_grpc


# gRPC waits longer and longer before it connects again.
AT_ONCE = [("grpc.initial_reconnect_backoff_ms", 100), ("grpc.min_reconnect_backoff_ms", 100),
           ("grpc.max_reconnect_backoff_ms", 1000)]


class Spectator:
    def __init__(self, namespace):
        self.namespace = namespace
        self.epoch, self.revision = "", 0
        self.routes = {}  # shard key: executor

    def run(self, server):
        channel = grpc.insecure_channel(server, options=AT_ONCE)
        stub = routing_pb2_grpc.RoutingServiceStub(channel)
        while True:
            # With what it holds it is sent what happened since, else the whole map.
            held = wire.WatchRequest(
                namespace=self.namespace, epoch=self.epoch, revision=self.revision
            )
            try:
                parts = {}
                for response in stub.Watch(held):
                    kind = response.WhichOneof("message")
                    if kind == "snapshot":
                        parts = self.snapshot(response.snapshot, parts)
                    elif kind == "delta" and response.delta.to > self.revision:
                        self.delta(response.delta)
            except grpc.RpcError as error:
                # The map is still good: it is used until a server says something else.
                print(f"no watch: {error.code().name}: {error.details()}", flush=True)
            time.sleep(0.2)

    def snapshot(self, part, parts):
        parts = {} if part.first else parts
        parts.update({route.shard_key: route.executor_id for route in part.routes})
        if part.last:
            self.epoch, self.revision, self.routes = part.epoch, part.revision, parts
            print(f"{len(parts)} shards at revision {part.revision}", flush=True)
        return parts

    def delta(self, delta):
        self.revision = delta.to
        for route in delta.routes:
            self.routes[route.shard_key] = route.executor_id
            print(f"{route.shard_key} -> {route.executor_id}", flush=True)
        for key in delta.unowned_shards:
            self.routes.pop(key, None)
            print(f"{key} -> nobody", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("namespace")
    parser.add_argument("--server", default="127.0.0.1:7943")
    arguments = parser.parse_args()
    Spectator(arguments.namespace).run(arguments.server)


if __name__ == "__main__":
    main()
