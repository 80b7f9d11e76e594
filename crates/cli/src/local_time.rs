//! Times as people read them: in the zone of this machine, which is named.

use engine::Time;
use jiff::{Timestamp, Zoned, civil, tz::TimeZone};

/// Writes a time to the minute, with its zone.
pub(crate) fn minute(time: Time) -> String {
    zoned(time).strftime("%Y-%m-%d %H:%M %Z").to_string()
}

/// Writes a time to the second, with its zone.
pub(crate) fn second(time: Time) -> String {
    zoned(time).strftime("%Y-%m-%d %H:%M:%S %Z").to_string()
}

/// Writes the time of day to the second, for lines that stand below a time with its zone.
pub(crate) fn clock(time: Time) -> String {
    zoned(time).strftime("%H:%M:%S").to_string()
}

/// Reads when somebody wants to look back to: a time of day (the last time that the clock showed it), a day, both, or so much
/// time ago (`8h`, `2d`).
pub(crate) fn parse_since(text: &str) -> Result<Time, String> {
    since(text.trim(), &Zoned::now()).ok_or_else(|| {
        "write a time as 22:00, 2026-05-08, \"2026-05-08 22:00\", or how long ago: 8h, 2d".to_owned()
    })
}

fn since(text: &str, now: &Zoned) -> Option<Time> {
    let zone = now.time_zone();
    if let Some(hours) = ago(text) {
        return Some(Time::from_millis(now.timestamp().as_millisecond() - hours.checked_mul(3_600_000)?));
    }
    let at = |moment: civil::DateTime| moment.to_zoned(zone.clone()).ok();
    let moment = if let Some((day, time)) = text.split_once([' ', 'T']) {
        at(day.parse::<civil::Date>().ok()?.to_datetime(time_of(time)?))?
    } else if let Ok(day) = text.parse::<civil::Date>() {
        at(day.to_datetime(civil::Time::midnight()))?
    } else {
        let time = time_of(text)?;
        let today = at(now.date().to_datetime(time))?;
        if today <= *now { today } else { at(now.date().yesterday().ok()?.to_datetime(time))? }
    };
    Some(Time::from_millis(moment.timestamp().as_millisecond()))
}

/// Reads `8h` or `2d` as hours.
fn ago(text: &str) -> Option<i64> {
    let (number, hours) =
        text.strip_suffix('h').map(|number| (number, 1)).or_else(|| Some((text.strip_suffix('d')?, 24)))?;
    number.parse::<u32>().ok().map(|number| i64::from(number) * hours)
}

/// Reads `22:00`.
fn time_of(text: &str) -> Option<civil::Time> {
    let (hours, minutes) = text.split_once(':')?;
    civil::Time::new(hours.parse().ok()?, minutes.parse().ok()?, 0, 0).ok()
}

fn zoned(time: Time) -> Zoned {
    let timestamp = Timestamp::from_millisecond(time.millis()).unwrap_or(Timestamp::UNIX_EPOCH);
    timestamp.to_zoned(TimeZone::system())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_time_that_the_clock_showed_it() {
        let now: Zoned = "2026-05-08T07:30:00+00:00[UTC]".parse().unwrap();
        let read = |text: &str| since(text, &now).map(Time::to_seconds);
        for (text, time) in [
            ("22:00", "2026-05-07T22:00:00Z"),
            ("07:00", "2026-05-08T07:00:00Z"),
            ("2026-05-06", "2026-05-06T00:00:00Z"),
            ("2026-05-06 09:15", "2026-05-06T09:15:00Z"),
            ("8h", "2026-05-07T23:30:00Z"),
            ("2d", "2026-05-06T07:30:00Z"),
        ] {
            assert_eq!(read(text).as_deref(), Some(time), "{text}");
        }
        for text in ["", "yesterday", "25:00", "8", "-3h", "2026-13-01"] {
            assert_eq!(read(text), None, "{text}");
        }
    }
}
