//! Confined programs, for real: what they may touch they can, and nothing else, with all that they start.

#![expect(clippy::expect_used, clippy::panic, reason = "helpers of tests")]

use std::{
    fs,
    net::{TcpListener, TcpStream},
    os::unix::fs::symlink,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use forge_exec::{
    Caps, CollectError, Command, ExecError, Exit, HeadTail, Marker, ProcessIdentity, Sandbox, SandboxError,
    collect, find_program, run, sandbox_support,
};
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

const CAPS: Caps = Caps { stdout: 1 << 20, stderr: 1 << 20 };

/// Whether the kernel can do what a test is about. One that cannot is told of.
fn is_confining(files: bool) -> bool {
    let support = sandbox_support();
    let is_able = if files { support.files } else { support.network };
    if !is_able {
        let test = std::thread::current().name().unwrap_or_default().to_owned();
        println!("skipped {test}: the kernel has version {} of Landlock", support.abi);
    }
    is_able
}

/// A folder in which tests make theirs: not one that the sandboxes of these tests let anybody write.
struct Place {
    /// Removes it.
    _folder: TempDir,
    root: PathBuf,
}

impl Place {
    /// With a folder `own` to write in, and a file in `open` and in `secret` to read.
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let root = folder.path().canonicalize().expect("its path");
        for name in ["own", "open", "secret"] {
            fs::create_dir(root.join(name)).expect("a folder");
        }
        fs::write(root.join("open/file"), "open words\n").expect("a file");
        fs::write(root.join("secret/key"), "secret words\n").expect("a file");
        Self { _folder: folder, root }
    }

    /// Writes in `own`, reads all but `secret`.
    fn sandbox(&self) -> Sandbox {
        Sandbox {
            writable: vec![self.root.join("own")],
            hidden: vec![self.root.join("secret")],
            ..Sandbox::default()
        }
    }

    async fn sh(&self, sandbox: Sandbox, script: &str) -> (Exit, String, String) {
        self.program(sandbox, "sh", &["-c", script]).await
    }

    async fn program(&self, sandbox: Sandbox, program: &str, args: &[&str]) -> (Exit, String, String) {
        let command = Command::tool(program, &self.root).args(args).sandboxed(sandbox).env("LC_ALL", "C");
        let collected = collect(command, CAPS).await.expect("it runs");
        let text = |bytes| String::from_utf8(bytes).expect("text");
        (collected.exit, text(collected.stdout), text(collected.stderr))
    }

    fn has(&self, path: &str) -> bool {
        self.root.join(path).exists()
    }
}

#[tokio::test]
async fn program_writes_in_its_folder_and_nowhere_else() {
    if !is_confining(true) {
        return;
    }
    let place = Place::new();
    let script = "echo in >own/new && mkdir -p own/a/b && mv own/new own/a/b/moved && cat own/a/b/moved; \
                  for it in 'echo x >new' 'echo x >open/file' ': >>open/file' 'mkdir open/made' 'rm open/file' \
                  'mv open/file own/' 'truncate -s 0 open/file' 'ln open/file own/linked' 'ln -s x open/link'; do \
                  sh -c \"$it\" && echo \"could $it\"; done; exit 3";
    let (exit, stdout, stderr) = place.sh(place.sandbox(), script).await;
    assert_eq!((exit, stdout.as_str()), (Exit::Code(3), "in\n"), "{stderr}");
    assert!(stderr.contains("new: Permission denied"), "{stderr}");
    assert!(place.has("own/a/b/moved") && !place.has("new") && !place.has("open/made"));
    assert_eq!(fs::read_to_string(place.root.join("open/file")).unwrap(), "open words\n");
    // This process, and whatever it starts next, is as free as before.
    fs::write(place.root.join("open/file"), "own words").unwrap();
    let free =
        collect(Command::tool("sh", &place.root).args(["-c", "echo x >new; cat secret/key"]), CAPS).await;
    assert_eq!(free.unwrap().stdout, b"secret words\n");
    assert!(place.has("new"));
}

