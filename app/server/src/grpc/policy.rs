//! `PolicyService`: policies of services, and the streams of their instances.

use plimsoll_wire::v1;
use plimsoll_wire::v1::policy_service_server::PolicyService;
use plimsoll_wire::v1::sync_request::Message as FromInstance;
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tokio_util::sync::CancellationToken;
use tonic::{Request, Response, Status, Streaming};

use super::Services;
use super::session::HELLO_WITHIN;
use super::support::invalid;
use crate::policies::{Connection, Fault};

/// Messages on their way to an instance. One that does not read is sent nothing more,
/// and then the newest there is.
const WRITING: usize = 1;

type Written = Result<v1::SyncResponse, Status>;

#[tonic::async_trait]
impl PolicyService for Services {
    type SyncStream = ReceiverStream<Written>;

    async fn list_services(
        &self,
        _: Request<v1::ListServicesRequest>,
    ) -> Result<Response<v1::ListServicesResponse>, Status> {
        let list = async { Ok(self.policies.list().await?) };
        self.counted("ListServices", list).await
    }

    async fn get_policy(
        &self,
        request: Request<v1::GetPolicyRequest>,
    ) -> Result<Response<v1::GetPolicyResponse>, Status> {
        let get = async { Ok(self.policies.get(request.into_inner()).await?) };
        self.counted("GetPolicy", get).await
    }

    async fn set_policy(
        &self,
        request: Request<v1::SetPolicyRequest>,
    ) -> Result<Response<v1::SetPolicyResponse>, Status> {
        let set = async { Ok(self.policies.set(request.into_inner()).await?) };
        self.counted("SetPolicy", set).await
    }

    async fn preview_policy(
        &self,
        request: Request<v1::PreviewPolicyRequest>,
    ) -> Result<Response<v1::PreviewPolicyResponse>, Status> {
        let preview = async { Ok(self.policies.preview(request.into_inner()).await?) };
        self.counted("PreviewPolicy", preview).await
    }

    async fn policy_history(
        &self,
        request: Request<v1::PolicyHistoryRequest>,
    ) -> Result<Response<v1::PolicyHistoryResponse>, Status> {
        let history = async { Ok(self.policies.history(request.into_inner()).await?) };
        self.counted("PolicyHistory", history).await
    }

    async fn get_traffic(
        &self,
        request: Request<v1::GetTrafficRequest>,
    ) -> Result<Response<v1::GetTrafficResponse>, Status> {
        let traffic = async { Ok(self.policies.traffic(request.into_inner()).await?) };
        self.counted("GetTraffic", traffic).await
    }

    async fn sync(
        &self,
        request: Request<Streaming<v1::SyncRequest>>,
    ) -> Result<Response<Self::SyncStream>, Status> {
        let mut requests = request.into_inner();
        let hello = first_hello(&mut requests).await?;
        let connection = self.policies.connect(hello)?;
        let (writer, written) = mpsc::channel(WRITING);
        let end = self.shutdown.clone();
        tokio::spawn(run(connection, requests, writer, end));
        Ok(Response::new(ReceiverStream::new(written)))
    }
}

async fn first_hello(requests: &mut Streaming<v1::SyncRequest>) -> Result<v1::SyncHello, Status> {
    let first = tokio::time::timeout(HELLO_WITHIN, requests.message());
    let first = first.await.map_err(|_| invalid("no hello came within 10 s"))??;
    match first.and_then(|request| request.message) {
        Some(FromInstance::Hello(hello)) => Ok(hello),
        _ => Err(invalid("the first message of a stream must be a hello")),
    }
}

/// Until the stream breaks, or there is a reason to end it.
async fn run(
    mut connection: Connection,
    mut requests: Streaming<v1::SyncRequest>,
    writer: mpsc::Sender<Written>,
    end: CancellationToken,
) {
    let replaced = connection.replaced();
    let why = loop {
        tokio::select! {
            place = writer.reserve(), if connection.is_due() => {
                let Ok(place) = place else { return };
                if let Some(message) = connection.take_due() {
                    place.send(Ok(message));
                }
            }
            request = requests.message() => {
                // It has ended, or is broken.
                let Ok(Some(request)) = request else { return };
                if let Err(status) = take(&mut connection, request) {
                    break status;
                }
            }
            () = connection.changed() => {}
            () = writer.closed() => return,
            () = replaced.cancelled() => break Fault::Replaced.into(),
            () = end.cancelled() => break Fault::Leaving.into(),
        }
    };
    drop(connection);
    // The instance may have gone too.
    drop(writer.send(Err(why)).await);
}

fn take(connection: &mut Connection, request: v1::SyncRequest) -> Result<(), Status> {
    match request.message {
        Some(FromInstance::Applied(applied)) => connection.applied(&applied),
        Some(FromInstance::Observation(observation)) => connection.observed(observation),
        Some(FromInstance::Hello(_)) => return Err(invalid("a stream has one hello")),
        // A later version says what nobody knows here.
        None => {}
    }
    Ok(())
}
