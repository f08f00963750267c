//! etcd's messages and clients, generated from proto/etcd.

#![allow(unreachable_pub, clippy::all, reason = "generated")]

tonic::include_proto!("etcdserverpb");
