//! What a reviewer says.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| forge_fuzz::verdict_text(bytes));
