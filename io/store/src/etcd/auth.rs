//! Who we are to etcd: a token for a name and password, fetched again when etcd does
//! not take it any more.

use std::fmt;

use parking_lot::RwLock;
use tokio::sync::Mutex;
use tonic::metadata::{Ascii, MetadataValue};
use tonic::{Code, Request, Status};

use super::EtcdError;
use super::api::AuthenticateRequest;

/// What a request carries to say who we are; nothing where etcd does not ask.
#[derive(Clone, Default, Eq, PartialEq)]
pub(super) struct Signature(Option<MetadataValue<Ascii>>);

/// A user, and its signature while that is good.
pub(super) struct Credentials {
    user: Option<AuthenticateRequest>,
    signature: RwLock<Option<Signature>>,
    /// One asks for a token, the others wait: a password costs etcd 50 ms.
    asking: Mutex<()>,
}

impl Signature {
    pub(super) fn from_token(token: &str) -> Result<Self, EtcdError> {
        let damaged = |_| EtcdError::Damaged {
            key: "token of the user".to_owned(),
            detail: "it is no text for a header".to_owned(),
        };
        token.parse().map(|token| Self(Some(token))).map_err(damaged)
    }

    pub(super) fn request<T>(&self, message: T) -> Request<T> {
        let mut request = Request::new(message);
        if let Some(token) = &self.0 {
            request.metadata_mut().insert("token", token.clone());
        }
        request
    }
}

impl Credentials {
    pub(super) fn new(user: Option<(String, String)>) -> Self {
        let user = user.map(|(name, password)| AuthenticateRequest { name, password });
        Self { user, signature: RwLock::default(), asking: Mutex::default() }
    }

    /// The signature that is good as far as anybody knows; from `ask` if there is none.
    pub(super) async fn signature<F>(
        &self,
        ask: impl FnOnce(AuthenticateRequest) -> F,
    ) -> Result<Signature, EtcdError>
    where
        F: Future<Output = Result<Signature, EtcdError>>,
    {
        let Some(user) = &self.user else { return Ok(Signature::default()) };
        if let Some(signature) = self.known() {
            return Ok(signature);
        }
        let _turn = self.asking.lock().await;
        if let Some(signature) = self.known() {
            return Ok(signature);
        }
        let signature = ask(user.clone()).await?;
        *self.signature.write() = Some(signature.clone());
        Ok(signature)
    }

    fn known(&self) -> Option<Signature> {
        self.signature.read().clone()
    }

    pub(super) fn forget(&self) {
        *self.signature.write() = None;
    }

    /// etcd refused this signature. `false`: there is no user to get another for.
    pub(super) fn renew(&self, refused: &Signature) -> bool {
        let mut signature = self.signature.write();
        // Another call may have got a new one meanwhile.
        if signature.as_ref() == Some(refused) {
            *signature = None;
        }
        self.user.is_some()
    }
}

/// The token has run out, is not known after a restart, is older than the last change
/// of users and roles, or there was none while etcd's authentication was off.
pub(super) fn is_stale(status: &Status) -> bool {
    let says = |text| status.message().contains(text);
    match status.code() {
        Code::Unauthenticated => true,
        Code::InvalidArgument => says("user name is empty") || says("auth store is old"),
        // How etcd 3.4 says the latter.
        Code::Unknown => says("revision in header is old"),
        _ => false,
    }
}

/// etcd has users, but does not ask who comes.
pub(super) fn is_off(status: &Status) -> bool {
    status.message().contains("authentication is not enabled")
}

// Without what is secret.
impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let user = self.user.as_ref().map(|user| &user.name);
        f.debug_struct("Credentials").field("user", &user).finish_non_exhaustive()
    }
}

impl fmt::Debug for Signature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_some() { "Signature(token)" } else { "Signature(none)" })
    }
}
