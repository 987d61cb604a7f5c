//! A `.forge.json`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| forge_fuzz::repository_settings(bytes));
