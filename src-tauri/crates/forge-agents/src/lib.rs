//! Agent adapters and the one normalised log.
