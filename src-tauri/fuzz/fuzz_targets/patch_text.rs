//! An answer that should hold a patch.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| forge_fuzz::patch_text(bytes));
