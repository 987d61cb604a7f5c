//! Texts and tables, as people read them.

use std::io::{IsTerminal as _, Read as _};

use unicode_width::UnicodeWidthStr as _;

use crate::error::CliError;

/// What a cell says where there is nothing.
pub(crate) const NONE: &str = "-";

/// Between two columns.
const GAP: usize = 2;
/// A column is not made narrower than this for a narrow terminal.
const NARROWEST: usize = 12;
/// The heads of columns that may be cut: what they have is read. The others have what is typed again: ids, paths, names.
const READ: [&str; 13] = [
    "", "TITLE", "WHAT", "WHY", "ACTIVITY", "FILES", "COMMENT", "PATHS", "HAS", "VALUE", "COMMAND", "CHECK",
    "HOLDS",
];

/// Rows as a table with columns as wide as needed. At a terminal, columns that are only read are narrowed to its width, the
/// widest first; where that does not do, each row is told line by line. The head is bold unless `NO_COLOR` is set; a pipe
/// and a file get all of it, plain.
pub(crate) fn table(head: &[&str], rows: &[Vec<String>]) -> String {
    let screen = Screen::of_this_process();
    table_for(&screen, head, rows)
}

/// What a table is shown on.
struct Screen {
    /// Columns of the terminal; none where there is none.
    width: Option<usize>,
    colours: bool,
}

impl Screen {
    fn of_this_process() -> Self {
        let is_terminal = std::io::stdout().is_terminal();
        let width = terminal_size::terminal_size().map(|(width, _)| usize::from(width.0));
        let no_colour = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty())
            || std::env::var_os("TERM").is_some_and(|terminal| terminal == "dumb");
        Self { width: width.filter(|_| is_terminal), colours: is_terminal && !no_colour }
    }
}

fn table_for(screen: &Screen, head: &[&str], rows: &[Vec<String>]) -> String {
    let head: Vec<String> = head.iter().map(|name| (*name).to_owned()).collect();
    let in_a_line = |row: &Vec<String>| row.iter().map(|cell| printable(&cell.replace('\n', " "))).collect();
    let all: Vec<Vec<String>> = std::iter::once(head.clone()).chain(rows.iter().map(in_a_line)).collect();
    let width = |column: usize| {
        all.iter().filter_map(|row| row.get(column)).map(|cell| cell.width()).max().unwrap_or(0)
    };
    let mut widths: Vec<usize> = (0..head.len()).map(width).collect();
    if let Some(most) = screen.width
        && !narrow(&mut widths, &head, most)
    {
        return records(&head, &all);
    }
    let line = |row: Vec<String>| {
        let cells: Vec<String> = row.iter().zip(&widths).map(|(cell, width)| fitted(cell, *width)).collect();
        cells.join("  ").trim_end().to_owned()
    };
    let mut lines: Vec<String> = all.into_iter().map(line).collect();
    if screen.colours
        && let Some(first) = lines.first_mut()
    {
        *first = format!("\u{1b}[1m{first}\u{1b}[0m");
    }
    lines.join("\n")
}

/// Takes from the widest columns that may be cut until all fit. Whether they do.
fn narrow(widths: &mut [usize], head: &[String], most: usize) -> bool {
    let gaps = GAP * widths.len().saturating_sub(1);
    let mut over = (widths.iter().sum::<usize>() + gaps).saturating_sub(most);
    while over > 0 {
        let may_be_cut = widths.iter_mut().zip(head).filter(|(_, head)| READ.contains(&head.as_str()));
        let widest = may_be_cut.map(|(width, _)| width).max();
        let Some(widest) = widest.filter(|width| **width > NARROWEST) else { return false };
        *widest -= 1;
        over -= 1;
    }
    true
}

/// Rows of which each cell has a line of its own.
fn records(head: &[String], all: &[Vec<String>]) -> String {
    let widest = head.iter().map(|name| name.width()).max().unwrap_or(0);
    let record = |row: &Vec<String>| {
        let cells = head.iter().zip(row).filter(|(_, cell)| !cell.is_empty());
        let lines: Vec<String> =
            cells.map(|(name, cell)| format!("{}  {cell}", fitted(name, widest))).collect();
        lines.join("\n")
    };
    all.iter().skip(1).map(record).collect::<Vec<_>>().join("\n\n")
}

