//! A workflow as a person writes it.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| forge_fuzz::workflow_json(bytes));