#[tokio::test]
async fn hidden_files_are_not_read_and_those_beside_them_are() {
    if !is_confining(true) {
        return;
    }
    let place = Place::new();
    fs::create_dir(place.root.join("secret/inner")).unwrap();
    fs::write(place.root.join("secret/inner/told"), "told words\n").unwrap();
    fs::write(place.root.join("beside"), "words beside\n").unwrap();
    symlink(place.root.join("secret/key"), place.root.join("link")).unwrap();
    symlink(place.root.join("secret"), place.root.join("open/way")).unwrap();
    let script = "cat open/file beside; cat secret/key; cat secret/inner/told; cat link; cat open/way/key; \
                  cp secret/key own/; ln secret/key own/linked; \
                  ln -s ../secret own/link; cat own/link/key; ls .; ls secret";
    let (_, stdout, stderr) = place.sh(place.sandbox(), script).await;
    assert!(stdout.starts_with("open words\nwords beside\nbeside\nlink\nopen\nown\nsecret\n"), "{stdout}");
    assert!(!stdout.contains("words\ns") && stdout.ends_with("secret\ninner\nkey\n"), "{stdout}");
    assert_eq!(stderr.matches("Permission denied").count(), 6, "{stderr}");
    // The hidden folder by another name, and what is named readable or hidden within.
    let sandbox = Sandbox {
        hidden: vec![place.root.join("open/way"), place.root.join("missing/one"), "/missing".into()],
        readable: vec![place.root.join("secret/inner"), place.root.join("secret/none")],
        ..Sandbox::default()
    };
    let (_, stdout, stderr) = place.sh(sandbox, "cat secret/inner/told; cat secret/key").await;
    assert_eq!(stdout, "told words\n");
    assert_eq!(stderr.matches("Permission denied").count(), 1, "{stderr}");
    let sandbox = Sandbox {
        hidden: vec![place.root.clone(), place.root.join("secret/inner")],
        readable: vec![place.root.join("secret")],
        ..Sandbox::default()
    };
    let (_, stdout, stderr) = place.sh(sandbox, "cat secret/key; cat secret/inner/told; cat beside").await;
    assert_eq!(stdout, "secret words\n");
    assert_eq!(stderr.matches("Permission denied").count(), 2, "{stderr}");
}

#[tokio::test]
async fn files_move_between_two_writable_folders() {
    if !is_confining(true) {
        return;
    }
    let place = Place::new();
    let file = place.root.join("open/file");
    let sandbox = Sandbox {
        writable: vec![
            place.root.join("own"),
            file.clone(),
            place.root.join("other"),
            place.root.join("none"),
        ],
        ..Sandbox::default()
    };
    fs::create_dir(place.root.join("other")).unwrap();
    let script = "mkdir own/folder && echo x >own/folder/file && mv own/folder other/ && ln other/folder/file own/ && \
                  cat own/file && echo new >open/file && cat open/file && ls own other";
    if find_program("python3", "/usr/bin:/bin").is_some() {
        let rename = "import os; os.rename('own/a', 'other/a')";
        fs::create_dir(place.root.join("own/a")).unwrap();
        let (exit, _, stderr) = place.program(sandbox.clone(), "/usr/bin/python3", &["-c", rename]).await;
        assert_eq!(exit, Exit::Code(0), "no copy was made: {stderr}");
        fs::remove_dir(place.root.join("other/a")).unwrap();
    }
    let (exit, stdout, stderr) = place.sh(sandbox, script).await;
    let expected = "x\nnew\nother:\nfolder\n\nown:\nfile\n";
    assert_eq!((exit, stdout.as_str()), (Exit::Code(0), expected), "{stderr}");
    assert!(!place.has("none"));
}

