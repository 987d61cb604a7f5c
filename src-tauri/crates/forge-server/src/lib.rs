//! HTTP and server-sent events over the contract.
