//! An engine in the test's own process.

use std::{
    ffi::OsString,
    ops::Deref,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    time::Duration,
};

use anyhow::{Context as _, Result};
use forge_api::Api;
use forge_engine::{Engine, EngineConfig};
use forge_server::ServeOptions;
use tokio::runtime::{Handle, RuntimeFlavor};

use crate::{
    HERMETIC_GIT,
    caller::{Caller, Http},
    program,
};

/// How long an engine may take to stop; an agent that does not listen is killed after five seconds.
const STOPS_WITHIN: Duration = Duration::from_secs(7);

/// An engine on the folder `data` below a test's own, called as a [`Caller`]. Dropping it stops it in order.
pub struct LocalEngine {
    api: Api,
    caller: Caller,
}

impl LocalEngine {
    /// Starts one below `folder`, in an environment that has nothing of whoever runs the tests but the path of programs.
    /// Its home is `folder`'s `home`.
    ///
    /// # Errors
    /// When it does not start.
    pub async fn start(folder: &Path, change: impl FnOnce(&mut EngineConfig)) -> Result<Self> {
        let home = folder.join("home");
        std::fs::create_dir_all(&home)?;
        let own = [
            ("PATH", std::env::var_os("PATH").context("no PATH")?),
            ("HOME", home.into_os_string()),
            ("SHELL", "/bin/sh".into()),
        ];
        let git = HERMETIC_GIT.map(|(name, value)| (name, OsString::from(value)));
        let environment = own.into_iter().chain(git).map(|(name, value)| (OsString::from(name), value));
        let mut config = EngineConfig::new(folder.join("data"), environment);
        config.git_env =
            HERMETIC_GIT.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        config.login_shell = Some(plain_shell(folder)?.into());
        config.cwd = Some(folder.to_owned());
        change(&mut config);
        let engine = Engine::start(config).await?;
        let api = Api::new(engine, program("forge")?);
        Ok(Self { caller: Caller::local(api.clone()), api })
    }

    /// The contract.
    #[must_use]
    pub const fn api(&self) -> &Api {
        &self.api
    }

    /// Serves it until the test ends: for the `forge` program, and for what only HTTP has.
    ///
    /// # Errors
    /// When it cannot be served.
    pub async fn serve(&self) -> Result<Http> {
        let served = forge_server::serve(self.api.clone(), ServeOptions::default()).await?;
        let token = served.token_file.as_ref().map(std::fs::read_to_string).transpose()?;
        Http::new(served.url, token.map(|token| token.trim().to_owned()))
    }

    /// Stops it in order; another one can be started on its folder.
    pub async fn stop(&self) {
        self.api.engine().stop().await;
    }
}

impl Deref for LocalEngine {
    type Target = Caller;

    fn deref(&self) -> &Caller {
        &self.caller
    }
}

impl Drop for LocalEngine {
    fn drop(&mut self) {
        // So that a test that fails leaves no agent behind. A runtime of one thread cannot wait here.
        let Ok(runtime) = Handle::try_current() else { return };
        if runtime.runtime_flavor() == RuntimeFlavor::MultiThread {
            let stopped = tokio::time::timeout(STOPS_WITHIN, self.api.engine().stop());
            if tokio::task::block_in_place(|| runtime.block_on(stopped)).is_err() {
                eprintln!("the engine did not stop within {} s", STOPS_WITHIN.as_secs());
            }
        }
    }
}

/// A shell that, asked as a login shell, reads nobody's profile.
fn plain_shell(dir: &Path) -> Result<PathBuf> {
    let path = dir.join("plain-shell");
    if !path.exists() {
        std::fs::write(&path, "#!/bin/sh\nexec /bin/sh -c \"$2\"\n")?;
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755))?;
    }
    Ok(path)
}
