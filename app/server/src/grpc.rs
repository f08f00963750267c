//! The gRPC services: each turns messages into commands and answers into
//! messages, and decides nothing.

mod admin;
mod describe;
mod go_executor;
mod go_service;
mod go_watch;
mod peer;
mod policy;
mod pushed;
mod routing;
mod session;
mod support;
mod validate;
mod watch;

use std::sync::Arc;

use plimsoll_wire::MAX_MESSAGE_BYTES;
use plimsoll_wire::sharddistributor::shard_distributor_api_server::ShardDistributorApiServer;
use plimsoll_wire::sharddistributor::shard_distributor_executor_api_server::ShardDistributorExecutorApiServer;
use plimsoll_wire::v1::admin_service_server::AdminServiceServer;
use plimsoll_wire::v1::executor_service_server::ExecutorServiceServer;
use plimsoll_wire::v1::peer_service_server::PeerServiceServer;
use plimsoll_wire::v1::policy_service_server::PolicyServiceServer;
use plimsoll_wire::v1::routing_service_server::RoutingServiceServer;
use tokio_util::sync::CancellationToken;
use tonic::service::Routes;

pub(crate) use describe::kind as kind_of;

use pushed::Pushed;

use crate::clock::Clock;
use crate::leadership::Servers;
use crate::metrics::Metrics;
use crate::namespaces::Namespaces;
use crate::policies::Policies;

/// What every service needs.
#[derive(Clone, Debug)]
pub struct Services {
    pub namespaces: Arc<Namespaces>,
    pub policies: Arc<Policies>,
    /// `None`: this server is alone.
    pub servers: Option<Arc<Servers>>,
    pub clock: Clock,
    pub metrics: Metrics,
    /// Streams end when this does.
    pub shutdown: CancellationToken,
}

impl Services {
    /// Every service, with reflection and health.
    ///
    /// # Errors
    /// The descriptors in the binary are broken.
    pub async fn routes(&self) -> Result<Routes, tonic_reflection::server::Error> {
        let (health, health_service) = tonic_health::server::health_reporter();
        health.set_service_status("", tonic_health::ServingStatus::Serving).await;
        let reflection = tonic_reflection::server::Builder::configure()
            .register_encoded_file_descriptor_set(plimsoll_wire::DESCRIPTORS)
            .register_encoded_file_descriptor_set(tonic_health::pb::FILE_DESCRIPTOR_SET)
            .build_v1()?;
        let services = self.clone();
        Ok(Routes::new(health_service)
            .add_service(reflection)
            .add_service(
                self.pushed(
                    ShardDistributorApiServer::new(services.clone())
                        .max_decoding_message_size(MAX_MESSAGE_BYTES)
                        .max_encoding_message_size(MAX_MESSAGE_BYTES),
                ),
            )
            .add_service(
                ShardDistributorExecutorApiServer::new(services.clone())
                    .max_decoding_message_size(MAX_MESSAGE_BYTES)
                    .max_encoding_message_size(MAX_MESSAGE_BYTES),
            )
            .add_service(
                ExecutorServiceServer::new(services.clone())
                    .max_decoding_message_size(MAX_MESSAGE_BYTES)
                    .max_encoding_message_size(MAX_MESSAGE_BYTES),
            )
            .add_service(self.pushed(RoutingServiceServer::new(services.clone())))
            .add_service(
                PeerServiceServer::new(services.clone())
                    .max_decoding_message_size(MAX_MESSAGE_BYTES)
                    .max_encoding_message_size(MAX_MESSAGE_BYTES),
            )
            // What comes in is a text or what one instance saw: tonic's own bound holds.
            .add_service(
                PolicyServiceServer::new(services.clone())
                    .max_encoding_message_size(MAX_MESSAGE_BYTES),
            )
            .add_service(
                AdminServiceServer::new(services)
                    .max_decoding_message_size(MAX_MESSAGE_BYTES)
                    .max_encoding_message_size(MAX_MESSAGE_BYTES),
            ))
    }

    fn pushed<S>(&self, inner: S) -> Pushed<S> {
        Pushed { inner, services: self.clone() }
    }
}
