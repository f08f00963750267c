//! A server in this process, and who asks it.

use std::time::Duration;

use plimsoll_server::config::StoreKind;
use plimsoll_server::{Config, Server};
use plimsoll_wire::v1;
use plimsoll_wire::v1::policy_service_client::PolicyServiceClient;
use tempfile::TempDir;
use tonic::Status;
use tonic::transport::{Channel, Endpoint};

pub(crate) type Client = PolicyServiceClient<Channel>;

/// Long enough for anything here on a busy machine.
pub(crate) const SOON: Duration = Duration::from_secs(20);

pub(crate) fn config(folder: &TempDir) -> Config {
    let data_dir = folder.path().join("store");
    let mut config = Config { store: StoreKind::File, data_dir, ..Config::default() };
    config.grpc.listen = "127.0.0.1:0".to_owned();
    config.http.listen = "127.0.0.1:0".to_owned();
    config
}

/// One that forgets.
pub(crate) async fn in_memory() -> Server {
    let folder = tempfile::tempdir().unwrap();
    Server::start(&Config { store: StoreKind::Memory, ..config(&folder) }).await.unwrap()
}

pub(crate) fn client(address: impl std::fmt::Display) -> Client {
    let channel = Endpoint::from_shared(format!("http://{address}")).unwrap().connect_lazy();
    PolicyServiceClient::new(channel)
}

/// Some policy that is told from others by this number, 1 to 4.
pub(crate) fn text(level: u64) -> String {
    format!("default_criticality = {level}\n")
}

pub(crate) fn edit(service: &str, after: u64, text: impl Into<String>) -> v1::SetPolicyRequest {
    v1::SetPolicyRequest {
        service: service.to_owned(),
        text: text.into(),
        expected_revision: after,
        author: "ada".to_owned(),
        comment: format!("after {after}"),
        rolled_back_to: 0,
    }
}

pub(crate) async fn save(
    client: &mut Client,
    service: &str,
    after: u64,
    text: impl Into<String>,
) -> Result<u64, Status> {
    Ok(client.set_policy(edit(service, after, text)).await?.into_inner().revision)
}

pub(crate) async fn newest(client: &mut Client, service: &str) -> v1::PolicyRevision {
    let request = v1::GetPolicyRequest { service: service.to_owned(), revision: 0 };
    client.get_policy(request).await.unwrap().into_inner().policy.unwrap()
}

/// Waits until the condition holds and gives what it found.
pub(crate) async fn eventually<T, F: Future<Output = Option<T>>>(
    what: &str,
    mut condition: impl FnMut() -> F,
) -> T {
    let looking = async {
        loop {
            if let Some(found) = condition().await {
                return found;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(SOON, looking).await.unwrap_or_else(|_| panic!("never: {what}"))
}
