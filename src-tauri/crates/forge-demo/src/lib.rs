//! The sample repository and the scripted agent.
