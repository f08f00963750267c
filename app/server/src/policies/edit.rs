//! Reading and changing what the store has.

use std::path::Path;

use plimsoll_qalm::policy_file::Loaded;
use plimsoll_shedding::policy::Table;
use plimsoll_store::{Error as StoreError, MAX_POLICY_BYTES, PolicyHead, PolicyRecord};
use plimsoll_wire::v1;

use super::{Fault, Policies, checks, wire};

/// Revisions that are told where nobody says how many.
const TOLD: usize = 100;

impl Policies {
    /// One revision, or the newest.
    ///
    /// # Errors
    /// There is none such, or the store does not answer.
    pub async fn get(&self, request: v1::GetPolicyRequest) -> Result<v1::GetPolicyResponse, Fault> {
        let record = self.record(&request.service, request.revision).await?;
        Ok(v1::GetPolicyResponse { policy: Some(wire::revision(&record.head, &record.text)) })
    }

    async fn record(&self, service: &str, revision: u64) -> Result<PolicyRecord, Fault> {
        checks::service(service)?;
        let wanted = (revision > 0).then_some(revision);
        let found = self.store.policy(service, wanted).await?;
        found.ok_or_else(|| match wanted {
            None => missing(service),
            Some(revision) => Fault::Missing(format!(
                "there is no revision {revision} of the policy of {service:?}, or it is kept no more"
            )),
        })
    }

    /// The revisions that are kept, the newest first.
    ///
    /// # Errors
    /// There is no policy of that service, or the store does not answer.
    pub async fn history(
        &self,
        request: v1::PolicyHistoryRequest,
    ) -> Result<v1::PolicyHistoryResponse, Fault> {
        checks::service(&request.service)?;
        let limit = if request.limit == 0 { TOLD } else { request.limit as usize };
        let heads = self.store.policy_history(&request.service).await?;
        if heads.is_empty() {
            return Err(missing(&request.service));
        }
        let revisions = heads.iter().take(limit).map(|head| wire::revision(head, ""));
        Ok(v1::PolicyHistoryResponse { revisions: revisions.collect() })
    }

    /// Stores a new revision, if it makes sense and nobody else has saved in between.
    ///
    /// # Errors
    /// It makes no sense, somebody has, or the store does not answer.
    pub async fn set(&self, request: v1::SetPolicyRequest) -> Result<v1::SetPolicyResponse, Fault> {
        checks::service(&request.service)?;
        checks::edit(&request.author, &request.comment)?;
        self.check_roll_back(&request).await?;
        let findings = compiled(&request.service, &request.text).await?.findings();
        let after = request.expected_revision;
        let head = PolicyHead {
            service: request.service.into(),
            revision: after.saturating_add(1),
            saved_at_ms: self.clock.wall_ms(),
            author: request.author,
            comment: request.comment,
            rolled_back_to: request.rolled_back_to,
        };
        let record = PolicyRecord { head: head.clone(), text: request.text.into() };
        match self.store.save_policy(after, record).await {
            Ok(()) => {}
            Err(StoreError::PolicyChanged { present, .. }) => {
                return Err(self.changed(&head.service, present).await);
            }
            Err(error) => return Err(error.into()),
        }
        self.metrics.saved();
        let PolicyHead { service, revision, author, comment, rolled_back_to, .. } = head;
        tracing::info!(%service, revision, author, comment, rolled_back_to, "policy saved");
        Ok(v1::SetPolicyResponse { revision, findings })
    }

    async fn changed(&self, service: &str, present: u64) -> Fault {
        self.metrics.conflicted();
        let newest = self.store.policy(service, Some(present)).await.ok().flatten();
        Fault::Changed { present, head: newest.map(|record| Box::new(record.head)) }
    }

    /// A roll-back is one: it brings back what was there.
    async fn check_roll_back(&self, request: &v1::SetPolicyRequest) -> Result<(), Fault> {
        if request.rolled_back_to == 0 {
            return Ok(());
        }
        let to = self.record(&request.service, request.rolled_back_to).await?;
        if *to.text != *request.text {
            return Err(Fault::Wrong(format!(
                "the text is not that of revision {}: save it as an edit, or send that text",
                request.rolled_back_to
            )));
        }
        Ok(())
    }

    /// The newest policy of a service, compiled; the default if it has none.
    pub(super) async fn table(&self, service: &str) -> Result<Table, Fault> {
        match self.store.policy(service, None).await? {
            // It made sense to the server that saved it.
            Some(record) => compiled(service, &record.text).await,
            None => Ok(Table::default()),
        }
    }
}

fn missing(service: &str) -> Fault {
    Fault::Missing(format!("there is no policy of {service:?}; save one first"))
}

/// Compiles a text, beside the runtime: thousands of rules take a moment.
pub(super) async fn compiled(service: &str, text: &str) -> Result<Table, Fault> {
    if text.len() > MAX_POLICY_BYTES {
        let error = StoreError::PolicyTooLong { service: service.into(), bytes: text.len() };
        return Err(error.into());
    }
    if text.trim().is_empty() {
        let reason = "it is empty; for the defaults write enforcement = \"enforce\"".to_owned();
        return Err(Fault::Text { line: None, reason });
    }
    let (service, text) = (service.to_owned(), text.to_owned());
    let compiled = move || Loaded::parse(Path::new(&service), &text);
    match tokio::task::spawn_blocking(compiled).await {
        Ok(Ok(loaded)) => Ok(loaded.table),
        Ok(Err(error)) => {
            Err(Fault::Text { line: error.line(), reason: error.reason().to_owned() })
        }
        Err(_) => Err(Fault::Leaving),
    }
}
