//! Repositories of a given size, made by `git fast-import`: small text files, a hundred to a folder.

use std::{
    fmt::Write as _,
    io::Write as _,
    path::Path,
    process::{Command, Stdio},
};

use anyhow::{Result, ensure};

/// Runs git in `dir`, apart from the user's configuration.
pub fn git(dir: &Path, args: &[&str]) -> Result<String> {
    let output = hermetic(Command::new("git").args(args).current_dir(dir)).output()?;
    ensure!(output.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&output.stderr));
    Ok(String::from_utf8(output.stdout)?.trim_end().to_owned())
}

/// The same environment for both sides.
pub fn hermetic(command: &mut Command) -> &mut Command {
    command.envs(forge_testkit::HERMETIC_GIT)
}

/// Makes a repository with `files` files on `main`, checked out.
pub fn generate(dir: &Path, files: u32) -> Result<()> {
    std::fs::create_dir_all(dir)?;
    git(dir, &["init", "--quiet", "--initial-branch", "main"])?;
    git(dir, &["config", "gc.auto", "0"])?;
    let mut import = hermetic(Command::new("git").args(["fast-import", "--quiet"]).current_dir(dir))
        .stdin(Stdio::piped())
        .spawn()?;
    if let Some(mut pipe) = import.stdin.take() {
        let mut text = String::from(
            "commit refs/heads/main\ncommitter gen <gen@example.invalid> 1700000000 +0000\ndata 5\nfirst\n",
        );
        for file in 0..files {
            let mut body = String::new();
            for line in 0..20 + file % 40 {
                let _ = writeln!(
                    body,
                    "let value_{line} = {}; // file {file}",
                    file.wrapping_mul(2_654_435_761).wrapping_add(line)
                );
            }
            let _ = write!(
                text,
                "M 100644 inline src/d{:04}/f{file:06}.rs\ndata {}\n{body}\n",
                file / 100,
                body.len()
            );
        }
        pipe.write_all(text.as_bytes())?;
    }
    ensure!(import.wait()?.success(), "git fast-import failed");
    git(dir, &["checkout", "--quiet", "main"])?;
    git(dir, &["gc", "--quiet"])?;
    Ok(())
}
