//! The built window, driven as a person would.

mod opens;
