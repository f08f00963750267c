//! What etcd said, or did not say.

use std::error::Error as _;

use tonic::{Code, Status};

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

    #[error(
        "etcd at {endpoint} did not {what}: its space quota is used up and it takes no writes; \
         compact and defragment it or raise --quota-backend-bytes, then disarm the alarm NOSPACE"
    )]
    Full { what: &'static str, endpoint: String },

    #[error("etcd at {endpoint} did not {what}: our lease has run out; join the servers again")]
    LeaseGone { what: &'static str, endpoint: String },

    #[error("the watch at one of {endpoints} broke: {why}; see that they are up")]
    Broken { endpoints: String, why: String },

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
        let endpoint = endpoint.to_owned();
        match status.code() {
            Code::ResourceExhausted if status.message().contains("space exceeded") => {
                Self::Full { what, endpoint }
            }
            // Nothing else that we ask for can be missing.
            Code::NotFound => Self::LeaseGone { what, endpoint },
            _ => Self::Refused { what, endpoint, why: told(status) },
        }
    }
}

/// With the causes: that a certificate is not trusted, say, is one of them.
fn told(status: &Status) -> String {
    let mut told = match status.message() {
        "" => status.code().to_string(),
        message => message.to_owned(),
    };
    let mut source = status.source();
    while let Some(cause) = source {
        let cause_told = cause.to_string();
        if !told.contains(&cause_told) {
            told = format!("{told}: {cause_told}");
        }
        source = cause.source();
    }
    told
}
