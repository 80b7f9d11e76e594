//! What a provider says when it lets nobody in, or fails: why, and until when.

use engine::Time;
use hyper::{HeaderMap, StatusCode};
use jiff::fmt::rfc2822;
use serde_json::Value;

use crate::Limit;

/// How much is kept of what a provider says, in characters.
const LONGEST_WORDS: usize = 300;

/// Reads a refusal for the sake of a limit; `body` is as much of it as there is.
pub(crate) fn read(status: StatusCode, headers: &HeaderMap, body: &[u8], now: Time) -> Limit {
    let said = serde_json::from_slice::<Value>(body).unwrap_or_default();
    let resets_at = from_body(&said, now).or_else(|| from_headers(headers, now));
    let words = words(&said).unwrap_or_else(|| "the provider's limit is reached".to_owned());
    Limit { status: status.as_u16(), resets_at, words }
}

/// Returns all that names a failure: the provider's type and code for it, and its message.
pub(crate) fn signs(body: &[u8]) -> String {
    let said = serde_json::from_slice::<Value>(body).unwrap_or_default();
    let names = ["type", "code"].map(|name| said["error"][name].as_str().unwrap_or_default());
    format!("{} {} {}", names[0], names[1], words(&said).unwrap_or_default())
}

/// Returns what a provider says of a failure, if it can be read.
pub(crate) fn complaint(body: &[u8]) -> Option<String> {
    words(&serde_json::from_slice(body).ok()?)
}

fn words(said: &Value) -> Option<String> {
    let error = &said["error"];
    let words =
        error["message"].as_str().or(error.as_str()).or(said["message"].as_str()).or(said["detail"].as_str());
    words.map(|words| words.chars().take(LONGEST_WORDS).collect())
}

/// Reads what ChatGPT says of a plan that is used up.
fn from_body(said: &Value, now: Time) -> Option<Time> {
    let error = if said["error"].is_object() { &said["error"] } else { said };
    let at = error["resets_at"].as_f64().map(epoch).filter(|at| *at > now);
    at.or_else(|| error["resets_in_seconds"].as_f64().map(|seconds| later(now, seconds)))
}

fn from_headers(headers: &HeaderMap, now: Time) -> Option<Time> {
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).map(str::trim);
    // A plan's window, then the provider's own advice, then the windows of a key. A reset in the past says nothing:
    // the clocks differ, or the header is about another window than the one that is used up.
    let plan = text("anthropic-ratelimit-unified-reset").and_then(moment).filter(|at| *at > now);
    plan.or_else(|| retry_after(text("retry-after-ms"), text("retry-after"), now))
        .or_else(|| {
            windows(headers, |name| name.starts_with("anthropic-ratelimit-") && name.ends_with("-reset"), now)
        })
        .or_else(|| windows(headers, |name| name.starts_with("x-ratelimit-reset-"), now))
}

fn retry_after(millis: Option<&str>, text: Option<&str>, now: Time) -> Option<Time> {
    if let Some(millis) = millis.and_then(number) {
        return Some(later(now, millis / 1000.0));
    }
    let text = text?;
    number(text).map(|seconds| later(now, seconds)).or_else(|| moment(text).filter(|at| *at > now))
}

/// Returns when the last window begins anew, of those that are used up if it can be told which are.
fn windows(headers: &HeaderMap, is_reset: impl Fn(&str) -> bool, now: Time) -> Option<Time> {
    let resets = headers.iter().filter(|(name, _)| is_reset(name.as_str())).filter_map(|(name, value)| {
        let text = value.to_str().ok()?.trim();
        let at = moment(text).or_else(|| span(text).map(|seconds| later(now, seconds)))?;
        if at <= now {
            return None;
        }
        let left = headers.get(name.as_str().replace("reset", "remaining"));
        Some((left.is_some_and(|left| left == "0"), at))
    });
    // A window that is used up comes after every one that is not.
    resets.max().map(|(_, at)| at)
}

/// Reads a moment: seconds since 1970, RFC 3339, or the date of HTTP.
fn moment(text: &str) -> Option<Time> {
    // Fewer seconds are a time from now on.
    const LEAST: f64 = 1e9;
    if let Some(seconds) = number(text) {
        return (seconds >= LEAST).then(|| epoch(seconds));
    }
    let http = || rfc2822::DateTimeParser::new().relaxed_weekday(true).parse_timestamp(text).ok();
    Time::parse(text).ok().or_else(|| http().map(|at| Time::from_millis(at.as_millisecond())))
}

/// Reads a time like `6m0s`, `1h2m3.5s`, `20ms` or `12`, in seconds.
fn span(text: &str) -> Option<f64> {
    if let Some(seconds) = number(text) {
        return Some(seconds);
    }
    let (mut rest, mut whole) = (text, 0.0);
    // A text without any unit was no number.
    while !rest.is_empty() || text.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
        let count = number(&rest[..digits])?;
        rest = &rest[digits..];
        let letters = rest.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(rest.len());
        let unit = match &rest[..letters] {
            "d" => 86_400.0,
            "h" => 3600.0,
            "m" => 60.0,
            "s" => 1.0,
            "ms" => 0.001,
            _ => return None,
        };
        whole += count * unit;
        rest = &rest[letters..];
    }
    Some(whole)
}

