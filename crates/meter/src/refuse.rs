//! Answers of the proxy's own, in the shape that a provider's clients show to a person.

use bytes::Bytes;
use hyper::{
    Response, StatusCode,
    header::{CONTENT_TYPE, HeaderValue},
};
use serde_json::json;

use crate::route::Provider;

/// Refuses a request with a status that makes the provider's client show the words and end.
///
/// Claude Code asks once after a 402, six times after a 400, and speaks of logins after a 403; Codex asks once after a
/// 400, six times after any other. Both would go on for long after a 429 or anything from 500 on.
pub(crate) fn refuse(provider: Provider, words: &str) -> Response<Bytes> {
    refuse_with(provider, &format!("warp: {words}"))
}

/// Refuses a request that may cost money and cannot be metered.
pub(crate) fn refuse_unmetered(provider: Provider, what: &str) -> Response<Bytes> {
    let message = format!("warp does not meter {what}, so it is not let through; `metering = false` lets it");
    refuse_with(provider, &message)
}

fn refuse_with(provider: Provider, message: &str) -> Response<Bytes> {
    let status = match provider {
        Provider::Anthropic => StatusCode::PAYMENT_REQUIRED,
        Provider::OpenAi => StatusCode::BAD_REQUEST,
    };
    let mut answer = error(provider, status, message);
    // What both providers' libraries look at before they look at the status.
    answer.headers_mut().insert("x-should-retry", HeaderValue::from_static("false"));
    answer
}

/// Answers with an error.
pub(crate) fn fail(provider: Provider, status: StatusCode, words: &str) -> Response<Bytes> {
    error(provider, status, &format!("warp: {words}"))
}

fn error(provider: Provider, status: StatusCode, message: &str) -> Response<Bytes> {
    let kind = match status {
        StatusCode::PAYMENT_REQUIRED => "billing_error",
        StatusCode::PAYLOAD_TOO_LARGE => "request_too_large",
        status if status.is_server_error() => "api_error",
        _ => "invalid_request_error",
    };
    let body = match provider {
        Provider::Anthropic => json!({ "type": "error", "error": { "type": kind, "message": message } }),
        Provider::OpenAi => {
            json!({ "error": { "message": message, "type": kind, "param": null, "code": null } })
        }
    };
    let mut answer = Response::new(Bytes::from(body.to_string()));
    *answer.status_mut() = status;
    answer.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    answer
}