#[tokio::test]
async fn descendants_in_sessions_of_their_own_are_confined() {
    if !is_confining(true) {
        return;
    }
    let place = Place::new();
    let identity = ProcessIdentity::of(std::process::id()).expect("this process");
    let marker = Marker(format!("sandbox-{}-{}", identity.pid, identity.start_time));
    // The pipe ends when the last one has.
    let script = "setsid sh -c '(sh -c \"cat secret/key; echo x >open/made; echo tried >own/tried\" &) ; exit 0' \
                  2>own/errors; while ! test -e own/tried; do sleep 0.01; done";
    let command = Command::shell(&["sh".to_owned(), "-c".to_owned()], script, &place.root, marker)
        .sandboxed(place.sandbox());
    let mut output = HeadTail::new(64 * 1024);
    let finished = run(command, &CancellationToken::new(), |_| {}, &mut output).await.unwrap();
    assert!(finished.is_success(), "{finished:?}");
    assert_eq!(output.into_strings().stdout, "");
    assert!(place.has("own/tried") && !place.has("open/made"));
    let errors = fs::read_to_string(place.root.join("own/errors")).unwrap();
    assert_eq!(errors.matches("Permission denied").count(), 2, "{errors}");
}

#[tokio::test]
async fn confined_program_is_stopped_with_its_family() {
    if !is_confining(true) {
        return;
    }
    let place = Place::new();
    let identity = ProcessIdentity::of(std::process::id()).expect("this process");
    let marker = Marker(format!("sandbox-stop-{}-{}", identity.pid, identity.start_time));
    let script = "trap '' TERM; setsid sh -c \"trap '' TERM; sleep 600\" & sleep 600";
    let command = Command::shell(&["sh".to_owned(), "-c".to_owned()], script, &place.root, marker.clone())
        .grace(Duration::from_millis(200))
        .sandboxed(place.sandbox());
    let stop = CancellationToken::new();
    let mut output = HeadTail::new(1024);
    let finished = run(command, &stop, |_| stop.cancel(), &mut output).await.unwrap();
    assert!(finished.cancelled, "{finished:?}");
    assert_eq!(forge_exec::usage(&marker).processes, 0);
}

/// Connects to a port and tells how that went.
const CONNECT: &str = "import socket, sys\ntry:\n socket.create_connection(('127.0.0.1', int(sys.argv[1])))\n \
                       print('connected')\nexcept OSError as error: print(type(error).__name__)\n";

#[tokio::test]
async fn tcp_is_limited_to_the_named_ports() {
    if !is_confining(false) {
        return;
    }
    let place = Place::new();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let connected = async |tcp: Option<Vec<u16>>| {
        let sandbox = Sandbox { tcp, ..place.sandbox() };
        place.program(sandbox, "python3", &["-c", CONNECT, &port.to_string()]).await.1
    };
    assert_eq!(connected(Some(vec![])).await, "PermissionError\n");
    assert_eq!(connected(Some(vec![1, 2])).await, "PermissionError\n");
    assert_eq!(connected(Some(vec![1, port])).await, "connected\n");
    assert_eq!(connected(None).await, "connected\n");
    TcpStream::connect(("127.0.0.1", port)).unwrap();
    let listen = "import socket; print(socket.create_server(('127.0.0.1', 0)).getsockname()[1] > 0)";
    let sandbox = Sandbox { tcp: Some(vec![]), ..place.sandbox() };
    assert_eq!(place.program(sandbox, "python3", &["-c", listen]).await.1, "True\n");
}

