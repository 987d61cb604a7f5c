//! Automatic retries: what is shown is what is enforced.