/// A cell of a width, cut with an ellipsis where it is longer.
fn fitted(cell: &str, width: usize) -> String {
    let is = cell.width();
    if is <= width {
        return format!("{cell}{}", " ".repeat(width - is));
    }
    let mut kept = String::new();
    for letter in cell.chars() {
        kept.push(letter);
        if kept.width() > width.saturating_sub(1) {
            kept.pop();
            break;
        }
    }
    let pad = width.saturating_sub(kept.width() + 1);
    format!("{kept}…{}", " ".repeat(pad))
}

/// Without control characters: what an agent prints must not steer the reader's terminal.
pub(crate) fn printable(text: &str) -> String {
    text.chars().map(|c| if c.is_control() && c != '\n' && c != '\t' { '\u{fffd}' } else { c }).collect()
}

/// An amount of bytes in the unit that fits, by 1024.
pub(crate) fn bytes(amount: u64) -> String {
    const UNITS: [&str; 5] = ["B", "KiB", "MiB", "GiB", "TiB"];
    let (mut whole, mut rest, mut unit) = (amount, 0, 0);
    while whole >= 1024 && unit + 1 < UNITS.len() {
        rest = whole % 1024;
        whole /= 1024;
        unit += 1;
    }
    let name = UNITS.get(unit).copied().unwrap_or_default();
    if unit == 0 { format!("{whole} {name}") } else { format!("{whole}.{} {name}", rest * 10 / 1024) }
}

/// The text that was given, or that standard input has for `-`.
pub(crate) fn text_or_input(given: String) -> Result<String, CliError> {
    if given != "-" {
        return Ok(given);
    }
    let mut text = String::new();
    std::io::stdin().read_to_string(&mut text).map_err(CliError::io("read standard input"))?;
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(cells: &[&str]) -> Vec<String> {
        cells.iter().map(|cell| (*cell).to_owned()).collect()
    }

    #[test]
    fn tables_line_up_also_with_wide_letters() {
        let rows = [row(&["1", "Zoë"]), row(&["12", "x"])];
        assert_eq!(table(&["#", "NAME"], &rows), "#   NAME\n1   Zoë\n12  x");
        let rows = [row(&["漢字", "a"]), row(&["x", "b"])];
        assert_eq!(table(&["W", ""], &rows), "W\n漢字  a\nx     b");
    }

    #[test]
    fn table_fits_the_terminal_and_is_whole_in_a_pipe() {
        let long = "a long title that goes on and on";
        let rows = [row(&["1", long, "/a/path/that/is/long"])];
        let head = ["#", "TITLE", "PATH"];
        let narrow = table_for(&Screen { width: Some(40), colours: false }, &head, &rows);
        assert!(narrow.lines().all(|line| line.width() <= 40), "{narrow}");
        assert!(narrow.contains('…'), "{narrow}");
        assert!(narrow.contains("/a/path/that/is/long"), "what is typed again is whole: {narrow}");
        let tiny = table_for(&Screen { width: Some(30), colours: false }, &head, &rows);
        assert_eq!(tiny, format!("#      1\nTITLE  {long}\nPATH   /a/path/that/is/long"));
        let piped = table_for(&Screen { width: None, colours: false }, &head, &rows);
        assert!(piped.contains(long), "{piped}");
        let coloured = table_for(&Screen { width: None, colours: true }, &head, &rows);
        assert!(coloured.starts_with("\u{1b}[1m#"), "{coloured:?}");
    }

    #[test]
    fn amounts_are_in_the_unit_that_fits() {
        assert_eq!(bytes(0), "0 B");
        assert_eq!(bytes(1023), "1023 B");
        assert_eq!(bytes(1536), "1.5 KiB");
        assert_eq!(bytes(5 << 30), "5.0 GiB");
    }
}
