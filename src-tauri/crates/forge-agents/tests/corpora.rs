//! The corpora of the fuzz targets, each file as it is and damaged in many ways, always the same ones.

use std::{error::Error, fs, path::Path};

#[path = "../../../fuzz/src/lib.rs"]
mod targets;

type Tested = Result<(), Box<dyn Error>>;

/// How often each file is damaged. The fuzzer does it for hours; this only shows that nothing has become worse.
const DAMAGES: usize = 12;

/// The longest file that is damaged.
const MOST_BYTES: usize = 16 * 1024;

/// Numbers that look random and are not.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % limit.max(1) as u64).unwrap_or_default()
    }
}

/// Cuts, changes, doubles or mixes with another file.
fn damage(bytes: &mut Vec<u8>, other: &[u8], numbers: &mut Numbers) {
    let at = numbers.below(bytes.len() + 1);
    let end = (at + numbers.below(400)).min(bytes.len());
    match numbers.below(6) {
        0 => bytes.truncate(at),
        1 => bytes.iter_mut().skip(at).take(1).for_each(|byte| *byte ^= 1 << numbers.below(8)),
        2 => drop(bytes.drain(at..end)),
        3 => {
            let piece = bytes[at..end].to_vec();
            bytes.splice(at..at, piece);
        }
        4 => {
            let from = numbers.below(other.len() + 1);
            let piece = other[from..].iter().take(400).copied();
            bytes.splice(at..end, piece);
        }
        _ => {
            let byte = [b'"', b'{', b'\\', 0, 0xff, b'\n', b'9', b'-'][numbers.below(8)];
            bytes.insert(at, byte);
        }
    }
}

fn plays(target: &str, play: fn(&[u8])) -> Tested {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus").join(target);
    let mut paths: Vec<_> =
        fs::read_dir(&folder)?.map(|entry| entry.map(|entry| entry.path())).collect::<Result<_, _>>()?;
    paths.sort();
    let corpus: Vec<Vec<u8>> = paths.iter().map(fs::read).collect::<Result<_, _>>()?;
    assert!(corpus.len() >= 4, "{} files in {}", corpus.len(), folder.display());
    let mut numbers = Numbers(0x9e37_79b9_7f4a_7c15);
    for (path, bytes) in paths.iter().zip(&corpus) {
        // What is printed is shown when a file breaks it.
        println!("{}", path.display());
        play(bytes);
        for _ in 0..DAMAGES {
            let mut damaged = bytes.get(..MOST_BYTES).unwrap_or(bytes).to_vec();
            let other = &corpus[numbers.below(corpus.len())];
            for _ in 0..=numbers.below(4) {
                damage(&mut damaged, other, &mut numbers);
            }
            println!("{}", damaged.escape_ascii());
            play(&damaged);
        }
    }
    for huge in huge() {
        play(&huge);
    }
    Ok(())
}

/// What is too big to be kept in a file: a line of a megabyte, of no JSON and of some; nesting without end.
fn huge() -> [Vec<u8>; 4] {
    const MEGABYTE: usize = 1024 * 1024;
    let wrapped = |field: &str| {
        let text = "\u{e9}".repeat(MEGABYTE / 2);
        format!(
            "0{{\"jsonrpc\":\"2.0\",\"type\":\"assistant\",\"id\":7,\"method\":\"item/tool/requestUserInput\",\
             \"kind\":\"notice\",\"{field}\":{{\"text\":\"{text}\",\"questions\":[{{\"question\":\"{text}\"}}]}}}}\n"
        )
        .into_bytes()
    };
    [vec![b'x'; MEGABYTE], b"[".repeat(MEGABYTE), wrapped("params"), wrapped("body")]
}

#[test]
fn codex_lines() -> Tested {
    plays("codex_lines", targets::codex_lines)
}

#[test]
fn claude_lines() -> Tested {
    plays("claude_lines", targets::claude_lines)
}

#[test]
fn acp_lines() -> Tested {
    plays("acp_lines", targets::acp_lines)
}

#[test]
fn shell_lines() -> Tested {
    plays("shell_lines", targets::shell_lines)
}

#[test]
fn verdict_text() -> Tested {
    plays("verdict_text", targets::verdict_text)
}

#[test]
fn workflow_json() -> Tested {
    plays("workflow_json", targets::workflow_json)
}

#[test]
fn settings_json() -> Tested {
    plays("settings_json", targets::settings_json)
}

#[test]
fn repository_settings() -> Tested {
    plays("repository_settings", targets::repository_settings)
}

#[test]
fn tool_imports() -> Tested {
    plays("tool_imports", targets::tool_imports)
}

#[test]
fn patch_text() -> Tested {
    plays("patch_text", targets::patch_text)
}

#[test]
fn check_output() -> Tested {
    plays("check_output", targets::check_output)
}

#[test]
fn lesson_text() -> Tested {
    plays("lesson_text", targets::lesson_text)
}
