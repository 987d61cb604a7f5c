//! Pictures among changed files: what a content is by its first bytes, never by its name.
//!
//! Only what a page can draw in an `<img>` is a picture here. What a picture needs once it is unpacked is read
//! from its head as well, so that a small file cannot ask for all memory.

use crate::{contract, names};

/// The most bytes of a file that are shown as a picture.
pub const MAX_PREVIEW_BYTES: u32 = 10_000_000;
/// The most pixels that are shown: 256 MB once they are unpacked.
pub const MAX_PREVIEW_PIXELS: u64 = 64_000_000;

names! {
    /// One side of a changed file, as an image if possible.
    pub enum PreviewKind {
        /// An image, included here.
        Image = "image",
        /// The file is not on this side.
        Absent = "absent",
        /// Too large to be shown.
        TooLarge = "too_large",
        /// An image with too many pixels to be shown.
        TooManyPixels = "too_many_pixels",
        /// The content is in Git LFS; the repository has a pointer to it.
        LfsPointer = "lfs_pointer",
        /// Not an image: another file, a symbolic link or a submodule.
        Other = "other",
    }
}

contract! {
    /// One side of a changed file as a picture.
    #[derive(Eq)]
    pub struct FilePreview {
        /// What it is.
        pub kind: PreviewKind,
        /// Bytes of the file; of what a pointer stands for, where it is one.
        #[specta(type = Option<f64>)]
        pub size: Option<u64>,
        /// Files of more bytes are not shown.
        pub max_size: u32,
        /// Media type detected from the content, such as `image/png`.
        pub media_type: Option<String>,
        /// Width in pixels, if the header of the file has it.
        pub width: Option<u32>,
        /// Height in pixels, if the header of the file has it.
        pub height: Option<u32>,
        /// The content in base64, when it is a picture that is shown.
        pub data: Option<String>,
    }
}

impl FilePreview {
    /// Of a side of which nothing but the size is told.
    #[must_use]
    pub const fn bare(kind: PreviewKind, size: Option<u64>) -> Self {
        Self {
            kind,
            size,
            max_size: MAX_PREVIEW_BYTES,
            media_type: None,
            width: None,
            height: None,
            data: None,
        }
    }

    /// Of a file's content, which is not in the answer yet.
    #[must_use]
    pub fn of(content: &[u8]) -> Self {
        let size = Some(content.len() as u64);
        if let Some(stored) = lfs_pointer(content) {
            return Self::bare(PreviewKind::LfsPointer, Some(stored));
        }
        let Some(picture) = picture(content) else { return Self::bare(PreviewKind::Other, size) };
        let pixels = picture.pixels.map(|(width, height)| u64::from(width) * u64::from(height));
        let many = pixels.is_some_and(|pixels| pixels > MAX_PREVIEW_PIXELS);
        let kind = if many { PreviewKind::TooManyPixels } else { PreviewKind::Image };
        Self {
            media_type: Some(picture.media_type.to_owned()),
            width: picture.pixels.map(|(width, _)| width),
            height: picture.pixels.map(|(_, height)| height),
            ..Self::bare(kind, size)
        }
    }
}

/// A picture by its first bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Picture {
    /// What it is.
    pub media_type: &'static str,
    /// Across and down, where the head tells.
    pub pixels: Option<(u32, u32)>,
}

/// What picture a content is; `None` when it is none that a page draws.
#[must_use]
pub fn picture(content: &[u8]) -> Option<Picture> {
    let found = |media_type, pixels| Some(Picture { media_type, pixels });
    if content.starts_with(b"\x89PNG\r\n\x1a\n") {
        return found("image/png", pair(be32(content, 16), be32(content, 20)));
    }
    if content.starts_with(b"\xff\xd8\xff") {
        return found("image/jpeg", jpeg_pixels(content));
    }
    if content.starts_with(b"GIF87a") || content.starts_with(b"GIF89a") {
        return found("image/gif", pair(le16(content, 6), le16(content, 8)));
    }
    if content.starts_with(b"RIFF") && content.get(8..12) == Some(b"WEBP") {
        return found("image/webp", webp_pixels(content));
    }
    if content.starts_with(b"BM") && content.get(6..10) == Some(&[0; 4]) {
        return found("image/bmp", bmp_pixels(content));
    }
    // One picture or more, each told of in 16 bytes.
    if content.starts_with(&[0, 0, 1, 0]) && content.len() >= 22 && content[4..6] != [0, 0] {
        return found("image/x-icon", None);
    }
    if is_avif(content) {
        return found("image/avif", None);
    }
    if is_svg(content) {
        return found("image/svg+xml", None);
    }
    None
}

