//! What Jobs ask for, and what is needed to create them.

use std::{collections::BTreeMap, sync::Arc};

use forge_exec::Variables;
use serde::{Deserialize, Serialize};

use crate::KeeperProgram;

/// What a Job asks for, and where it is created. Whoever makes it has checked the values.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct KubernetesConfig {
    /// The context of the configuration of `kubectl`; its current one when absent.
    pub context: Option<String>,
    /// The file of that configuration; as `kubectl` decides when absent.
    pub kubeconfig: Option<String>,
    /// The namespace.
    pub namespace: String,
    /// The image, which has `sh` and git.
    pub image: String,
    /// The service account of the pod. Without one, the pod sees no credential of the cluster.
    pub service_account: Option<String>,
    /// What the pod asks for and may take at most, by resource: `cpu`, `memory`, `nvidia.com/gpu`.
    pub resources: BTreeMap<String, String>,
    /// The memory among these, in MiB.
    pub memory_mb: Option<u32>,
    /// Which taints of nodes it tolerates.
    pub tolerations: Vec<Toleration>,
}

/// A taint that is tolerated.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Toleration {
    /// Its key.
    pub key: String,
    /// Its value; any when absent.
    pub value: Option<String>,
    /// Its effect: `NoSchedule`, `PreferNoSchedule` or `NoExecute`.
    pub effect: String,
}

/// The Jobs of one machine, and what is needed to create them.
#[derive(Debug, Clone)]
pub struct KubernetesSetup {
    /// What they ask for.
    pub config: KubernetesConfig,
    /// The absolute folder in a pod that holds everything of Forge: an empty volume is mounted there.
    pub root: String,
    /// Whose Jobs they are: letters and digits.
    pub owner: String,
    /// The keeper, for each kind of node that there is one for.
    pub keepers: Vec<KeeperProgram>,
    /// The environment of `kubectl`.
    pub environment: Arc<Variables>,
}
