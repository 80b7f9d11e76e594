//! The client of a forge against scripted answers.

use std::sync::Arc;

use super::*;
use crate::http::scripted::Scripted;

fn scripted() -> (Arc<Scripted>, Client) {
    let net = Arc::new(Scripted::default());
    (Arc::clone(&net), Client::new(net, vec![("accept", "application/json".to_owned())]))
}

#[test]
fn every_page_is_read_under_the_path_that_was_asked() {
    let (net, client) = scripted();
    let next = "<https://elsewhere.example/repositories/7/issues?state=all&after=abc&page=2>; rel=\"next\", \
                <https://elsewhere.example/repositories/7/issues?page=2>; rel=\"last\"";
    net.answer_with("GET /repos/o/r/issues?state=all", 200, &[("Link", next)], "[1, null, 2]");
    net.answer("GET /repos/o/r/issues?state=all&after=abc&page=2", 200, "[3]");
    assert_eq!(client.list::<u64>("/repos/o/r/issues?state=all").unwrap(), [1, 2, 3]);
    net.finish();
}

#[test]
fn pages_go_on_until_all_are_there_where_a_server_counts() {
    let (net, client) = scripted();
    let total = [("x-total-count", "5")];
    net.answer_with("GET /issues?limit=50", 200, &total, "[1, 2]");
    net.answer_with("GET /issues?limit=50&page=2", 200, &total, "[null, 4]");
    net.answer_with("GET /issues?limit=50&page=3", 200, &total, "[5]");
    assert_eq!(client.list::<u64>("/issues?limit=50").unwrap(), [1, 2, 4, 5]);
    net.answer_with("GET /issues", 200, &total, "[1]").answer_with("GET /issues?page=2", 200, &total, "[]");
    assert_eq!(client.list::<u64>("/issues").unwrap(), [1], "a count that is too high ends all the same");
    net.finish();
}

#[test]
fn a_list_without_an_end_is_no_list() {
    #[derive(Debug)]
    struct Endless;
    impl crate::http::Net for Endless {
        fn send(&self, _: &Request) -> Result<Response, SendError> {
            let headers = vec![("link".to_owned(), "<https://x/?page=2>; rel=\"next\"".to_owned())];
            Ok(Response { status: 200, headers, body: b"[1]".to_vec() })
        }

        fn now(&self) -> Time {
            Time::from_millis(0)
        }
    }
    let client = Client::new(Arc::new(Endless), Vec::new());
    assert!(matches!(client.list::<u64>("/x"), Err(Failure::Bad(_))));
}

#[test]
fn things_are_counted_without_reading_them() {
    let (net, client) = scripted();
    let last = "<https://x/pulls?page=2>; rel=\"next\", <https://x/pulls?per_page=1&page=41>; rel=\"last\"";
    net.answer_with("GET /pulls", 200, &[("link", last)], "[{}]");
    net.answer("GET /pulls", 200, "[]").answer_with("GET /pulls", 200, &[("x-total-count", "7")], "[{}]");
    let count = || client.count::<Value>("/pulls").unwrap();
    assert_eq!([count(), count(), count()], [41, 0, 7]);
    net.finish();
}

#[test]
fn what_has_not_changed_is_not_sent_again() {
    let (net, client) = scripted();
    let next = "<https://x/issues?page=2>; rel=\"next\"";
    net.answer_with("GET /issues", 200, &[("ETag", "W/\"1\""), ("link", next)], "[1]");
    net.answer_with("GET /issues?page=2", 200, &[("etag", "\"2\"")], "[2]");
    net.answer_with("GET /issues", 304, &[], "").answer_with("GET /issues?page=2", 304, &[], "");
    for _ in 0..2 {
        assert_eq!(client.list::<u64>("/issues").unwrap(), [1, 2]);
    }
    let tags: Vec<Option<String>> = net
        .finish()
        .into_iter()
        .map(|asked| asked.headers.into_iter().find(|(name, _)| *name == "if-none-match").map(|it| it.1))
        .collect();
    assert_eq!(tags, [None, None, Some("W/\"1\"".to_owned()), Some("\"2\"".to_owned())]);
    assert_eq!((client.budget().asked, client.budget().unchanged), (4, 2));
}