/// The size of what a Git LFS pointer stands for; `None` when it is no pointer.
#[must_use]
pub fn lfs_pointer(content: &[u8]) -> Option<u64> {
    const MAX: usize = 1024;
    let text = std::str::from_utf8(content.get(..content.len().min(MAX + 1))?).ok()?;
    let mut lines = text.lines();
    let is_pointer = text.len() <= MAX && lines.next()? == "version https://git-lfs.github.com/spec/v1";
    let hashed = text.lines().any(|line| line.starts_with("oid "));
    let size = lines.find_map(|line| line.strip_prefix("size "))?.parse().ok()?;
    (is_pointer && hashed).then_some(size)
}

fn bytes<const N: usize>(content: &[u8], at: usize) -> Option<[u8; N]> {
    content.get(at..at.checked_add(N)?)?.try_into().ok()
}

fn be16(content: &[u8], at: usize) -> Option<u32> {
    bytes(content, at).map(u16::from_be_bytes).map(u32::from)
}

fn le16(content: &[u8], at: usize) -> Option<u32> {
    bytes(content, at).map(u16::from_le_bytes).map(u32::from)
}

fn be32(content: &[u8], at: usize) -> Option<u32> {
    bytes(content, at).map(u32::from_be_bytes)
}

fn le32(content: &[u8], at: usize) -> Option<u32> {
    bytes(content, at).map(u32::from_le_bytes)
}

fn pair(width: Option<u32>, height: Option<u32>) -> Option<(u32, u32)> {
    Some((width?, height?))
}

/// The frame header is the first of the segments `C0` to `CF` that is neither a table nor an extension.
fn jpeg_pixels(content: &[u8]) -> Option<(u32, u32)> {
    let mut at = 2;
    loop {
        if *content.get(at)? != 0xff {
            return None;
        }
        match *content.get(at + 1)? {
            0xff => at += 1,
            0xc4 | 0xc8 | 0xcc => at += 2 + be16(content, at + 2)? as usize,
            0xc0..=0xcf => return pair(be16(content, at + 7), be16(content, at + 5)),
            // The end, or the pixels before any frame header.
            0xd9 | 0xda => return None,
            0x01 | 0xd0..=0xd8 => at += 2,
            _ => at += 2 + be16(content, at + 2)? as usize,
        }
    }
}

fn webp_pixels(content: &[u8]) -> Option<(u32, u32)> {
    let le24 = |at| bytes::<3>(content, at).map(|[a, b, c]| u32::from_le_bytes([a, b, c, 0]) + 1);
    match content.get(12..16)? {
        b"VP8X" => pair(le24(24), le24(27)),
        b"VP8L" => le32(content, 21).map(|bits| ((bits & 0x3fff) + 1, ((bits >> 14) & 0x3fff) + 1)),
        b"VP8 " => pair(le16(content, 26), le16(content, 28)).map(|(w, h)| (w & 0x3fff, h & 0x3fff)),
        _ => None,
    }
}

fn bmp_pixels(content: &[u8]) -> Option<(u32, u32)> {
    if le32(content, 14)? == 12 {
        return pair(le16(content, 18), le16(content, 20));
    }
    // A height below nothing: rows from above.
    let down = |at| bytes(content, at).map(i32::from_le_bytes).map(i32::unsigned_abs);
    pair(le32(content, 18), down(22))
}

/// A first box `ftyp` with the brand among those that it is compatible with.
fn is_avif(content: &[u8]) -> bool {
    let Some(length) = be32(content, 0).filter(|_| content.get(4..8) == Some(b"ftyp")) else { return false };
    let brands = content.get(8..(length as usize).min(content.len())).unwrap_or_default();
    brands.chunks_exact(4).any(|brand| matches!(brand, b"avif" | b"avis"))
}

/// XML whose first element is `svg`.
fn is_svg(content: &[u8]) -> bool {
    /// What may stand before the element is short.
    const HEAD: usize = 16 << 10;
    let head = String::from_utf8_lossy(&content[..content.len().min(HEAD)]);
    let mut rest = head.trim_start_matches('\u{feff}').trim_start();
    loop {
        let end = if rest.starts_with("<?") {
            "?>"
        } else if rest.starts_with("<!--") {
            "-->"
        } else if rest.starts_with("<!") {
            let inner = rest.find('[').filter(|at| !rest[..*at].contains('>'));
            if inner.is_some() { "]>" } else { ">" }
        } else {
            break;
        };
        let Some(at) = rest.find(end) else { return false };
        rest = rest[at + end.len()..].trim_start();
    }
    let after = |prefix: &str| rest.strip_prefix(prefix).and_then(|rest| rest.chars().next());
    let ends = |c: char| c.is_whitespace() || matches!(c, '>' | '/');
    after("<svg").is_some_and(ends) || after("<svg:svg").is_some_and(ends)
}

#[cfg(test)]
mod tests;
