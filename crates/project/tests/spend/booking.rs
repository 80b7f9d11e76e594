//! Requests, bookings, caps and raises.

use engine::{
    Settings, Usage,
    ledger::{Cap, CapReached, Scope, Unit},
};
use meter::{Api, Book as _, Opening, Refusal, Stage, Ticket, Tokens};
use project::spend::{AdmitError, LedgerError, Meter, caps};
use serde_json::json;

use crate::support::{Home, MODEL, at, day_cap, run_cap, spent, tags, tokens};

#[test]
fn a_request_is_on_disk_before_it_goes_out_and_its_cost_with_it() {
    let home = Home::new();
    let mut ledger = home.ledger();
    let ticket = ledger.admit(at(16, 9), &tags("r"), &run_cap(1000), MODEL, tokens(200, 0)).unwrap();
    let seen = spent(&home.read(), at(16, 9));
    assert_eq!((seen.input_tokens, seen.micro_usd), (200, 200));
    ledger.book(at(16, 9), &ticket, tokens(150, 20), true).unwrap();
    let seen = spent(&home.read(), at(16, 9));
    assert_eq!((seen.input_tokens, seen.output_tokens, seen.micro_usd), (150, 20, 250));
}

#[test]
fn a_cap_refuses_until_it_is_raised_and_a_decision_raises_once() {
    let home = Home::new();
    let (now, tags, caps) = (at(16, 9), tags("r"), run_cap(100));
    let mut ledger = home.ledger();
    let ticket = ledger.admit(now, &tags, &caps, MODEL, tokens(100, 0)).unwrap();
    ledger.book(now, &ticket, tokens(110, 0), true).unwrap();
    let reached = CapReached { cap: Scope::Run, unit: Unit::Tokens, limit: 100, spent: 110 };
    match ledger.admit(now, &tags, &caps, MODEL, tokens(1, 0)) {
        Err(AdmitError::Cap(found)) => assert_eq!(found, reached),
        other => panic!("{other:?}"),
    }
    assert_eq!(ledger.refusal(now, &tags, &caps).unwrap(), Some(reached));
    for _ in 0..2 {
        home.ledger().raise(now, ("d1", now), Scope::Run, "r", 0, 20).unwrap();
    }
    let ticket = ledger.admit(now, &tags, &caps, MODEL, tokens(10, 0)).unwrap();
    ledger.book(now, &ticket, tokens(10, 0), true).unwrap();
    assert!(matches!(ledger.admit(now, &tags, &caps, MODEL, tokens(1, 0)), Err(AdmitError::Cap(_))));
}

#[test]
fn a_booking_that_comes_twice_counts_once_and_none_comes_after_the_last() {
    let home = Home::new();
    let (now, tags, caps) = (at(16, 9), tags("r"), run_cap(1000));
    let mut ledger = home.ledger();
    let ticket = ledger.admit(now, &tags, &caps, MODEL, tokens(10, 0)).unwrap();
    for (used, is_over) in [(20, false), (20, false), (30, true), (30, true), (99, false)] {
        ledger.book(now, &ticket, tokens(used, 0), is_over).unwrap();
    }
    assert_eq!(spent(&home.read(), now).tokens(), 30);
    assert!(matches!(
        ledger.book(now, "2026-11-16/other", tokens(1, 0), true),
        Err(LedgerError::NoRequest { .. })
    ));
    assert!(matches!(ledger.book(now, "other", tokens(1, 0), true), Err(LedgerError::NoRequest { .. })));
}

#[test]
fn a_request_belongs_to_the_day_on_which_it_went_out() {
    let home = Home::new();
    let mut ledger = home.ledger();
    let ticket = ledger.admit(at(16, 23), &tags("r"), &day_cap(100), MODEL, tokens(90, 0)).unwrap();
    ledger.book(at(17, 0), &ticket, tokens(100, 0), true).unwrap();
    let ledger = home.read();
    assert_eq!(spent(&ledger, at(16, 23)).tokens(), 100);
    assert_eq!(spent(&ledger, at(17, 0)).tokens(), 0);
}

#[test]
fn a_day_starts_with_nothing_spent_and_a_run_with_what_it_has_spent_before() {
    let home = Home::new();
    let mut before = home.ledger();
    let ticket = before.admit(at(16, 9), &tags("r"), &run_cap(100), MODEL, tokens(1, 0)).unwrap();
    before.book(at(16, 9), &ticket, tokens(100, 0), true).unwrap();
    let mut ledger = home.ledger();
    ledger.follow(at(16, 9)).unwrap();
    assert!(ledger.refusal(at(17, 9), &tags("r"), &run_cap(100)).unwrap().is_some());
    assert_eq!(ledger.refusal(at(17, 9), &tags("other"), &run_cap(100)).unwrap(), None);
    assert_eq!(ledger.refusal(at(17, 9), &tags("r"), &day_cap(100)).unwrap(), None);
    before.raise(at(16, 9), ("d", at(16, 9)), Scope::Run, "r", 0, 1).unwrap();
    assert_eq!(ledger.refusal(at(17, 9), &tags("r"), &run_cap(100)).unwrap(), None, "raised the day before");
}

