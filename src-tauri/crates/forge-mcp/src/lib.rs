//! The Model Context Protocol over the contract: its tools, by pipes and over HTTP.
//!
//! [`tools`] is the one table. Each tool is an operation of the contract, or a few of them one after the other
//! ([`compose`], [`services`]); none holds a rule of its own. Schemas come from the types of the contract, results are structured
//! content with the same JSON as text, and what is refused is a tool's error, `code: message`.
//!
//! Who asks is decided before: by pipes it is the person, over HTTP the server says it with every request
//! ([`Caller`]); a request that says nothing is answered nothing.

mod backend;
mod compose;
mod handler;
mod http;
mod services;
mod stdio;
mod tool;
mod tools;

pub use backend::{Backend, Caller};
pub use handler::Handler;
pub use http::{Service, service};
pub use stdio::{StdioError, serve_stdio};
