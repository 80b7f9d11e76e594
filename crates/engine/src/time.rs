//! Moments, as milliseconds since 1970 in UTC. They always come from outside.

use std::{fmt, ops::Range};

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// A moment, to the millisecond. Written as `2026-05-08T15:56:59.401Z`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Time(i64);

/// How a front end writes times for people, such as in their zone. [`Time::to_seconds`] is one.
pub type TimeFormat = fn(Time) -> String;

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
        if let Some(time) = Self::parse_own(text) {
            return Ok(time);
        }
        let bad = || BadTime { text: text.chars().take(60).collect() };
        let timestamp: jiff::Timestamp = text.trim().parse().map_err(|_| bad())?;
        Ok(Self::from_millis(timestamp.as_millisecond()))
    }

    /// Reads a time that was written by this program, which dozens are with every event; leaves any other alone.
    fn parse_own(text: &str) -> Option<Self> {
        let number = |place: Range<usize>| -> Option<i64> { text.get(place)?.parse().ok() };
        let days = days(number(0..4)?, number(5..7)?, number(8..10)?);
        let minutes = (days * 24 + number(11..13)?) * 60 + number(14..16)?;
        let time = Self::from_millis((minutes * 60 + number(17..19)?) * 1000 + number(20..23)?);
        (time.text().as_str() == text).then_some(time)
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
        let text = self.text();
        format!("{}Z", &text.as_str()[..19])
    }

    /// Writes the day in UTC, as `2026-05-08`.
    pub fn day(self) -> String {
        self.text().as_str()[..10].to_owned()
    }

    /// Writes the time. Dozens of them are written with every event, so this is done by hand and without memory.
    fn text(self) -> Text {
        let days = self.0 / MILLIS_A_DAY;
        let (year, month, day) = date(days);
        let millis = self.0 % MILLIS_A_DAY;
        let (seconds, minutes) = (millis / 1000, millis / 60_000);
        let mut text = Text(*b"0000-00-00T00:00:00.000Z");
        text.put(0..4, year);
        text.put(5..7, month);
        text.put(8..10, day);
        text.put(11..13, minutes / 60);
        text.put(14..16, minutes % 60);
        text.put(17..19, seconds % 60);
        text.put(20..23, millis % 1000);
        text
    }
}

const MILLIS_A_DAY: i64 = 24 * 60 * 60 * 1000;

/// Returns year, month and day of a day since 1970.
fn date(days: i64) -> (i64, i64, i64) {
    const FOUR_CENTURIES: i64 = 146_097;
    // Years are counted from March 1 of the year 0, so that a leap day is the last day of its year.
    let days = days + 719_468;
    let in_four = days % FOUR_CENTURIES;
    let leap_days = in_four / 1460 - in_four / 36_524 + in_four / (FOUR_CENTURIES - 1);
    let year = (in_four - leap_days) / 365;
    let in_year = in_four - (365 * year + year / 4 - year / 100);
    // From March on, every five months have 153 days.
    let month = (5 * in_year + 2) / 153;
    let day = in_year - (153 * month + 2) / 5 + 1;
    let year = year + days / FOUR_CENTURIES * 400;
    if month < 10 { (year, month + 3, day) } else { (year + 1, month - 9, day) }
}

/// Returns the day since 1970 of a year, month and day.
fn days(year: i64, month: i64, day: i64) -> i64 {
    // Counted from March, as in [`date`].
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    year * 365 + year / 4 - year / 100 + year / 400 + (153 * month + 2) / 5 + day - 1 - 719_468
}

/// A time as it is written.
struct Text([u8; 24]);

impl Text {
    /// Writes a number into its place, from its last digit.
    fn put(&mut self, place: Range<usize>, mut number: i64) {
        for digit in self.0[place].iter_mut().rev() {
            *digit = b'0' + (number % 10).unsigned_abs() as u8;
            number /= 10;
        }
    }

    fn as_str(&self) -> &str {
        std::str::from_utf8(&self.0).expect("digits are text")
    }
}

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.text().as_str())
    }
}

impl Serialize for Time {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.text().as_str())
    }
}

impl<'de> Deserialize<'de> for Time {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_str(Reader)
    }
}

/// Reads a time from a text wherever that is.
struct Reader;

impl de::Visitor<'_> for Reader {
    type Value = Time;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a time like 2026-05-08T15:56:59Z")
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Time, E> {
        Time::parse(text).map_err(E::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_written_as_the_originals_write_it_and_read_back() {
        let time = Time::from_millis(1_778_255_819_401);
        assert_eq!(time.to_string(), "2026-05-08T15:56:59.401Z");
        assert_eq!(time.to_seconds(), "2026-05-08T15:56:59Z");
        assert_eq!(time.day(), "2026-05-08");
        assert_eq!(Time::parse("2026-05-08T15:56:59.401Z").unwrap(), time);
    }

    #[test]
    fn days_are_written_as_the_calendar_has_them_and_read_back() {
        for day in (0..=Time::LAST / MILLIS_A_DAY).step_by(11) {
            let millis = (day * MILLIS_A_DAY + day * 7919 % MILLIS_A_DAY).min(Time::LAST);
            let calendar = jiff::Timestamp::from_millisecond(millis).unwrap();
            assert_eq!(Time(millis).to_string(), format!("{calendar:.3}"));
            assert_eq!(Time::parse_own(&Time(millis).to_string()), Some(Time(millis)));
        }
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
    fn a_day_that_the_calendar_does_not_have_is_no_time() {
        for text in ["2026-02-29T00:00:00.000Z", "2026-13-01T00:00:00.000Z", "2026-01-01T+1:00:00.000Z", "é"]
        {
            assert!(Time::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_clock_that_goes_back_counts_as_no_time() {
        assert_eq!(Time::from_millis(5).minutes_since(Time::from_millis(999_999)), 0);
    }
}
