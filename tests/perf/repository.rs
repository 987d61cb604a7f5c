//! Repositories of a given size, made by `git fast-import`: small text files, a hundred to a folder.

use std::{
    fmt::Write as _,
    io::Write as _,
    path::Path,
    process::{Command, Stdio},
};

use anyhow::{Result, ensure};
use forge_git::{Git, Repo};

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

/// A repository as the engine opens it.
pub async fn open(path: &Path) -> Result<Repo> {
    let mut program =
        Git::discover(None, forge_exec::variables_of(std::env::vars_os()), &std::env::temp_dir()).await?;
    for (name, value) in forge_testkit::HERMETIC_GIT {
        program = program.with_env(name, value);
    }
    Ok(Repo::open(&program, path).await?)
}

/// Makes a repository with `files` files on `main`, checked out.
pub fn generate(dir: &Path, files: u32) -> Result<()> {
    std::fs::create_dir_all(dir)?;
    git(dir, &["init", "--quiet", "--initial-branch", "main"])?;
    git(dir, &["config", "gc.auto", "0"])?;
    let mut text = String::from(
        "commit refs/heads/main\ncommitter gen <gen@example.invalid> 1700000000 +0000\ndata 5\nfirst\n",
    );
    for file in 0..files {
        write_file(&mut text, file, &body(file));
    }
    import(dir, &text)?;
    git(dir, &["checkout", "--quiet", "main"])?;
    git(dir, &["gc", "--quiet"])?;
    Ok(())
}

/// Where the file of a number lies.
pub fn path(file: u32) -> String {
    format!("src/d{:04}/f{file:06}.rs", file / 100)
}

/// What a file holds after an edit: one line more, one other.
pub fn edited(file: u32, mark: &str) -> String {
    let mut lines: Vec<String> = body(file).lines().map(str::to_owned).collect();
    lines.insert(5, format!("let edit = \"{mark}\";"));
    lines[10] = format!("// changed {mark}");
    lines.push(String::new());
    lines.join("\n")
}

/// Makes a branch on `main` whose one commit edits some files.
pub fn branch(dir: &Path, name: &str, files: impl Iterator<Item = u32>) -> Result<()> {
    let mut text = format!(
        "commit refs/heads/{name}\ncommitter gen <gen@example.invalid> 1700000001 +0000\ndata {}\n{name}\n\
         from refs/heads/main^0\n",
        name.len()
    );
    for file in files {
        write_file(&mut text, file, &edited(file, name));
    }
    import(dir, &text)
}

fn body(file: u32) -> String {
    let mut body = String::new();
    for line in 0..20 + file % 40 {
        let number = file.wrapping_mul(2_654_435_761).wrapping_add(line);
        let _ = writeln!(body, "let value_{line} = {number}; // file {file}");
    }
    body
}

fn write_file(text: &mut String, file: u32, body: &str) {
    let _ = write!(text, "M 100644 inline {}\ndata {}\n{body}\n", path(file), body.len());
}

fn import(dir: &Path, commits: &str) -> Result<()> {
    let mut import = hermetic(Command::new("git").args(["fast-import", "--quiet"]).current_dir(dir))
        .stdin(Stdio::piped())
        .spawn()?;
    if let Some(mut pipe) = import.stdin.take() {
        pipe.write_all(commits.as_bytes())?;
    }
    ensure!(import.wait()?.success(), "git fast-import failed");
    Ok(())
}
