//! A ledger that cannot be used lets nothing out, and says why.

use std::fs;

use journal::{NewEvent, StreamId, Version, View};
use project::spend::{Ledger, LedgerError};

use crate::support::{Home, MODEL, at, run_cap, tags, tokens};

fn write(home: &Home, body: &str) {
    let store = home.dirs.stores.open(home.dirs.user_store()).unwrap();
    let event = NewEvent { at: 0, kind: "opened".into(), body: body.into() };
    let stream = StreamId::parse("ledger:2026-11-16").unwrap();
    store.append(&stream, &Version::NONE, &[event], View::default()).unwrap();
}

fn refused(home: &Home) -> String {
    let admitted = home.ledger().admit(at(16, 9), &tags("r"), &run_cap(1000), MODEL, tokens(1, 0));
    admitted.unwrap_err().to_string()
}

#[test]
fn a_broken_entry_is_named_and_nothing_goes_out() {
    let home = Home::new();
    write(&home, "{\"format\":1,\"entry\":\"opened\"}");
    assert_eq!(refused(&home), "entry 0 of 2026-11-16 in the ledger cannot be read: missing field `request`");
}

#[test]
fn an_entry_of_a_later_form_is_not_guessed_at() {
    let home = Home::new();
    write(&home, "{\"format\":2,\"entry\":\"refunded\"}");
    assert!(refused(&home).ends_with("has form 2, this program knows 1: upgrade warp"));
}

#[test]
fn an_entry_of_a_kind_that_is_not_known_is_passed_over() {
    let home = Home::new();
    write(&home, "{\"format\":1,\"entry\":\"noted\",\"text\":\"x\"}");
    home.ledger().admit(at(16, 9), &tags("r"), &run_cap(1000), MODEL, tokens(1, 0)).unwrap();
}

#[test]
fn a_store_that_is_none_is_left_alone_and_says_what_to_do() {
    let home = Home::new();
    fs::create_dir_all(&home.dirs.state).unwrap();
    fs::write(home.dirs.user_store(), "not a database at all, but long enough to be looked at").unwrap();
    let error = Ledger::open(&home.dirs).unwrap_err();
    assert!(matches!(error, LedgerError::Open(_)), "{error:?}");
    assert!(error.to_string().contains("`warp doctor`"), "{error}");
    assert!(fs::read_to_string(home.dirs.user_store()).unwrap().starts_with("not a database"));
}

#[test]
fn a_price_list_that_cannot_be_read_is_named() {
    let home = Home::new();
    fs::create_dir_all(&home.dirs.config).unwrap();
    fs::write(home.dirs.prices(), "[models.x]\ninput = \"three\"\noutput = 1\n").unwrap();
    let error = Ledger::open(&home.dirs).unwrap_err();
    assert!(error.to_string().contains("prices.toml` cannot be used; correct it"), "{error}");
}

#[test]
fn nothing_is_made_by_looking() {
    let home = Home::new();
    assert!(Ledger::open_existing(&home.dirs).unwrap().is_none());
    assert!(!home.dirs.state.exists());
}
