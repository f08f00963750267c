//! `RoutingService`: lookups. Its watch is answered by [`super::pushed`].

use plimsoll_wire::status::TypedError;
use plimsoll_wire::v1;
use plimsoll_wire::v1::routing_service_server::RoutingService;
use tokio_stream::Empty;
use tonic::{Request, Response, Status};

use super::support::{Located, answered_elsewhere};
use super::{Services, validate};

#[tonic::async_trait]
impl RoutingService for Services {
    type WatchStream = Empty<Result<v1::WatchResponse, Status>>;

    async fn watch(
        &self,
        _request: Request<v1::WatchRequest>,
    ) -> Result<Response<Self::WatchStream>, Status> {
        Err(answered_elsewhere())
    }

    async fn lookup(
        &self,
        request: Request<v1::LookupRequest>,
    ) -> Result<Response<v1::LookupResponse>, Status> {
        let v1::LookupRequest { namespace, shard_key } = request.into_inner();
        let mut answer = self.counted("Lookup", self.look_up(&namespace, &shard_key)).await?;
        if let Ok(listed) = self.listed(&namespace) {
            self.tell_age(&listed, &mut answer);
        }
        Ok(answer)
    }
}

impl Services {
    async fn look_up(&self, name: &str, key: &str) -> Result<v1::LookupResponse, Status> {
        validate::key(key)?;
        let namespace = self.listed(name)?;
        match self.find_owner(&namespace, key, true).await? {
            Located::Owner(owner) => Ok(v1::LookupResponse {
                executor_id: owner.executor.id.to_string(),
                generation: owner.generation,
                metadata: owner.executor.metadata.clone().into_iter().collect(),
            }),
            Located::Drained => Err(TypedError::shard_drained(name, key).into()),
            Located::NotFound => Err(TypedError::shard_not_found(name, key).into()),
            Located::NoExecutor => {
                Err(Status::unavailable("no executor can run the shard now: try again"))
            }
        }
    }
}
