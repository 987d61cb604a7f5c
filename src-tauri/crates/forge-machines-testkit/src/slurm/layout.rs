//! The networks, files and stand-ins of a cluster.

use std::{
    fs,
    os::unix::fs::PermissionsExt as _,
    process::{Command, Stdio},
};

use anyhow::{Context as _, Result, ensure};

use super::{COMMANDS, Cluster, NODES, UP_WITHIN, rest::until};
use crate::system::system;

impl Cluster {
    pub(super) fn lay_out(&self) -> Result<()> {
        let controller = self.namespace("ctl");
        system(&format!("ip netns add {controller}"))?;
        for line in
            ["link add br0 type bridge", "addr add 10.99.0.1/24 dev br0", "link set br0 up", "link set lo up"]
        {
            system(&format!("ip -n {controller} {line}"))?;
        }
        for number in NODES {
            let node = self.namespace(&self.node(number));
            system(&format!("ip netns add {node}"))?;
            for line in [
                format!("ip -n {controller} link add v{number} type veth peer name eth0 netns {node}"),
                format!("ip -n {controller} link set v{number} master br0 up"),
                format!("ip -n {node} addr add 10.99.0.1{number}/24 dev eth0"),
                format!("ip -n {node} link set eth0 up"),
                format!("ip -n {node} link set lo up"),
            ] {
                system(&line)?;
            }
        }
        let at = self.folder.path();
        for made in ["munge", "state", "bin", "shared", "control"] {
            fs::create_dir(at.join(made))?;
        }
        let mut hosts = "127.0.0.1 localhost\n10.99.0.1 ctl\n".to_owned();
        for number in NODES {
            fs::create_dir_all(at.join(self.node(number)).join("spool"))?;
            hosts.push_str(&format!("10.99.0.1{number} {}\n", self.node(number)));
        }
        fs::write(at.join("hosts"), hosts)?;
        fs::write(at.join("slurm.conf"), self.configuration())?;
        fs::write(
            at.join("cgroup.conf"),
            "CgroupPlugin=cgroup/v1\nCgroupMountpoint=/sys/fs/cgroup\nConstrainRAMSpace=yes\nConstrainSwapSpace=no\n",
        )?;
        for command in COMMANDS {
            self.stand_in(command, &format!("/usr/bin/{command}"))?;
        }
        self.lay_out_login()
    }

    /// A login node is an sshd that `ssh` starts by itself, on the host of the controller.
    fn lay_out_login(&self) -> Result<()> {
        let at = self.folder.path();
        for key in ["host_key", "key"] {
            let done = Command::new("ssh-keygen")
                .args(["-q", "-t", "ed25519", "-N", "", "-f"])
                .arg(at.join(key))
                .status()?;
            ensure!(done.success(), "ssh-keygen failed");
        }
        let folder = at.display();
        fs::write(
            at.join("sshd_config"),
            format!(
                "HostKey {folder}/host_key\nPidFile none\nAuthorizedKeysFile {folder}/key.pub\nStrictModes no\nUsePAM no\n\
                 PermitRootLogin yes\nPasswordAuthentication no\nSetEnv SLURM_CONF={folder}/slurm.conf\n"
            ),
        )?;
        let key = fs::read_to_string(at.join("host_key.pub"))?;
        fs::write(at.join("known_hosts"), format!("login {key}"))?;
        // The server of root does not answer without it. A service of the system makes it, where there is one.
        fs::create_dir_all("/run/sshd").context("the folder of sshd")?;
        self.stand_in("login", &format!("/usr/sbin/sshd -i -f {folder}/sshd_config"))
    }

    /// A program that runs another one on the host of the controller.
    fn stand_in(&self, name: &str, program: &str) -> Result<()> {
        let (folder, namespace) = (self.folder.path().display(), self.namespace("ctl"));
        let path = self.folder.path().join("bin").join(name);
        let script = format!(
            "#!/bin/sh\nexport SLURM_CONF={folder}/slurm.conf\n\
             exec nsenter --net=/run/netns/{namespace} unshare --mount sh -c 'mount --bind {folder}/hosts /etc/hosts; exec \"$@\"' sh {program} \"$@\"\n"
        );
        fs::write(&path, script)?;
        fs::set_permissions(path, fs::Permissions::from_mode(0o755))?;
        Ok(())
    }

    fn configuration(&self) -> String {
        let (at, name) = (self.folder.path().display(), &self.name);
        let mut text = format!(
            "ClusterName={name}\nSlurmctldHost=ctl(10.99.0.1)\nSlurmUser=root\nAuthType=auth/munge\n\
             AuthInfo=socket={at}/munge/socket\nSlurmctldPort=6817\nSlurmdPort=6818\nStateSaveLocation={at}/state\n\
             SlurmdSpoolDir={at}/%n/spool\nSlurmctldPidFile={at}/ctld.pid\nSlurmdPidFile={at}/%n/slurmd.pid\n\
             SlurmctldLogFile={at}/ctld.log\nSlurmdLogFile={at}/%n/slurmd.log\nMailProg=/bin/true\n\
             ProctrackType=proctrack/cgroup\nTaskPlugin=task/cgroup\nSelectType=select/cons_tres\n\
             SelectTypeParameters=CR_Core_Memory\nSlurmdTimeout=5\nSlurmctldTimeout=5\nInactiveLimit=0\nKillWait=2\n\
             MessageTimeout=5\nMinJobAge=300\nReturnToService=2\nMpiDefault=none\nSwitchType=switch/none\n\
             SchedulerParameters=batch_sched_delay=0,sched_interval=1,bf_interval=1\nJobRequeue=1\nCompleteWait=0\n"
        );
        for number in NODES {
            let node = self.node(number);
            text.push_str(&format!("NodeName={node} NodeAddr=10.99.0.1{number} Sockets=2 CoresPerSocket=1 ThreadsPerCore=1 RealMemory=1024\n"));
        }
        let nodes = NODES.map(|number| self.node(number)).join(",");
        text.push_str(&format!("PartitionName=main Nodes={nodes} Default=YES MaxTime=INFINITE State=UP\n"));
        text.push_str(&format!("PartitionName=short Nodes={nodes} MaxTime=1 State=UP\n"));
        text
    }

    pub(super) fn start_munged(&mut self) -> Result<()> {
        let folder = self.folder.path().join("munge");
        fs::write(folder.join("key"), [7; 1024])?;
        fs::set_permissions(folder.join("key"), fs::Permissions::from_mode(0o600))?;
        fs::set_permissions(&folder, fs::Permissions::from_mode(0o711))?;
        let at = folder.display();
        system(&format!("chown -R munge:munge {at}"))?;
        let file = |name: &str, file: &str| format!("--{name}={at}/{file}");
        let munged = Command::new("setpriv")
            .args([
                "--reuid",
                "munge",
                "--regid",
                "munge",
                "--clear-groups",
                "munged",
                "--foreground",
                "--num-threads=2",
            ])
            .args([file("socket", "socket"), file("key-file", "key"), file("log-file", "log")])
            .args([file("pid-file", "pid"), file("seed-file", "seed"), "--origin=127.0.0.1".to_owned()])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()?;
        self.munged = Some(munged);
        let socket = folder.join("socket");
        until("munged listens", UP_WITHIN, || Ok(socket.exists()))
    }
}
