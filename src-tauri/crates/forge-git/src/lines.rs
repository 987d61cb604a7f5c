//! Where lines of one text stand in another.

use git2::{DiffOptions, Patch};

use crate::error::GitError;

/// For lines of `from`, counted from 1 and ascending, the lines of `to` that they are. For one that is not there,
/// where it would be.
pub fn lines_in(from: &str, to: &str, wanted: &[u32]) -> Result<Vec<u32>, GitError> {
    let mut options = DiffOptions::new();
    options.context_lines(0).interhunk_lines(0).force_text(true);
    let patch = Patch::from_buffers(from.as_bytes(), None, to.as_bytes(), None, Some(&mut options))?;
    let mut hunks = Vec::with_capacity(patch.num_hunks());
    for index in 0..patch.num_hunks() {
        let (hunk, _) = patch.hunk(index)?;
        // The line before is named when there is none of the hunk's own.
        let first = |start: u32, lines: u32| if lines == 0 { start + 1 } else { start };
        let old = first(hunk.old_start(), hunk.old_lines());
        let new = first(hunk.new_start(), hunk.new_lines());
        hunks.push((old, old + hunk.old_lines(), new, new + hunk.new_lines()));
    }
    let place = |line: u32| {
        let before = hunks.iter().rev().find(|(old, ..)| *old <= line);
        match before {
            None => line,
            Some((_, old_end, _, new_end)) if line >= *old_end => line - old_end + new_end,
            Some((_, _, new, _)) => *new,
        }
    };
    Ok(wanted.iter().map(|line| place(*line)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_found_again_behind_what_came_and_went() {
        let check = |from: &str, to: &str, expected: &[u32]| {
            let from: String = from.chars().map(|c| format!("{c}\n")).collect();
            let to: String = to.chars().map(|c| format!("{c}\n")).collect();
            let all: Vec<u32> = (1..=u32::try_from(from.lines().count()).unwrap()).collect();
            assert_eq!(lines_in(&from, &to, &all).unwrap(), expected, "{from} {to}");
        };
        check("abc", "abc", &[1, 2, 3]);
        check("abc", "xyabc", &[3, 4, 5]);
        check("abcd", "ad", &[1, 2, 2, 2]);
        check("abcd", "axyzd", &[1, 2, 2, 5]);
        check("abc", "abcx", &[1, 2, 3]);
        assert_eq!(lines_in("", "x\n", &[1]).unwrap(), [2]);
    }
}