#[test]
fn a_server_that_is_asked_too_often_is_left_alone() {
    let hour = Time::from_millis(3_600_000);
    type Case = (u16, &'static [(&'static str, &'static str)], &'static str, i64);
    let cases: [Case; 6] = [
        (
            403,
            &[("x-ratelimit-remaining", "0"), ("x-ratelimit-reset", "5000")],
            "API rate limit exceeded",
            5_000_000,
        ),
        (403, &[("retry-after", "30")], "You have exceeded a secondary rate limit", 3_630_000),
        (403, &[("x-ratelimit-remaining", "4000")], "You have exceeded a secondary rate limit.", 3_660_000),
        (429, &[], "", 3_660_000),
        (429, &[("retry-after", "1")], "", 3_601_000),
        (503, &[("retry-after", "120")], "", 3_720_000),
    ];
    for (status, headers, message, until) in cases {
        let (net, client) = scripted();
        net.set_now(hour.millis());
        net.answer_with("POST /issues", status, headers, &format!("{{\"message\": \"{message}\"}}"));
        let wanted = Some(Time::from_millis(until));
        let is_later = |failed: Result<Value, Failure>| match failed {
            Err(Failure::Later { until, .. }) => assert_eq!(until, wanted, "{status} {headers:?}"),
            other => panic!("{other:?}"),
        };
        is_later(client.write(Method::Post, "/issues", &Value::Null));
        is_later(client.get("/issues/1"));
        assert_eq!(client.budget().blocked_until, wanted);
        net.set_now(until);
        net.answer("GET /issues/1", 200, "{}");
        assert!(client.get::<Value>("/issues/1").is_ok());
        assert_eq!(client.budget().blocked_until, None);
        net.finish();
    }
}

#[test]
fn a_refusal_is_no_limit() {
    let (net, client) = scripted();
    let left =
        [("x-ratelimit-remaining", "4999"), ("x-ratelimit-limit", "5000"), ("x-ratelimit-reset", "60")];
    let body = r#"{"message": "Validation Failed", "errors": [{"resource": "Label", "code": "already_exists"}, "x"]}"#;
    net.answer_with("POST /labels", 422, &left, body);
    let failed = client.write::<Value>(Method::Post, "/labels", &Value::Null).unwrap_err();
    let message = "Validation Failed; Label already_exists; x".to_owned();
    assert_eq!(failed, Failure::Status { status: 422, message });
    let budget = client.budget();
    assert_eq!((budget.limit, budget.remaining), (Some(5000), Some(4999)));
    assert_eq!(budget.resets_at, Some(Time::from_millis(60_000)));
    net.answer("GET /collaborators", 403, "{\"message\": \"Must have push access\"}");
    let failed = client.get::<Value>("/collaborators").unwrap_err();
    assert!(matches!(ForgeError::from(failed), ForgeError::Refused(Refusal::Forbidden { .. })));
    net.finish();
}

#[test]
fn what_may_have_happened_is_told_from_what_has_not() {
    let lost = |status, method: Method| {
        let (net, client) = scripted();
        net.answer(&format!("{method} /x"), status, "");
        let failed = match method {
            Method::Get => client.get::<Value>("/x").unwrap_err(),
            Method::Post | Method::Put | Method::Patch | Method::Delete => {
                client.write::<Value>(method, "/x", &Value::Null).unwrap_err()
            }
        };
        net.finish();
        (failed.leaves_open(), matches!(ForgeError::from(failed), ForgeError::Unreachable(_)))
    };
    assert_eq!(lost(502, Method::Post), (true, true));
    assert_eq!(lost(500, Method::Post), (true, false), "it may be the request's own fault");
    assert_eq!(lost(500, Method::Get), (true, true));
    assert_eq!(lost(404, Method::Post), (false, false));
    assert_eq!(lost(200, Method::Post), (true, false), "an answer that cannot be read");
    let (net, client) = scripted();
    net.fail("POST /x", SendError::NotSent("no connection".to_owned()));
    net.fail("POST /x", SendError::NoAnswer("no answer in time".to_owned()));
    let failed = || client.write::<Value>(Method::Post, "/x", &Value::Null).unwrap_err().leaves_open();
    assert_eq!([failed(), failed()], [false, true]);
}

#[test]
fn a_text_that_is_elsewhere_is_read_without_credentials() {
    let (net, client) = scripted();
    net.answer_with("GET /jobs/1/logs", 302, &[("location", "https://blobs.example/x?sig=1")], "");
    net.answer("GET https://blobs.example/x?sig=1", 200, "1 failed");
    assert_eq!(client.text("/jobs/1/logs").unwrap().as_deref(), Some("1 failed"));
    let asked = net.finish();
    assert!(asked[1].headers.is_empty() && asked[1].target.to_string() == "a redirect");
    net.answer("GET /jobs/2/logs", 404, "");
    assert_eq!(client.text("/jobs/2/logs").unwrap(), None);
}
