//! What etcd said, or did not say.

use tonic::Status;

/// Why etcd did not do what it was asked to. Can be cloned, since one failed write
/// can be the end of many commits.
#[derive(Clone, Debug, thiserror::Error)]
pub enum EtcdError {
    #[error("no etcd endpoint is given: name at least one, such as http://127.0.0.1:2379")]
    NoEndpoint,

    #[error(
        "{endpoint:?} is not an etcd endpoint: {why}; write http://host:2379 or https://host:2379"
    )]
    BadEndpoint { endpoint: String, why: String },

    #[error(
        "etcd did not {what} in time, last: {why}; see that a majority of {endpoints} is up and \
         can be reached"
    )]
    Away { what: &'static str, endpoints: String, why: String },

    #[error(
        "etcd at {endpoint} refused to {what}: {why}; check user, password, permissions and space quota"
    )]
    Refused { what: &'static str, endpoint: String, why: String },

    #[error("the server is going down: etcd is not asked any more")]
    Closed,

    #[error(
        "the etcd key {key:?} is damaged or foreign: {detail}; restore it from a backup or delete it"
    )]
    Damaged { key: String, detail: String },
}

impl EtcdError {
    pub(super) fn away(what: &'static str, endpoints: String, status: &Status) -> Self {
        Self::Away { what, endpoints, why: told(status) }
    }

    pub(super) fn refused(what: &'static str, endpoint: &str, status: &Status) -> Self {
        Self::Refused { what, endpoint: endpoint.to_owned(), why: told(status) }
    }
}

fn told(status: &Status) -> String {
    match status.message() {
        "" => status.code().to_string(),
        message => message.to_owned(),
    }
}
