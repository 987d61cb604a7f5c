//! What a program with the Agent Client Protocol prints.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| forge_fuzz::acp_lines(bytes));
