//! The contract every door speaks: operations, shapes, cache tags, error codes.
