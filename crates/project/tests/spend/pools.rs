//! Pools that wait for their provider.

use crate::support::{Home, at};

#[test]
fn a_pool_waits_in_every_process_until_its_time() {
    let home = Home::new();
    home.ledger().pause(at(16, 9), "anthropic", at(18, 9), "weekly limit").unwrap();
    let mut other = home.ledger();
    let pause = other.paused(at(17, 9), "anthropic").unwrap().unwrap();
    assert_eq!((pause.until, pause.why.as_str()), (at(18, 9), "weekly limit"));
    assert_eq!(other.paused(at(17, 9), "openai").unwrap(), None);
    assert_eq!(other.paused(at(18, 9), "anthropic").unwrap(), None);
}

#[test]
fn a_pool_that_waits_goes_on_waiting_unless_it_waits_for_longer_or_is_lifted() {
    let home = Home::new();
    let mut ledger = home.ledger();
    let until = |ledger: &mut project::spend::Ledger| {
        ledger.paused(at(16, 9), "anthropic").unwrap().map(|pause| pause.until)
    };
    ledger.pause(at(16, 9), "anthropic", at(16, 12), "limit").unwrap();
    ledger.pause(at(16, 9), "anthropic", at(16, 10), "shorter").unwrap();
    assert_eq!(until(&mut ledger), Some(at(16, 12)));
    ledger.pause(at(16, 9), "anthropic", at(16, 14), "longer").unwrap();
    assert_eq!(until(&mut ledger), Some(at(16, 14)));
    ledger.pause(at(16, 9), "openai", at(16, 14), "too").unwrap();
    ledger.lift(at(16, 9), "anthropic").unwrap();
    ledger.lift(at(16, 9), "anthropic").unwrap();
    assert_eq!(until(&mut ledger), None);
    assert_eq!(ledger.pauses(at(16, 9)).unwrap().into_keys().collect::<Vec<_>>(), ["openai"]);
    ledger.pause(at(16, 15), "anthropic", at(16, 16), "later").unwrap();
    assert_eq!(until(&mut ledger), Some(at(16, 16)));
}
