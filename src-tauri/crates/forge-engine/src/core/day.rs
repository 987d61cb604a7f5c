//! Days, as they are where this computer is.

use forge_model::time::Timestamp;

/// When the day of `now` began and the next one begins.
pub(crate) fn day_of(now: Timestamp) -> (Timestamp, Timestamp) {
    let zone = jiff::tz::TimeZone::system();
    let bounds = jiff::Timestamp::from_millisecond(now.0).and_then(|now| {
        let today = now.to_zoned(zone).start_of_day()?;
        let next = today.tomorrow()?.start_of_day()?;
        Ok((Timestamp(today.timestamp().as_millisecond()), Timestamp(next.timestamp().as_millisecond())))
    });
    // Only a time outside the calendar has no day.
    bounds.unwrap_or((now, now.plus_ms(24 * 3_600_000)))
}
