//! The forge program.
