//! Machines that are a namespace of Kubernetes: each task has a Job, in whose pod its worktree and its programs are.
//!
//! Everything goes by the user's own `kubectl`, with the configuration, credential plugins and contexts that they have.
//! [`Kubernetes`] is a [`Cluster`](crate::job::Cluster): a Job is created from a manifest on standard input, looked at
//! together with its pods, and deleted; a shell in it is `kubectl exec`. The pod does nothing but wait, and the keeper is
//! put into an empty volume of it.
//!
//! Invariants:
//! - Kubernetes begins nothing again: a pod that failed is not replaced, and one that was replaced all the same is not the
//!   one that the task is in, so its Job is over.
//! - A server that cannot be reached, or that refuses the user, says nothing of Jobs. Only its answer that there is no Job,
//!   or what it tells of the pod, is an end; a pod whose node does not answer may go on.
//! - With the pod goes all that it wrote: nothing of a Job that is over can be read.
//! - No secret is in a manifest or in an argument, and no pod sees a credential of the cluster unless the machine names a
//!   service account.
//!
//! No real cluster was tried: the tests have a real `kubectl`, and a server that gives the answers of one.

mod cluster;
mod config;
mod kubectl;
mod manifest;
mod object;
mod pod;
mod reason;
mod state;
mod verbs;

pub use crate::kubernetes_fault::KubernetesFault;
pub use config::{KubernetesConfig, KubernetesSetup, Toleration};
pub use kubectl::current_context;
pub use verbs::Kubernetes;
