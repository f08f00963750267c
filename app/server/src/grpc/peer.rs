//! `PeerService`: what other servers ask of this one.

use plimsoll_wire::v1;
use plimsoll_wire::v1::peer_service_server::PeerService;
use tonic::{Request, Response, Status};

use super::Services;
use crate::leadership::SERVER_KEY;

#[tonic::async_trait]
impl PeerService for Services {
    async fn take_over(
        &self,
        request: Request<v1::TakeOverRequest>,
    ) -> Result<Response<v1::TakeOverResponse>, Status> {
        let key = key(&request);
        let taken = async {
            let servers = self.servers.as_ref().ok_or_else(alone)?;
            servers.take_over(key.as_deref(), request.into_inner()).await
        };
        self.counted("TakeOver", taken).await
    }

    async fn observed(
        &self,
        request: Request<v1::ObservedRequest>,
    ) -> Result<Response<v1::ObservedResponse>, Status> {
        let key = key(&request);
        let observed = async {
            let request = request.into_inner();
            let servers = self.servers.as_ref().ok_or_else(alone)?;
            servers.check_key(key.as_deref(), &request.server).await?;
            Ok(v1::ObservedResponse { services: self.policies.observed(&request.service) })
        };
        self.counted("Observed", observed).await
    }
}

fn key<T>(request: &Request<T>) -> Option<String> {
    let key = request.metadata().get(SERVER_KEY).and_then(|key| key.to_str().ok());
    key.map(str::to_owned)
}

fn alone() -> Status {
    Status::permission_denied("this server has no others beside it")
}