#[test]
fn a_raise_on_a_day_between_two_looks_is_seen() {
    let home = Home::new();
    let (tags, caps) = (tags("r"), run_cap(100));
    let mut ledger = home.ledger();
    ledger.follow(at(16, 9)).unwrap();
    let ticket = ledger.admit(at(16, 23), &tags, &caps, MODEL, tokens(1, 0)).unwrap();
    ledger.book(at(16, 23), &ticket, tokens(100, 0), true).unwrap();
    assert!(ledger.refusal(at(16, 23), &tags, &caps).unwrap().is_some());
    home.ledger().raise(at(17, 0), ("d", at(16, 23)), Scope::Run, "r", 0, 50).unwrap();
    assert_eq!(ledger.refusal(at(18, 0), &tags, &caps).unwrap(), None);
    ledger.admit(at(18, 0), &tags, &caps, MODEL, tokens(1, 0)).unwrap();
}

#[test]
fn an_answer_that_is_given_again_after_midnight_raises_once() {
    let home = Home::new();
    let asked = at(16, 22);
    for now in [at(16, 23), at(17, 0), at(18, 9)] {
        home.ledger().raise(now, ("d", asked), Scope::Run, "r", 0, 50).unwrap();
    }
    let raised = home.read().books().raised(Scope::Run, &at(18, 9).day(), &tags("r"));
    assert_eq!(raised, (0, 50));
}

#[test]
fn a_model_that_is_not_known_is_marked_and_the_users_own_price_goes_before() {
    let home = Home::new();
    let admit = |home: &Home| {
        let ticket = home.ledger().admit(at(16, 9), &tags("r"), &run_cap(1000), "house-model", tokens(10, 0));
        ticket.unwrap();
        home.read()
            .books()
            .lines()
            .last()
            .map(|line| (line.usage.micro_usd, line.is_price_estimated))
            .unwrap()
    };
    assert_eq!(admit(&home), (300, true));
    let home = Home::new();
    std::fs::create_dir_all(&home.dirs.config).unwrap();
    let own = "date = \"2026-12-01\"\n[models.house-model]\ninput = 2\noutput = 3\n";
    std::fs::write(home.dirs.prices(), own).unwrap();
    assert_eq!(admit(&home), (20, false));
    assert_eq!(home.ledger().prices().date, "2026-12-01");
}

#[test]
fn what_an_agent_reports_counts_once_at_its_own_price_or_at_the_lists() {
    let home = Home::new();
    let mut ledger = home.ledger();
    let own = Usage { micro_usd: 77, ..tokens(100, 10) };
    for (report, usage) in [("t1", own), ("t1", own), ("t2", tokens(100, 10))] {
        ledger.book_report(at(16, 9), report, &tags("r"), usage, MODEL).unwrap();
    }
    let ledger = home.read();
    let lines: Vec<(u64, bool, bool)> =
        ledger.books().lines().map(|line| (line.usage.micro_usd, line.is_unmetered, line.is_open)).collect();
    assert_eq!(lines, [(77, true, false), (150, true, false)]);
}

#[test]
fn a_meter_puts_the_tags_of_the_moment_on_each_request() {
    let home = Home::new();
    let since = adapters::machine::now();
    let meter = Meter::new(home.ledger(), tags("r"), run_cap(15), since).unwrap();
    let ten = Tokens { input: 10, ..Tokens::default() };
    let opening = Opening { api: Api::Messages, model: MODEL.to_owned(), estimate: ten, bound: ten };
    let ticket = meter.open(&opening).unwrap().unwrap();
    let mut coding = tags("r");
    coding.phase = "coding".into();
    meter.set_tags(coding);
    meter.book(&ticket, Tokens { output: 1, ..ten }, Stage::Over).unwrap();
    meter.book(&ticket, ten, Stage::Over).unwrap();
    meter.open(&opening).unwrap();
    assert!(meter.refusal().unwrap().is_some());
    let reached = CapReached { cap: Scope::Run, unit: Unit::Tokens, limit: 15, spent: 21 };
    assert_eq!(meter.open(&opening), Err(Refusal::Cap(reached)));
    assert!(meter.book(&Ticket("gone".into()), ten, Stage::Over).is_err());
    let ledger = home.read();
    let phases: std::collections::BTreeSet<&str> =
        ledger.books().lines().map(|line| line.tags.phase.as_str()).collect();
    assert_eq!(phases.into_iter().collect::<Vec<_>>(), ["", "coding"]);
}

#[test]
fn caps_come_from_settings_and_zero_is_none() {
    let mut settings = Settings::default();
    settings.set("budget_limit_usd", json!(0)).unwrap();
    settings.set("daily_usd", json!(12.345)).unwrap();
    settings.set("pool_daily_tokens", json!(1000)).unwrap();
    settings.set("project_daily_usd", json!(1e-9)).unwrap();
    let caps = caps(&settings);
    assert_eq!(caps.run, Cap::default());
    assert_eq!(caps.day, Cap { micro_usd: Some(12_345_000), tokens: None });
    assert_eq!(caps.pool, Cap { micro_usd: None, tokens: Some(1000) });
    assert_eq!(caps.project, Cap { micro_usd: Some(1), tokens: None });
    assert_eq!(project::spend::caps(&Settings::default()).run.micro_usd, Some(20_000_000));
}
