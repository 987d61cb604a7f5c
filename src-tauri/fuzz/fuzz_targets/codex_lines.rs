//! What Codex prints.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| forge_fuzz::codex_lines(bytes));
