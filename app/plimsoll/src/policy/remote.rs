//! The server that keeps the policies.

use std::fmt;
use std::future::Future;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, Result};
use clap::Args;
use plimsoll_wire::MAX_MESSAGE_BYTES;
use plimsoll_wire::v1;
use plimsoll_wire::v1::policy_service_client::PolicyServiceClient;
use tonic::transport::{Certificate, Channel, ClientTlsConfig, Endpoint, Identity};
use tonic::{Code, Request, Response, Status};

/// Somebody else saved in between: a script may want to begin anew.
pub(super) const CONFLICT: u8 = 3;

/// Whom to ask: any server answers for all.
#[derive(Args, Clone, Debug)]
pub(super) struct Remote {
    /// gRPC address of any server
    #[arg(
        long,
        value_name = "HOST:PORT",
        env = "PLIMSOLL_SERVER",
        default_value = "127.0.0.1:7943"
    )]
    server: String,
    /// Who signed the server's certificate (PEM); says to use TLS
    #[arg(long, value_name = "FILE")]
    tls_ca: Option<PathBuf>,
    /// Certificate that the server is shown (PEM)
    #[arg(long, value_name = "FILE", requires_all = ["tls_key", "tls_ca"])]
    tls_cert: Option<PathBuf>,
    /// Its key (PEM)
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    tls_key: Option<PathBuf>,
    /// How long each call may take
    #[arg(long, value_name = "TIME", value_parser = duration, default_value = "10s")]
    timeout: Duration,
}

fn duration(text: &str) -> Result<Duration, String> {
    let parsed = plimsoll_ownership::duration::parse(text);
    parsed.ok_or_else(|| format!("{text:?} is not a duration such as 500ms, 30s or 2m"))
}

/// A connection.
#[derive(Clone, Debug)]
pub(super) struct Asked {
    client: PolicyServiceClient<Channel>,
    server: String,
    timeout: Duration,
}

/// Why a call failed.
#[derive(Debug)]
pub(super) struct Refused {
    status: Status,
    server: String,
}

impl Remote {
    /// Runs a command that asks the server.
    pub(super) fn run<F>(&self, command: impl FnOnce(Asked) -> F) -> Result<ExitCode>
    where
        F: Future<Output = Result<ExitCode>>,
    {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        runtime.context("cannot start the runtime")?.block_on(async {
            let asked = self.connect()?;
            command(asked).await
        })
    }

    /// Connects with the first call.
    fn connect(&self) -> Result<Asked> {
        let scheme = if self.tls_ca.is_some() { "https" } else { "http" };
        let mut endpoint = Endpoint::from_shared(format!("{scheme}://{}", self.server))
            .with_context(|| format!("--server {:?} is no host:port", self.server))?
            .connect_timeout(self.timeout);
        if let Some(ca) = &self.tls_ca {
            endpoint = endpoint.tls_config(self.tls(ca)?).context("TLS is refused")?;
        }
        let client = PolicyServiceClient::new(endpoint.connect_lazy())
            .max_decoding_message_size(MAX_MESSAGE_BYTES);
        Ok(Asked { client, server: self.server.clone(), timeout: self.timeout })
    }

    fn tls(&self, ca: &Path) -> Result<ClientTlsConfig> {
        let tls = ClientTlsConfig::new().ca_certificate(Certificate::from_pem(read(ca)?));
        Ok(match (&self.tls_cert, &self.tls_key) {
            (Some(certificate), Some(key)) => {
                tls.identity(Identity::from_pem(read(certificate)?, read(key)?))
            }
            _ => tls,
        })
    }
}

fn read(path: &Path) -> Result<String> {
    std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))
}

impl Asked {
    async fn call<T>(
        &self,
        call: impl Future<Output = Result<Response<T>, Status>>,
    ) -> Result<T, Refused> {
        let late = |_| Err(Status::deadline_exceeded("no answer"));
        let answer = tokio::time::timeout(self.timeout, call).await.unwrap_or_else(late);
        let refused = |status| Refused { status, server: self.server.clone() };
        Ok(answer.map_err(refused)?.into_inner())
    }

    pub(super) async fn list(&self) -> Result<v1::ListServicesResponse, Refused> {
        let request = Request::new(v1::ListServicesRequest {});
        self.call(self.client.clone().list_services(request)).await
    }

    /// One revision; 0: the newest.
    pub(super) async fn get(
        &self,
        service: &str,
        revision: u64,
    ) -> Result<v1::PolicyRevision, Refused> {
        let request = v1::GetPolicyRequest { service: service.to_owned(), revision };
        let answer = self.call(self.client.clone().get_policy(request)).await?;
        Ok(answer.policy.unwrap_or_default())
    }

    /// The newest; `None`: there is none yet.
    pub(super) async fn newest(
        &self,
        service: &str,
    ) -> Result<Option<v1::PolicyRevision>, Refused> {
        match self.get(service, 0).await {
            Ok(policy) => Ok(Some(policy)),
            Err(refused) if refused.status.code() == Code::NotFound => Ok(None),
            Err(refused) => Err(refused),
        }
    }

    pub(super) async fn set(
        &self,
        request: v1::SetPolicyRequest,
    ) -> Result<v1::SetPolicyResponse, Refused> {
        self.call(self.client.clone().set_policy(request)).await
    }

    pub(super) async fn history(
        &self,
        service: &str,
        limit: u32,
    ) -> Result<v1::PolicyHistoryResponse, Refused> {
        let request = v1::PolicyHistoryRequest { service: service.to_owned(), limit };
        self.call(self.client.clone().policy_history(request)).await
    }

    pub(super) async fn preview(
        &self,
        service: &str,
        text: String,
    ) -> Result<v1::PreviewPolicyResponse, Refused> {
        let request = v1::PreviewPolicyRequest { service: service.to_owned(), text };
        self.call(self.client.clone().preview_policy(request)).await
    }
}

impl Refused {
    /// Somebody else saved in between.
    pub(super) fn is_conflict(&self) -> bool {
        self.status.code() == Code::Aborted
    }

    /// With the place in the file that the text is from, `above` lines of which were not
    /// sent.
    pub(super) fn in_file(self, file: &Path, above: u64) -> anyhow::Error {
        let line = self.status.metadata().get(plimsoll_server::policies::LINE);
        let line = line.and_then(|it| it.to_str().ok()?.parse::<u64>().ok());
        let Some(line) = line else { return self.into() };
        let message = self.status.message();
        let reason = message.strip_prefix(&format!("line {line}: ")).unwrap_or(message);
        anyhow::anyhow!("{}:{}: {reason}", file.display(), line + above)
    }
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (status, server) = (&self.status, &self.server);
        match status.code() {
            Code::Unavailable if std::error::Error::source(status).is_some() => write!(
                f,
                "cannot reach a server at {server}: {}; --server or PLIMSOLL_SERVER names another",
                innermost(status)
            ),
            Code::DeadlineExceeded | Code::Cancelled => {
                write!(f, "no answer from {server} in time; --timeout gives it more")
            }
            Code::Unimplemented => write!(f, "the server at {server} keeps no policies yet"),
            _ => f.write_str(status.message()),
        }
    }
}

impl std::error::Error for Refused {}

/// "Connection refused" lies several errors deep.
fn innermost(status: &Status) -> String {
    let mut cause: &dyn std::error::Error = status;
    while let Some(deeper) = cause.source() {
        cause = deeper;
    }
    cause.to_string()
}
