//! Who starts when.