fn number(text: &str) -> Option<f64> {
    text.parse().ok().filter(|number: &f64| number.is_finite() && *number >= 0.0)
}

fn later(now: Time, seconds: f64) -> Time {
    Time::from_millis(now.millis().saturating_add((seconds * 1000.0).ceil() as i64))
}

fn epoch(seconds: f64) -> Time {
    Time::from_millis((seconds * 1000.0).ceil() as i64)
}

#[cfg(test)]
mod tests {
    use hyper::header::{HeaderName, HeaderValue};

    use super::*;

    const NOW: i64 = 1_800_000_000_000;

    /// Returns how many seconds after now a refusal's limit ends.
    fn ends(headers: &[(&'static str, &str)], body: &str) -> Option<i64> {
        let headers = headers
            .iter()
            .map(|(name, value)| (HeaderName::from_static(name), HeaderValue::from_str(value).unwrap()));
        let now = Time::from_millis(NOW);
        let limit = read(StatusCode::TOO_MANY_REQUESTS, &headers.collect(), body.as_bytes(), now);
        limit.resets_at.map(|at| (at.millis() - NOW) / 1000)
    }

    #[test]
    fn a_reset_is_found_in_every_form() {
        assert_eq!(ends(&[("retry-after", "30")], ""), Some(30));
        assert_eq!(ends(&[("retry-after", "Fri, 15 Jan 2027 08:01:00 GMT")], ""), Some(60));
        assert_eq!(ends(&[("retry-after-ms", "1500"), ("retry-after", "2")], ""), Some(1));
        assert_eq!(
            ends(&[("anthropic-ratelimit-unified-reset", "1800003600"), ("retry-after", "5")], ""),
            Some(3600)
        );
        assert_eq!(ends(&[("anthropic-ratelimit-tokens-reset", "2027-01-15T08:02:00Z")], ""), Some(120));
        assert_eq!(ends(&[("x-ratelimit-reset-requests", "6m0s")], ""), Some(360));
        assert_eq!(ends(&[("x-ratelimit-reset-tokens", "1h2m3.5s")], ""), Some(3723));
        assert_eq!(ends(&[], r#"{"error":{"type":"usage_limit_reached","resets_at":1800000090}}"#), Some(90));
        assert_eq!(ends(&[("retry-after", "1")], r#"{"error":{"resets_in_seconds":7200}}"#), Some(7200));
    }

    #[test]
    fn a_reset_in_the_past_does_not_win_over_retry_after() {
        let past = "2027-01-15T07:59:00Z";
        for name in ["anthropic-ratelimit-unified-reset", "anthropic-ratelimit-tokens-reset"] {
            assert_eq!(ends(&[(name, past), ("retry-after", "30")], ""), Some(30), "{name}");
            assert_eq!(ends(&[(name, "1799999940"), ("retry-after", "30")], ""), Some(30), "{name}");
            assert_eq!(ends(&[(name, past)], ""), None, "{name}");
        }
        assert_eq!(ends(&[("retry-after", "30")], r#"{"error":{"resets_at":1799999990}}"#), Some(30));
        assert_eq!(ends(&[("retry-after", "Fri, 15 Jan 2027 07:59:00 GMT")], ""), None);
    }

    #[test]
    fn the_window_that_is_used_up_counts() {
        let headers = [
            ("anthropic-ratelimit-requests-remaining", "12"),
            ("anthropic-ratelimit-requests-reset", "2027-01-15T09:00:00Z"),
            ("anthropic-ratelimit-tokens-remaining", "0"),
            ("anthropic-ratelimit-tokens-reset", "2027-01-15T08:00:10Z"),
        ];
        assert_eq!(ends(&headers, ""), Some(10));
    }

    #[test]
    fn what_cannot_be_read_is_no_reset() {
        for text in ["", "soon", "6x", "m", "1e400", "NaN", "-", "-5", "1.2.3s"] {
            for name in ["retry-after", "x-ratelimit-reset-tokens", "anthropic-ratelimit-unified-reset"] {
                assert_eq!(ends(&[(name, text)], text), None, "{name}: {text}");
            }
        }
        assert_eq!(ends(&[], r#"{"error":"busy"}"#), None);
    }

    #[test]
    fn the_words_are_the_providers() {
        let said = |body: &str| complaint(body.as_bytes());
        assert_eq!(
            said(r#"{"type":"error","error":{"type":"x","message":"Overloaded"}}"#).as_deref(),
            Some("Overloaded")
        );
        assert_eq!(said(r#"{"detail":"Too many"}"#).as_deref(), Some("Too many"));
        assert_eq!(said("<html>"), None);
    }
}
