//! What Forge knows: pure types and rules, with no I/O, no clock, no async.
