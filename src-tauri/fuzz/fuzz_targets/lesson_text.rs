//! What a run proposes as lessons.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| forge_fuzz::lesson_text(bytes));
