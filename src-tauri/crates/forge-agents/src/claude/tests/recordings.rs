//! Recorded output of the program.
#![expect(non_upper_case_globals, reason = "named as their files are")]

macro_rules! recorded {
    ($($name:ident),* $(,)?) => {
        $(const $name: &str = include_str!(concat!("../recorded/", stringify!($name), ".jsonl"));)*
        const RECORDED: &[&str] = &[$($name),*];
    };
}

recorded![
    asked,
    e401,
    e500,
    interrupted,
    nokey,
    question,
    queued,
    r429,
    refused,
    steered,
    subagent,
    tour,
    turns,
];
pub(super) const ALL: &[&str] = RECORDED;
pub(super) const TOUR: &str = tour;
pub(super) const ASKED: &str = asked;
pub(super) const QUESTION: &str = question;
pub(super) const SUBAGENT: &str = subagent;
pub(super) const INTERRUPTED: &str = interrupted;
pub(super) const STEERED: &str = steered;
pub(super) const QUEUED: &str = queued;
pub(super) const FAILURES: &[(&str, &str)] = &[
    (e401, "auth"),
    (nokey, "auth"),
    (r429, "rate_limited"),
    (e500, "model_error"),
    (refused, "model_error"),
    (turns, "limit"),
];
pub(super) const RATE_LIMITED: &str = r429;
