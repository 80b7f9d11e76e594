//! The ledger: in whatever order entries come, and however often, the sums are the same.

use engine::{
    Usage,
    ledger::{Books, By, Cap, CapReached, Caps, Entry, Report, Scope, Tags, Unit},
};
use proptest::prelude::*;

const TODAY: &str = "2026-11-16";
const YESTERDAY: &str = "2026-11-15";

fn tags(run: &str) -> Tags {
    Tags { project: "shop".into(), run: run.into(), pool: "anthropic".into(), ..Tags::default() }
}

fn tokens(input: u64, output: u64) -> Usage {
    Usage { input_tokens: input, output_tokens: output, micro_usd: input + 5 * output, ..Usage::default() }
}

fn opened(request: &str, run: &str, estimate: Usage) -> Entry {
    let (request, model) = (request.into(), "m".into());
    Entry::Opened {
        request,
        tags: tags(run),
        model,
        estimate,
        reserve: None,
        holder: String::new(),
        is_price_estimated: false,
    }
}

fn booked(request: &str, number: u64, usage: Usage, is_over: bool) -> Entry {
    Entry::Booked { request: request.into(), number, usage, is_over, is_bound: false }
}

fn books(entries: &[Entry]) -> Books {
    let mut books = Books::default();
    for entry in entries {
        books.apply(TODAY, entry.clone());
    }
    books
}

fn spent(books: &Books, run: &str) -> Usage {
    books.spent(Scope::Run, TODAY, &tags(run))
}

#[test]
fn a_request_counts_at_its_estimate_until_more_is_booked_and_then_at_what_it_used() {
    let mut books = books(&[opened("a", "r", tokens(100, 0))]);
    assert_eq!(spent(&books, "r"), tokens(100, 0));
    books.apply(TODAY, booked("a", 1, tokens(40, 1), false));
    assert_eq!(spent(&books, "r").input_tokens, 100);
    assert_eq!(spent(&books, "r").output_tokens, 1);
    books.apply(TODAY, booked("a", 2, tokens(40, 7), true));
    assert_eq!(spent(&books, "r"), tokens(40, 7));
}

#[test]
fn a_request_that_was_never_booked_counts_at_its_estimate_and_is_marked() {
    let books = books(&[opened("a", "r", tokens(100, 0)), opened("b", "r", tokens(7, 0))]);
    let report = Report::of(books.lines(), By::Run);
    assert_eq!((report.total.usage, report.total.open), (tokens(107, 0), 2));
}

#[test]
fn what_is_under_way_counts_against_every_cap() {
    let cap = Cap { tokens: Some(100), micro_usd: None };
    let books = books(&[opened("a", "r1", tokens(60, 0)), opened("b", "r2", tokens(40, 0))]);
    let reached = |cap| Some(CapReached { cap, unit: Unit::Tokens, limit: 100, spent: 100 });
    let refusal = |caps: Caps| books.refusal(TODAY, &tags("r1"), &caps);
    assert_eq!(refusal(Caps { run: cap, ..Caps::default() }), None);
    assert_eq!(refusal(Caps { project: cap, ..Caps::default() }), reached(Scope::Project));
    assert_eq!(refusal(Caps { pool: cap, ..Caps::default() }), reached(Scope::Pool));
    assert_eq!(refusal(Caps { day: cap, ..Caps::default() }), reached(Scope::Day));
    assert_eq!(refusal(Caps::default()), None);
}

#[test]
fn a_run_is_counted_over_its_days_and_all_else_by_the_day() {
    let mut books = books(&[opened("a", "r", tokens(60, 0))]);
    books.apply(YESTERDAY, opened("b", "r", tokens(60, 0)));
    let cap = Cap { tokens: Some(100), micro_usd: None };
    let refusal = |caps: Caps| books.refusal(TODAY, &tags("r"), &caps).map(|reached| reached.spent);
    assert_eq!(refusal(Caps { run: cap, ..Caps::default() }), Some(120));
    assert_eq!(refusal(Caps { project: cap, pool: cap, day: cap, ..Caps::default() }), None);
}

#[test]
fn a_cap_is_raised_once_by_one_decision_and_for_what_it_names() {
    let raised = |decision: &str, cap, name: &str| Entry::Raised {
        decision: decision.into(),
        cap,
        name: name.into(),
        micro_usd: 0,
        tokens: 50,
    };
    let mut books = books(&[opened("a", "r", tokens(100, 0))]);
    let cap = Cap { tokens: Some(100), micro_usd: None };
    let caps = Caps { run: cap, day: cap, ..Caps::default() };
    let reached = |books: &Books| books.refusal(TODAY, &tags("r"), &caps).map(|reached| reached.cap);
    books.apply(TODAY, raised("d0", Scope::Run, "another"));
    assert_eq!(reached(&books), Some(Scope::Run));
    books.apply(YESTERDAY, raised("d1", Scope::Run, "r"));
    books.apply(YESTERDAY, raised("d1", Scope::Run, "r"));
    assert_eq!(books.raised(Scope::Run, TODAY, &tags("r")), (0, 50));
    assert_eq!(reached(&books), Some(Scope::Day));
    books.apply(YESTERDAY, raised("d2", Scope::Day, ""));
    assert_eq!(reached(&books), Some(Scope::Day), "a day is raised on that day");
    books.apply(TODAY, raised("d3", Scope::Day, ""));
    assert_eq!(reached(&books), None);
}

