//! Files of other tools that set up worktrees.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| forge_fuzz::tool_imports(bytes));
