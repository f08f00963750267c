//! What the instances at other servers see: asked of them at the moment when somebody
//! looks. Who does not answer soon is left out, and named.

use std::time::Duration;

use futures::future::join_all;
use plimsoll_wire::MAX_MESSAGE_BYTES;
use plimsoll_wire::v1;
use plimsoll_wire::v1::peer_service_client::PeerServiceClient;
use tonic::{Request, Status};

use super::Policies;
use crate::election::About;
use crate::leadership::{SERVER_KEY, Servers};

/// People look at pages: one that is late is worse than one that says what it lacks.
const ANSWER_WITHIN: Duration = Duration::from_millis(300);

impl Policies {
    /// What all servers have seen of a service, or of all in sums if that is empty; and
    /// the addresses of those that did not answer.
    pub(super) async fn observed_everywhere(
        &self,
        service: &str,
    ) -> (Vec<v1::ObservedService>, Vec<String>) {
        let mut observed = self.observed(service);
        let mut left_out = Vec::new();
        let Some(servers) = &self.servers else { return (observed, left_out) };
        let view = servers.elector.view();
        let others = view.servers.iter().filter(|(id, _)| **id != servers.elector.me);
        let asked = others.map(|(_, about)| async move {
            let answer = tokio::time::timeout(ANSWER_WITHIN, ask(servers, about, service)).await;
            (about, answer)
        });
        for (about, answer) in join_all(asked).await {
            match answer {
                Ok(Ok(answer)) => observed.extend(answer.services),
                Ok(Err(status)) => {
                    tracing::debug!(
                        server = about.address,
                        error = status.message(),
                        "a server did not say what it saw"
                    );
                    left_out.push(about.address.clone());
                }
                Err(_) => left_out.push(about.address.clone()),
            }
        }
        (observed, left_out)
    }
}

async fn ask(
    servers: &Servers,
    about: &About,
    service: &str,
) -> Result<v1::ObservedResponse, Status> {
    let used = servers
        .peers
        .to(&about.address.as_str().into())
        .map_err(|error| Status::internal(error.to_string()))?;
    let mut client =
        PeerServiceClient::new(used.channel.clone()).max_decoding_message_size(MAX_MESSAGE_BYTES);
    let server = servers.elector.me.to_string();
    let mut request = Request::new(v1::ObservedRequest { server, service: service.to_owned() });
    if let Ok(key) = servers.elector.about.key.parse() {
        request.metadata_mut().insert(SERVER_KEY, key);
    }
    Ok(client.observed(request).await?.into_inner())
}