#[test]
fn an_agents_own_report_counts_once_and_is_marked() {
    let reported = |run: &str| Entry::Reported {
        report: "r.7.1".into(),
        tags: tags(run),
        model: "m".into(),
        usage: tokens(10, 2),
        is_price_estimated: true,
    };
    let books = books(&[reported("r"), reported("r")]);
    let total = Report::of(books.lines(), By::Model).total;
    assert_eq!((total.usage, total.unmetered_tokens, total.estimated_micro_usd), (tokens(10, 2), 12, 20));
    assert_eq!((total.requests, total.open), (1, 0));
    assert!(books.has_report("r.7.1"));
}

#[test]
fn a_report_is_sorted_by_what_was_spent_and_days_and_chunks_by_their_order() {
    let mut books = Books::default();
    for (day, chunk, used) in [(TODAY, 2, 5), (YESTERDAY, 10, 1), (TODAY, 1, 1), (TODAY, 0, 9)] {
        let tags = Tags { chunk, phase: format!("phase {chunk}"), ..tags("r") };
        let (request, model) = (format!("q{chunk}"), "m".into());
        let estimate = tokens(used, 0);
        books.apply(
            day,
            Entry::Opened {
                request,
                tags,
                model,
                estimate,
                reserve: None,
                holder: String::new(),
                is_price_estimated: false,
            },
        );
    }
    let names = |by| Report::of(books.lines(), by).rows.into_iter().map(|row| row.name).collect::<Vec<_>>();
    assert_eq!(names(By::Chunk), ["", "1", "2", "10"]);
    assert_eq!(names(By::Day), [YESTERDAY, TODAY]);
    assert_eq!(names(By::Phase)[..2], ["phase 0", "phase 2"]);
    assert_eq!(names(By::Issue), [""]);
}

#[test]
fn no_number_of_tokens_breaks_a_sum() {
    let huge =
        Usage { input_tokens: u64::MAX, output_tokens: u64::MAX, micro_usd: u64::MAX, ..Usage::default() };
    let mut books = books(&[opened("a", "r", huge), opened("b", "r", tokens(1, 0)), opened("c", "r", huge)]);
    books.apply(TODAY, booked("a", 1, tokens(2, 0), true));
    books.apply(TODAY, booked("c", 1, tokens(3, 0), true));
    assert_eq!(spent(&books, "r"), tokens(6, 0));
}

/// Entries of a few requests, reports and raises, each as it would be recorded once.
fn entries() -> impl Strategy<Value = Vec<Entry>> {
    let usage = (0u64..1000, 0u64..1000).prop_map(|(input, output)| tokens(input, output));
    let request = (0u8..3, usage.clone(), prop::collection::vec(usage.clone(), 0..4), any::<bool>());
    let requests = prop::collection::vec(request, 0..6);
    let reports = prop::collection::vec((0u8..3, usage), 0..3);
    let raises = prop::collection::vec((0u8..3, 0u64..50), 0..3);
    (requests, reports, raises).prop_map(|(requests, reports, raises)| {
        let mut entries = Vec::new();
        for (index, (run, estimate, bookings, ends)) in requests.into_iter().enumerate() {
            let id = format!("q{index}");
            entries.push(opened(&id, &format!("r{run}"), estimate));
            let last = bookings.len() as u64;
            for (number, usage) in (1..).zip(bookings) {
                entries.push(booked(&id, number, usage, ends && number == last));
            }
        }
        for (index, (run, usage)) in reports.into_iter().enumerate() {
            let (report, model) = (format!("t{index}"), "m".to_owned());
            let tags = tags(&format!("r{run}"));
            entries.push(Entry::Reported { report, tags, model, usage, is_price_estimated: false });
        }
        for (index, (run, tokens)) in raises.into_iter().enumerate() {
            let (decision, name) = (format!("d{index}"), format!("r{run}"));
            entries.push(Entry::Raised { decision, cap: Scope::Run, name, micro_usd: tokens * 3, tokens });
        }
        entries
    })
}

/// The same entries in another order, some of them more than once.
fn entries_twice() -> impl Strategy<Value = (Vec<Entry>, Vec<Entry>)> {
    entries().prop_flat_map(|entries| {
        let repeated = prop::collection::vec(prop::sample::select(with_one(&entries)), 0..8);
        (Just(entries), repeated).prop_flat_map(|(entries, repeated)| {
            let all: Vec<Entry> = entries.iter().cloned().chain(repeated).collect();
            (Just(entries), Just(all).prop_shuffle())
        })
    })
}

/// A selection has to have something to select from.
fn with_one(entries: &[Entry]) -> Vec<Entry> {
    if entries.is_empty() { vec![Entry::Unknown] } else { entries.to_vec() }
}

proptest! {
    #[test]
    fn any_order_and_repetition_of_entries_gives_the_same_sums((entries, shuffled) in entries_twice()) {
        let (one, other) = (books(&entries), books(&shuffled));
        for run in ["r0", "r1", "r2"] {
            for scope in Scope::ALL {
                prop_assert_eq!(one.spent(scope, TODAY, &tags(run)), other.spent(scope, TODAY, &tags(run)));
                prop_assert_eq!(one.raised(scope, TODAY, &tags(run)), other.raised(scope, TODAY, &tags(run)));
            }
        }
        prop_assert_eq!(Report::of(one.lines(), By::Run), Report::of(other.lines(), By::Run));
    }

    #[test]
    fn the_sums_that_caps_look_at_are_those_of_the_report(entries in entries()) {
        let books = books(&entries);
        let report = Report::of(books.lines(), By::Run);
        prop_assert_eq!(report.total.usage, books.spent(Scope::Day, TODAY, &Tags::default()));
        for row in report.rows {
            prop_assert_eq!(row.usage, spent(&books, &row.name));
        }
    }
}
