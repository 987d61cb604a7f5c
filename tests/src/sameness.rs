//! What two runs that did the same may differ in, in one place. Everything else is compared byte by byte.
//!
//! They may differ in when something happened and how long it took, in names that are made up for each run (ids,
//! commits, ports, process ids), and in where the folders of the test are. Names are numbered in the order in which they
//! come, so that two that were one, or one that became two, are seen. An offset in the raw log counts the bytes of all
//! that, so that it is no number to compare either: [`check_offsets`] does that against the raw log itself.

use std::{collections::HashMap, path::Path};

use anyhow::{Context as _, Result, ensure};
use regex::{Captures, Regex};
use serde_json::Value;

/// A UUID, or the hash of a git object.
const NAMES: &str =
    r"\b(?:[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|[0-9a-f]{64}|[0-9a-f]{40})\b";

/// What else differs, and what stands for it.
const OTHERS: [(&str, &str); 6] = [
    (r"\b\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(?:\.\d+)?(?:Z|[+-]\d{2}:\d{2})", "<time>"),
    // In the name of a file.
    (r"\b\d{4}-\d{2}-\d{2}T\d{2}-\d{2}-\d{2}\b", "<time>"),
    // Since 1970, in seconds or in parts of one.
    (r"\b1[6-9]\d{8}(?:\d{3}|\d{6}|\d{9})?\b", "<time>"),
    (
        r#""((?:duration|elapsed|ttft|latency)\w*|\w+_ms|\w+Ms|\w+_seconds|raw_offset)":(\s*)[0-9.]+"#,
        "\"$1\":$2<number>",
    ),
    (r#""(process_?[iI]d|pid)":(\s*)"?\d+"?"#, "\"$1\":$2<number>"),
    (r"127\.0\.0\.1:\d+", "127.0.0.1:<port>"),
];

/// Takes out of texts what may differ.
#[derive(Debug)]
pub struct Sameness {
    folders: Vec<(String, String)>,
    names: Regex,
    others: Vec<(Regex, &'static str)>,
}

impl Sameness {
    /// Of two runs whose folders are called alike here. A folder within another one is named before it.
    ///
    /// # Errors
    /// When a pattern is none.
    pub fn of<'f>(folders: impl IntoIterator<Item = (&'f Path, &'f str)>) -> Result<Self> {
        let folder = |(path, name): (&Path, &str)| {
            let path = path.to_string_lossy().into_owned();
            // As a part of another folder's name.
            let dashed = path.replace(['/', '.', '_'], "-");
            [(path, format!("<{name}>")), (dashed, format!("<{name}>"))]
        };
        let others = OTHERS.iter().map(|(pattern, name)| Ok((Regex::new(pattern)?, *name)));
        Ok(Self {
            folders: folders.into_iter().flat_map(folder).collect(),
            names: Regex::new(NAMES)?,
            others: others.collect::<Result<_, regex::Error>>()?,
        })
    }

    /// The text without what may differ.
    #[must_use]
    pub fn text(&self, text: &str) -> String {
        let mut text = text.to_owned();
        for (folder, name) in &self.folders {
            text = text.replace(folder, name);
        }
        let mut seen: HashMap<String, usize> = HashMap::new();
        let number = |found: &Captures<'_>| {
            let next = seen.len() + 1;
            format!("<name {}>", seen.entry(found[0].to_owned()).or_insert(next))
        };
        text = self.names.replace_all(&text, number).into_owned();
        for (pattern, name) in &self.others {
            text = pattern.replace_all(&text, *name).into_owned();
        }
        text
    }

    /// The entries of a log as the API gives them, one a line. Their numbers have to be whole. Codex tells of a call's cost
    /// now before and now behind the end of the command that the call asked for, so that costs are put last, in order.
    /// What a program prints comes in entries as it comes by time, and nothing orders what it prints on two pipes: between
    /// two other entries, the output of each stream is one.
    ///
    /// # Errors
    /// When a number is missing or comes twice.
    pub fn log(&self, entries: &[Value]) -> Result<String> {
        let (mut others, mut costs): (Vec<Value>, Vec<Value>) = (Vec::new(), Vec::new());
        for (entry, number) in entries.iter().zip(1_u64..) {
            ensure!(entry["seq"] == number, "number {number} is missing: {entry:#}");
            let mut entry = entry.clone();
            entry["seq"].take();
            if entry["id"].as_str() == Some(number.to_string().as_str()) {
                entry["id"].take();
            }
            if entry["kind"] == "usage" {
                costs.push(entry);
            } else {
                add(&mut others, entry);
            }
        }
        others.append(&mut costs);
        let lines: Vec<String> = others.iter().map(Value::to_string).collect();
        Ok(self.text(&lines.join("\n")))
    }
}

