//! Shared support of the tests in this folder: served engines, a private screen, and the built window on it.
//!
//! Programs that a test starts end with the test, and their files are below a folder of its own.

pub mod asker;
pub mod children;
pub mod clean_root;
pub mod display;
pub mod drafter;
pub mod notifications;
pub mod page;
pub mod patience;
pub mod sameness;
pub mod ssh_server;
pub mod webdriver;
pub mod window;
