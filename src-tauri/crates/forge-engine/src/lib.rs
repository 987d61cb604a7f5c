//! The machine: transitions, steps, workspaces, review, merge, recovery.
