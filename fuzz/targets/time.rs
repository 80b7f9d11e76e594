//! Times, read and written.
#![no_main]

use engine::Time;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let time = match Time::parse(text) {
        Ok(time) => time,
        Err(error) => return assert!(!error.to_string().is_empty()),
    };
    assert_eq!(Time::parse(&time.to_string()).expect("a time that was written"), time);
    let json = serde_json::to_string(&time).expect("a time can be written");
    assert_eq!(serde_json::from_str::<Time>(&json).expect("a time that was written"), time);
    let seconds = Time::parse(&time.to_seconds()).expect("a time that was written");
    assert!(seconds <= time && time.millis_since(seconds) < 1000);
    for minutes in [0, 1, 60 * 24 * 365, u64::from(u32::MAX), u64::MAX] {
        let later = time.plus_minutes(minutes);
        assert!(later >= time && later.minutes_since(time) <= minutes);
        assert_eq!(time.minutes_since(later), 0);
    }
});
