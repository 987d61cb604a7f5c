//! What a failing command prints.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| forge_fuzz::check_output(bytes));
