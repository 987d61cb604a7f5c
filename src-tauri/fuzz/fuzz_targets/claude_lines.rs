//! What Claude Code prints.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| forge_fuzz::claude_lines(bytes));
