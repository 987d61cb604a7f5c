//! Days and times of day.

use super::digits::{digits, exactly};

/// Of months and days of the week, as C writes them; only with a great first letter, since `may` is a word.
const MONTHS: [&str; 12] =
    ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
const DAYS: [&str; 7] = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"];
const ZONES: [&str; 7] = ["AM", "PM", "UTC", "GMT", "CET", "CEST", "Z"];

/// `2026-01-31`, `2026-01-31T12:30:00.5Z`, `12:30:00`.
pub(super) fn time(text: &str) -> Option<usize> {
    let date = exactly(text, 4)
        .and_then(|rest| exactly(rest.strip_prefix('-')?, 2))
        .and_then(|rest| exactly(rest.strip_prefix('-')?, 2));
    let Some(rest) = date else { return clock(text) };
    let length = text.len() - rest.len();
    let of_day = rest.strip_prefix(['T', ' ', '_']).and_then(clock);
    Some(of_day.map_or(length, |clock| length + 1 + clock))
}

/// `12:30:00`, `12:30:00,123`, with what says where; `10:45`, `9:05 PM`.
fn clock(text: &str) -> Option<usize> {
    let hours = digits(text);
    let rest = text.get(hours..).filter(|_| (1..=2).contains(&hours))?;
    let rest = exactly(rest.strip_prefix(':')?, 2)?;
    let Some(seconds) = rest.strip_prefix(':') else { return hours_and_minutes(text) };
    let mut rest = exactly(seconds, 2)?;
    if let Some(fraction) = rest.strip_prefix(['.', ',']).filter(|fraction| digits(fraction) > 0) {
        rest = fraction.get(digits(fraction)..)?;
    }
    if let Some(zone) = rest.strip_prefix('Z') {
        rest = zone;
    } else if let Some(zone) = rest.strip_prefix(['+', '-']).filter(|zone| matches!(digits(zone), 2 | 4)) {
        rest = zone.get(digits(zone)..)?;
        rest = rest.strip_prefix(':').and_then(|minutes| exactly(minutes, 2)).unwrap_or(rest);
    }
    Some(text.len() - rest.len())
}

/// `10:45`, `9:05 PM`, as nothing else.
fn hours_and_minutes(text: &str) -> Option<usize> {
    let (hours, rest) = text.split_at_checked(digits(text))?;
    let minutes = rest.get(1..3)?;
    let rest = rest.get(3..)?;
    let fits = hours.parse::<u8>().ok()? < 24 && minutes.parse::<u8>().ok()? < 60;
    let half = ["AM", "PM", "am", "pm"].iter().find_map(|half| rest.strip_prefix(' ')?.strip_prefix(*half));
    let rest = half.unwrap_or(rest);
    let ends = !rest.starts_with(|c: char| c.is_alphanumeric() || matches!(c, ':' | '.' | '_' | '/'));
    (fits && ends).then(|| text.len() - rest.len())
}

/// Seconds, milli-, micro- or nanoseconds since 1970, of this part of the century.
pub(super) fn epoch(text: &str) -> Option<usize> {
    let count = digits(text);
    let is_one = text.starts_with('1') && matches!(count, 10 | 13 | 16 | 19);
    let rest = text.get(count..).filter(|_| is_one)?;
    let fraction = rest.strip_prefix('.').map_or(0, digits);
    let length = if fraction > 0 { count + 1 + fraction } else { count };
    let ends = !text.get(length..)?.starts_with(|c: char| c.is_alphanumeric() || c == '_');
    ends.then_some(length)
}

/// Length of a date with a month's name, such as `Sun Nov 22 22:28:32 UTC 2026` or `22/Nov/2026:10:00:00 +0000`: month,
/// day, and a year or a time of day.
pub(super) fn dated(text: &str) -> Option<usize> {
    let (mut end, mut at) = (0, 0);
    let (mut has_month, mut numbers, mut has_clock) = (false, 0, false);
    while let Some(rest) = text.get(at..) {
        let word = rest.split(|c: char| !c.is_ascii_alphanumeric()).next().unwrap_or_default();
        let length = if let Some(length) = clock(rest).filter(|_| numbers > 0) {
            has_clock = true;
            length
        } else if MONTHS.contains(&word) {
            has_month = true;
            word.len()
        } else if matches!(word.len(), 1 | 2 | 4) && digits(word) == word.len() {
            numbers += 1;
            word.len()
        } else if DAYS.contains(&word) || (has_clock && ZONES.contains(&word)) {
            word.len()
        } else {
            break;
        };
        end = at + length;
        let separator = text.get(end..)?.bytes().take_while(|byte| matches!(byte, b' ' | b',' | b'/' | b':'));
        at = end + separator.count();
        if at == end {
            break;
        }
    }
    let zone = text.get(end..)?.strip_prefix(" +").map(digits).filter(|count| *count == 4);
    let is_complete = has_month && (numbers >= 2 || (numbers == 1 && has_clock)) && numbers <= 2;
    is_complete.then(|| end + zone.map_or(0, |count| 2 + count))
}
