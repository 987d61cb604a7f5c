//! Shared support for the tests in this folder: a private screen, and the built window on it.
//!
//! Whatever a test starts dies with the test, and what it writes is below a folder of its own.

pub mod children;
pub mod client;
pub mod display;
pub mod drafter;
pub mod notifications;
pub mod page;
pub mod patience;
pub mod serve;
pub mod webdriver;
pub mod window;
