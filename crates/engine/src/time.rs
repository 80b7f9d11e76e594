//! Moments, as milliseconds since 1970 in UTC. They always come from outside.

use std::fmt;

use jiff::fmt::temporal::DateTimePrinter;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};

/// A moment, to the millisecond. Written as `2026-05-08T15:56:59.401Z`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Time(i64);

/// Why a text is no time.
#[derive(Debug, thiserror::Error)]
#[error("`{text}` is not a time like 2026-05-08T15:56:59Z")]
pub struct BadTime {
    text: String,
}

impl Time {
    /// The last moment that RFC 3339 can write, in milliseconds: the end of the year 9999.
    const LAST: i64 = 253_402_207_200_000;

    /// Takes milliseconds since 1970; what cannot be written as a date is brought to the nearest that can.
    pub fn from_millis(millis: i64) -> Self {
        Self(millis.clamp(0, Self::LAST))
    }

    /// Returns milliseconds since 1970.
    pub fn millis(self) -> i64 {
        self.0
    }

    /// Reads an RFC 3339 text.
    pub fn parse(text: &str) -> Result<Self, BadTime> {
        let bad = || BadTime { text: text.chars().take(60).collect() };
        let timestamp: jiff::Timestamp = text.trim().parse().map_err(|_| bad())?;
        Ok(Self::from_millis(timestamp.as_millisecond()))
    }

    /// Returns the time that has passed since `earlier`, in milliseconds; none if the clock went back.
    pub fn millis_since(self, earlier: Self) -> i64 {
        (self.0 - earlier.0).max(0)
    }

    /// Returns whole minutes since `earlier`.
    pub fn minutes_since(self, earlier: Self) -> u64 {
        (self.millis_since(earlier) / 60_000).unsigned_abs()
    }

    /// Returns the moment `minutes` later.
    pub fn plus_minutes(self, minutes: u64) -> Self {
        let millis = i64::try_from(minutes).unwrap_or(i64::MAX).saturating_mul(60_000);
        Self::from_millis(self.0.saturating_add(millis))
    }

    /// Writes the time to the second, as lists show it.
    pub fn to_seconds(self) -> String {
        self.write(0)
    }

    /// Writes the time with so many digits after the second.
    fn write(self, digits: u8) -> String {
        let timestamp = jiff::Timestamp::from_millisecond(self.0).unwrap_or(jiff::Timestamp::UNIX_EPOCH);
        DateTimePrinter::new().precision(Some(digits)).timestamp_to_string(&timestamp)
    }
}

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.write(3))
    }
}

impl Serialize for Time {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.to_string())
    }
}

impl<'de> Deserialize<'de> for Time {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::parse(&text).map_err(D::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_written_as_the_seeds_write_it_and_read_back() {
        let time = Time::from_millis(1_778_255_819_401);
        assert_eq!(time.to_string(), "2026-05-08T15:56:59.401Z");
        assert_eq!(time.to_seconds(), "2026-05-08T15:56:59Z");
        assert_eq!(Time::parse("2026-05-08T15:56:59.401Z").unwrap(), time);
    }

    #[test]
    fn extreme_times_can_still_be_written() {
        for millis in [i64::MIN, -1, 0, i64::MAX] {
            let time = Time::from_millis(millis);
            assert_eq!(Time::parse(&time.to_string()).unwrap(), time);
        }
        assert_eq!(Time::from_millis(0).plus_minutes(u64::MAX), Time::from_millis(i64::MAX));
    }

    #[test]
    fn a_clock_that_goes_back_counts_as_no_time() {
        assert_eq!(Time::from_millis(5).minutes_since(Time::from_millis(999_999)), 0);
    }
}
