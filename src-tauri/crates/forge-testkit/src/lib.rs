//! Hermetic sandboxes and scripted agents.