/// Adds an entry: output to what its stream said since the last entry that is none, standard error first.
fn add(entries: &mut Vec<Value>, entry: Value) {
    let is_output = |entry: &Value| entry["kind"] == "stdout" || entry["kind"] == "stderr";
    if !is_output(&entry) {
        return entries.push(entry);
    }
    let key = |entry: &Value| (entry["turn"].as_u64(), entry["kind"].as_str().map(str::to_owned));
    let first = entries.iter().rposition(|entry| !is_output(entry)).map_or(0, |at| at + 1);
    let at = first + entries[first..].partition_point(|said| key(said) < key(&entry));
    match entries.get_mut(at) {
        Some(same) if key(same) == key(&entry) => {
            let [before, more] =
                [&same["body"]["text"], &entry["body"]["text"]].map(|text| text.as_str().unwrap_or_default());
            // An entry ends where a line does.
            same["body"]["text"] = format!("{}\n{more}", before.strip_suffix('\n').unwrap_or(before)).into();
        }
        _ => entries.insert(at, entry),
    }
}

/// Compares two texts, and shows the first lines that differ.
///
/// # Errors
/// When they do.
pub fn ensure_same(what: &str, one: &str, other: &str) -> Result<()> {
    if one == other {
        return Ok(());
    }
    let (mut ones, mut others, mut at) = (one.lines(), other.lines(), 0);
    loop {
        at += 1;
        match (ones.next(), others.next()) {
            (Some(one), Some(other)) if one == other => {}
            (one, other) => {
                anyhow::bail!("{what} differ in line {at}:\n{one:#?}\n{other:#?}")
            }
        }
    }
}

/// Checks that each entry of a log says where a line of the raw log begins, or where the raw log ends, and that they come
/// in order.
///
/// # Errors
/// When one says something else.
pub fn check_offsets(entries: &[Value], raw: &[u8]) -> Result<()> {
    for entry in entries {
        let offset = entry["raw_offset"].as_u64().and_then(|offset| usize::try_from(offset).ok());
        let before = offset.and_then(|offset| raw.get(..offset)).with_context(|| format!("{entry:#}"))?;
        ensure!(before.is_empty() || before.ends_with(b"\n"), "it begins in the middle of a line: {entry:#}");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_and_names_may_differ_and_nothing_else() {
        let same = |folder: &str, text: &str| {
            Sameness::of([(Path::new(folder), "data")]).map(|same| same.text(text)).unwrap_or_default()
        };
        let of = |folder: &str, id: &str, other: &str, at: u64, took: u64| {
            format!("{folder}/x {id} {other} {id} {{\"at\":{at},\"duration_ms\":{took},\"n\":17}}")
        };
        let (a, b) = ("01890a5d-ac96-774b-bcce-b302099a8057", "01890a5d-ac96-774b-bcce-b302099a8058");
        let one = same("/tmp/a", &of("/tmp/a", a, b, 1_764_225_295_123, 5));
        assert_eq!(one, same("/tmp/bcd", &of("/tmp/bcd", b, a, 1_764_225_295_999, 5012)));
        assert_ne!(one, same("/tmp/a", &of("/tmp/a", a, a, 1_764_225_295_123, 5)), "two became one");
        assert_ne!(one, same("/tmp/a", &of("/tmp/a", a, b, 1_764_225_295_123, 5).replace("17", "18")));
    }

    #[test]
    fn order_between_streams_and_cuts_within_one_may_differ_and_no_more() -> Result<()> {
        let same = Sameness::of([])?;
        let log = |said: &[(&str, &str)]| {
            let entry = |((kind, text), seq): (&(&str, &str), u64)| serde_json::json!({ "seq": seq, "turn": 1, "kind": kind, "body": { "text": text } });
            same.log(&said.iter().zip(1..).map(entry).collect::<Vec<_>>())
        };
        let one = log(&[("stdout", "a\nb"), ("stderr", "e"), ("process_exit", "")])?;
        assert_eq!(one, log(&[("stdout", "a"), ("stderr", "e"), ("stdout", "b"), ("process_exit", "")])?);
        assert_eq!(one, log(&[("stderr", "e"), ("stdout", "a\nb"), ("process_exit", "")])?);
        assert_ne!(one, log(&[("stderr", "e"), ("stdout", "b\na"), ("process_exit", "")])?);
        assert_ne!(one, log(&[("stderr", "e"), ("process_exit", ""), ("stdout", "a\nb")])?);
        Ok(())
    }
}
