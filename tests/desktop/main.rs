//! The built window, driven as a person would.

mod ends;
mod notices;
mod opens;
mod work;
