//! Policies as JSON: the calls of `PolicyService` for scripts that speak HTTP.

use std::sync::Arc;

use axum::Router;
use axum::body::Bytes;
use axum::extract::{DefaultBodyLimit, FromRef, Path, Query, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Json, Response};
use axum::routing::{get, post};
use plimsoll_wire::v1;
use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::guard::{Forbidden, Guard};
use crate::grpc::Services;
use crate::policies::{Fault, json};

/// A text of a megabyte as JSON, where every character may be escaped.
const MAX_BODY: usize = 8 * 1024 * 1024;

/// What the routes need.
#[derive(Clone, Debug)]
pub(super) struct Shared {
    pub(super) services: Services,
    pub(super) guard: Arc<Guard>,
}

impl FromRef<Shared> for Services {
    fn from_ref(shared: &Shared) -> Self {
        shared.services.clone()
    }
}

impl FromRef<Shared> for Arc<Guard> {
    fn from_ref(shared: &Shared) -> Self {
        shared.guard.clone()
    }
}

/// The routes below `/api/v1/policies`.
pub(super) fn router() -> Router<Shared> {
    Router::new()
        .route("/api/v1/policies", get(list))
        .route("/api/v1/policies/{service}", get(read).put(save))
        .route("/api/v1/policies/{service}/history", get(history))
        .route("/api/v1/policies/{service}/traffic", get(traffic))
        .route("/api/v1/policies/{service}/preview", post(preview))
        .layer(DefaultBodyLimit::max(MAX_BODY))
}

#[derive(Debug, Deserialize)]
struct Wanted {
    #[serde(default)]
    revision: u64,
}

#[derive(Debug, Deserialize)]
struct Limit {
    #[serde(default)]
    limit: u32,
}

/// What is saved.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Edit {
    text: String,
    #[serde(default)]
    author: String,
    #[serde(default)]
    comment: String,
    #[serde(default)]
    rolled_back_to: u64,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Draft {
    text: String,
}

// === reading ===

async fn list(State(services): State<Services>) -> Result<Response, Refused> {
    let list = services.policies.list().await?;
    Ok(Json(json::list(&list)).into_response())
}

async fn read(
    State(services): State<Services>,
    Path(service): Path<String>,
    Query(Wanted { revision }): Query<Wanted>,
) -> Result<Response, Refused> {
    let request = v1::GetPolicyRequest { service, revision };
    let policy = services.policies.get(request).await?.policy.unwrap_or_default();
    let tag = [(header::ETAG, tag(policy.revision))];
    Ok((tag, Json(json::revision(&policy))).into_response())
}

async fn history(
    State(services): State<Services>,
    Path(service): Path<String>,
    Query(Limit { limit }): Query<Limit>,
) -> Result<Response, Refused> {
    let request = v1::PolicyHistoryRequest { service, limit };
    let history = services.policies.history(request).await?;
    Ok(Json(json::history(&history)).into_response())
}

async fn traffic(
    State(services): State<Services>,
    Path(service): Path<String>,
) -> Result<Response, Refused> {
    let traffic = services.policies.traffic(v1::GetTrafficRequest { service }).await?;
    Ok(Json(json::traffic(&traffic)).into_response())
}

// === writing ===

async fn save(
    State(services): State<Services>,
    Path(service): Path<String>,
    State(guard): State<Arc<Guard>>,
    headers: HeaderMap,
    body: Bytes,
) -> Result<Response, Refused> {
    guard.check(&headers)?;
    let edit: Edit = written(&headers, &body)?;
    let expected_revision = expected(&headers)?;
    let request = v1::SetPolicyRequest {
        service,
        text: edit.text,
        expected_revision,
        author: edit.author,
        comment: edit.comment,
        rolled_back_to: edit.rolled_back_to,
    };
    let saved = services.policies.set(request).await?;
    let tag = [(header::ETAG, tag(saved.revision))];
    let status = if expected_revision == 0 { StatusCode::CREATED } else { StatusCode::OK };
    Ok((status, tag, Json(json::saved(&saved))).into_response())
}

/// Changes nothing; but it costs, and no other site should see the answer's timing.
async fn preview(
    State(services): State<Services>,
    Path(service): Path<String>,
    State(guard): State<Arc<Guard>>,
    headers: HeaderMap,
    body: Bytes,
) -> Result<Response, Refused> {
    guard.refuse_other_sites(&headers)?;
    let Draft { text } = written(&headers, &body)?;
    let request = v1::PreviewPolicyRequest { service, text };
    let preview = services.policies.preview(request).await?;
    Ok(Json(json::preview(&preview)).into_response())
}