#[tokio::test]
async fn usual_programs_work_in_a_sandbox() {
    if !is_confining(true) {
        return;
    }
    let place = Place::new();
    let commit = "cd own && git init -q . && git config user.name a && git config user.email a@example.org && \
                  echo x >x && git add x && git commit -qm one && git mv x y && git commit -qm two && git gc -q && \
                  git log --format=%s";
    let python =
        "import random, subprocess, tempfile; random.random(); subprocess.check_call(['true']); print(1)";
    for (program, args, expected) in [
        ("bash", ["-c", "echo x >/dev/null && cat /dev/null && head -c 4 /dev/urandom | wc -c"], "4\n"),
        ("sh", ["-c", "cat </dev/zero | head -c 2 | wc -c; (exit 0) 2>/dev/null"], "2\n"),
        ("bash", ["-c", "cat <(echo x) <<<y >/dev/stdout; echo z >&2"], "x\n"),
        ("git", ["--version", "--build-options"], "git version"),
        ("sh", ["-c", commit], "two\none\n"),
        ("python3", ["-c", python], "1\n"),
        ("python3", ["-c", "import os, pty; pty.spawn(['sh', '-c', 'test -t 1 && tty'])"], "/dev/pts/"),
        ("node", ["-e", "require('child_process').execSync('true'); console.log(1)"], "1\n"),
        ("cargo", ["--version", "--verbose"], "cargo "),
    ] {
        if !collect(Command::tool(program, "/").arg("--version"), CAPS)
            .await
            .is_ok_and(|it| !it.stdout.is_empty())
            && !matches!(program, "sh" | "bash")
        {
            println!("skipped {program}: it is not installed");
            continue;
        }
        let (exit, stdout, stderr) = place.program(place.sandbox(), program, &args).await;
        assert_eq!(exit, Exit::Code(0), "{program} {args:?}: {stderr}");
        assert!(stdout.starts_with(expected), "{program} {args:?}: {stdout} {stderr}");
    }
}

#[tokio::test]
async fn many_confined_programs_run_at_once() {
    if !is_confining(true) {
        return;
    }
    let place = Arc::new(Place::new());
    let each = (0..40).map(|number| {
        let place = Arc::clone(&place);
        tokio::spawn(async move {
            let script = format!("echo {number} >own/{number}; echo x >open/{number}");
            place.sh(place.sandbox(), &script).await
        })
    });
    for ended in each.collect::<Vec<_>>() {
        assert_ne!(ended.await.unwrap().0, Exit::Code(0));
    }
    assert_eq!(fs::read_dir(place.root.join("own")).unwrap().count(), 40);
    assert_eq!(fs::read_dir(place.root.join("open")).unwrap().count(), 1);
}

async fn refused(program: &Path, root: &Path, sandbox: Sandbox) -> (ExecError, String) {
    let command = Command::tool(program, root).sandboxed(sandbox);
    match collect(command, CAPS).await {
        Err(CollectError::Run(error)) => {
            let why = std::error::Error::source(&error).map(ToString::to_string).unwrap_or_default();
            (error, why)
        }
        other => panic!("it was run: {other:?}"),
    }
}

#[tokio::test]
async fn sandbox_that_cannot_be_had_starts_nothing() {
    if !is_confining(true) {
        return;
    }
    let place = Place::new();
    let made = place.root.join("own/made");
    let program = place.root.join("secret/program");
    fs::write(&program, format!("#!/bin/sh\n: >{}\n", made.display())).unwrap();
    let executable = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    fs::set_permissions(&program, executable).unwrap();

    let (error, why) = refused(&program, &place.root, place.sandbox()).await;
    let ExecError::Sandbox { source, .. } = &error else { panic!("{error:?}") };
    let typed = source.get_ref().and_then(|it| it.downcast_ref::<SandboxError>());
    assert!(matches!(typed, Some(SandboxError::NotExecutable { file }) if *file == program), "{typed:?}");
    assert_eq!(why, format!("the sandbox does not allow executing {}", program.display()));

    let sandbox = Sandbox { writable: vec![place.root.clone()], ..place.sandbox() };
    let (_, why) = refused(&program, &place.root, sandbox).await;
    let secret = place.root.join("secret");
    let expected =
        format!("{} is hidden, but lies in {}, which is writable", secret.display(), place.root.display());
    assert_eq!(why, expected);

    let sandbox = Sandbox { hidden: vec!["secret".into()], ..Sandbox::default() };
    let (_, why) = refused(&program, &place.root, sandbox).await;
    assert_eq!(why, "the path secret of the sandbox is not absolute");

    let (error, _) = refused(Path::new("no-such-program"), &place.root, place.sandbox()).await;
    assert!(matches!(error, ExecError::NoProgram { .. }), "{error:?}");
    assert!(!made.exists());
}
