//! Shared support for the tests in this folder.