/// A body of JSON: a form of another site cannot be of that type.
fn written<T: DeserializeOwned>(headers: &HeaderMap, body: &[u8]) -> Result<T, Refused> {
    let given = headers.get(header::CONTENT_TYPE).and_then(|it| it.to_str().ok()).unwrap_or("");
    let kind = given.split(';').next().unwrap_or("").trim();
    if !kind.eq_ignore_ascii_case("application/json") {
        return Err(Refused::NotJson);
    }
    serde_json::from_slice(body).map_err(|error| Refused::Body(error.to_string()))
}

/// The revision that is edited: 0 if there must be none.
fn expected(headers: &HeaderMap) -> Result<u64, Refused> {
    let text = |name| headers.get(name).map(|it| it.to_str().unwrap_or("").trim());
    match (text(header::IF_MATCH), text(header::IF_NONE_MATCH)) {
        (Some(tag), None) => {
            let revision = tag.trim_matches('"').parse();
            revision.map_err(|_| Refused::Tag(tag.to_owned()))
        }
        (None, Some("*")) => Ok(0),
        (None, None) => Err(Refused::NoTag),
        (Some(tag), Some(_)) | (None, Some(tag)) => Err(Refused::Tag(tag.to_owned())),
    }
}

fn tag(revision: u64) -> String {
    format!("\"{revision}\"")
}

// === what is refused ===

/// Why a call was refused.
#[derive(Debug)]
enum Refused {
    Fault(Fault),
    Forbidden(Forbidden),
    NotJson,
    Body(String),
    Tag(String),
    NoTag,
}

impl From<Fault> for Refused {
    fn from(fault: Fault) -> Self {
        Self::Fault(fault)
    }
}

impl From<Forbidden> for Refused {
    fn from(refused: Forbidden) -> Self {
        Self::Forbidden(refused)
    }
}

impl IntoResponse for Refused {
    fn into_response(self) -> Response {
        let told = |status: StatusCode, message: String| {
            (status, Json(json::error(&message))).into_response()
        };
        match self {
            Self::Fault(fault) => fault.into_response(),
            Self::Forbidden(refused) => refused.into_response(),
            Self::NotJson => told(
                StatusCode::UNSUPPORTED_MEDIA_TYPE,
                "send JSON, and say so: content-type: application/json".to_owned(),
            ),
            Self::Body(why) => told(StatusCode::BAD_REQUEST, format!("the body: {why}")),
            Self::Tag(tag) => told(
                StatusCode::BAD_REQUEST,
                format!("{tag:?} is no revision: write If-Match: \"7\", or If-None-Match: * for the first"),
            ),
            Self::NoTag => told(
                StatusCode::PRECONDITION_REQUIRED,
                "which revision was edited? write If-Match: \"7\", or If-None-Match: * for the first".to_owned(),
            ),
        }
    }
}

impl IntoResponse for Fault {
    fn into_response(self) -> Response {
        let status = match &self {
            Self::Wrong(_) => StatusCode::BAD_REQUEST,
            Self::Text { .. } => StatusCode::UNPROCESSABLE_ENTITY,
            Self::Missing(_) => StatusCode::NOT_FOUND,
            Self::Changed { .. } | Self::Replaced => StatusCode::CONFLICT,
            Self::Full(_) | Self::Leaving | Self::Store(_) => StatusCode::SERVICE_UNAVAILABLE,
        };
        let body = Json(json::fault(&self));
        match &self {
            Self::Changed { present, .. } => {
                (status, [(header::ETAG, tag(*present))], body).into_response()
            }
            _ => (status, body).into_response(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(given: &[(header::HeaderName, &str)]) -> HeaderMap {
        given.iter().map(|(name, value)| (name.clone(), value.parse().unwrap())).collect()
    }

    #[test]
    fn who_edits_says_which_revision() {
        let expected = |given: &[_]| expected(&headers(given)).ok();
        assert_eq!(expected(&[(header::IF_MATCH, "\"7\"")]), Some(7));
        assert_eq!(expected(&[(header::IF_MATCH, "7")]), Some(7));
        assert_eq!(expected(&[(header::IF_NONE_MATCH, "*")]), Some(0));
        for wrong in ["*", "W/\"7\"", "\"x\"", ""] {
            assert_eq!(expected(&[(header::IF_MATCH, wrong)]), None, "{wrong}");
        }
        assert_eq!(expected(&[]), None);
        assert_eq!(expected(&[(header::IF_MATCH, "7"), (header::IF_NONE_MATCH, "*")]), None);
    }

    #[test]
    fn only_json_is_read() {
        let json = |kind: &str| {
            written::<Draft>(&headers(&[(header::CONTENT_TYPE, kind)]), b"{\"text\":\"a\"}").is_ok()
        };
        assert!(json("application/json") && json("application/json; charset=utf-8"));
        assert!(!json("text/plain") && !json("application/x-www-form-urlencoded") && !json(""));
    }
}
