//! `namespace force-reset`: throws away everything stored about a namespace.
//!
//! Never without the name typed again; there is no flag around it.

use anyhow::Result;
use plimsoll_wire::sharddistributor::ForceResetNamespaceRequest;
use serde::Serialize;

use crate::output;
use crate::prompt;
use crate::session::Session;

#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct Answer {
    deleted_keys: i64,
}

pub(crate) async fn run(session: &Session) -> Result<()> {
    let namespace = session.namespace()?;
    let question = format!(
        "This will DELETE all etcd state for namespace {namespace:?}. \
         Retype the namespace to confirm: "
    );
    prompt::retype(&question, &namespace)?;
    let server = session.server()?;
    let request = server.request(ForceResetNamespaceRequest { namespace });
    let answer =
        server.call("ForceResetNamespace", server.go().force_reset_namespace(request)).await?;
    output::print_json(&Answer { deleted_keys: answer.deleted_keys })
}
