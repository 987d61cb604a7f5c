//! Settings of a project as a person writes them.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| forge_fuzz::settings_json(bytes));
