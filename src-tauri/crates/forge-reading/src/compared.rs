//! How a diagnosis is compared with others.

use crate::normalised::normalised;

/// The longest diagnosis that is looked at, in characters.
const MAX_DIAGNOSIS: usize = 300;

/// A diagnosis as it is compared with others: short, without the folder it was made in, and [`normalised`].
pub(crate) fn compared(diagnosis: &str, cwd: &str) -> String {
    let here = format!("{}/", cwd.trim_end_matches('/'));
    let relative = if here == "/" { diagnosis.to_owned() } else { diagnosis.replace(&here, "") };
    let text = normalised(&relative);
    text.chars().take(MAX_DIAGNOSIS).collect()
}
