use super::*;

fn png(width: u32, height: u32) -> Vec<u8> {
    let mut content = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR".to_vec();
    content.extend(width.to_be_bytes());
    content.extend(height.to_be_bytes());
    content
}

fn check(content: &[u8], expected: Option<(&str, Option<(u32, u32)>)>) {
    let found = picture(content).map(|picture| (picture.media_type, picture.pixels));
    assert_eq!(found, expected, "{}", String::from_utf8_lossy(&content[..content.len().min(40)]));
}

#[test]
fn pictures_are_known_by_their_first_bytes() {
    check(&png(640, 480), Some(("image/png", Some((640, 480)))));
    check(b"GIF89a\x02\x01\x03\x00", Some(("image/gif", Some((258, 3)))));
    let jpeg = b"\xff\xd8\xff\xe0\x00\x04..\xff\xff\xc4\x00\x02\xff\xc2\x00\x11\x08\x00\x10\x00\x20";
    check(jpeg, Some(("image/jpeg", Some((32, 16)))));
    check(b"RIFF\0\0\0\0WEBPVP8X\0\0\0\0\0\0\0\0\x0f\0\0\x07\0\0", Some(("image/webp", Some((16, 8)))));
    // 16 x 8: 15 in the lower 14 bits, 7 in the next.
    check(b"RIFF\0\0\0\0WEBPVP8L\0\0\0\0\x2f\x0f\xc0\x01\x00", Some(("image/webp", Some((16, 8)))));
    check(
        b"RIFF\0\0\0\0WEBPVP8 \0\0\0\0...\x9d\x01\x2a\x10\x00\x08\x40",
        Some(("image/webp", Some((16, 8)))),
    );
    let mut bmp = b"BM\0\0\0\0\0\0\0\0\x36\0\0\0\x28\0\0\0".to_vec();
    bmp.extend(4_i32.to_le_bytes());
    bmp.extend((-2_i32).to_le_bytes());
    check(&bmp, Some(("image/bmp", Some((4, 2)))));
    check(b"\0\0\x01\0\x01\0\x10\x10\0\0\x01\0\x20\0\x04\0\0\0\x16\0\0\0", Some(("image/x-icon", None)));
    check(b"\0\0\0\x1cftypmif1\0\0\0\0mif1avifmiaf", Some(("image/avif", None)));
}

#[test]
fn svg_is_xml_whose_first_element_says_so() {
    for svg in [
        "<svg>",
        "<svg xmlns=\"http://www.w3.org/2000/svg\"/>",
        "\u{feff}\n<?xml version=\"1.0\"?>\n<!-- <html> -->\n<svg\n>",
        "<!DOCTYPE svg PUBLIC \"-//W3C//DTD SVG 1.1//EN\" \"x\"><svg >",
        "<!DOCTYPE svg [ <!ENTITY a \"b>\"> ]><svg/>",
        "<svg:svg xmlns:svg=\"http://www.w3.org/2000/svg\">",
    ] {
        check(svg.as_bytes(), Some(("image/svg+xml", None)));
    }
    for other in ["<html><svg></svg></html>", "<svgx>", "<svg", "<!-- <svg>", "svg", "# <svg>"] {
        check(other.as_bytes(), None);
    }
}

#[test]
fn what_is_no_picture_is_none_whatever_its_bytes() {
    let cut: [&[u8]; 7] = [b"", b"BM", b"RIFF", b"\0\0\x01\0", b"PK\x03\x04", b"\x7fELF", b"\0\0\0\x08ftyp"];
    for content in cut {
        check(content, None);
    }
    // A head that ends too early tells no size, and reads past nothing.
    for content in [&b"\x89PNG\r\n\x1a\n"[..], b"GIF87a", b"\xff\xd8\xff", b"\xff\xd8\xff\xe0\xff\xff"] {
        assert_eq!(picture(content).map(|picture| picture.pixels), Some(None));
    }
    check(b"\xff\xd8\xff\xda\x00\x02", Some(("image/jpeg", None)));
}

#[test]
fn a_small_file_cannot_ask_for_all_memory() {
    let preview = FilePreview::of(&png(100_000, 100_000));
    assert_eq!((preview.kind, preview.width), (PreviewKind::TooManyPixels, Some(100_000)));
    assert_eq!(FilePreview::of(&png(8_000, 8_000)).kind, PreviewKind::Image);
    assert_eq!(FilePreview::of(&png(u32::MAX, u32::MAX)).kind, PreviewKind::TooManyPixels);
}

#[test]
fn pointers_of_lfs_tell_the_size_of_what_they_stand_for() {
    let pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a2146\nsize 12345\n";
    assert_eq!(lfs_pointer(pointer.as_bytes()), Some(12_345));
    let preview = FilePreview::of(pointer.as_bytes());
    assert_eq!((preview.kind, preview.size), (PreviewKind::LfsPointer, Some(12_345)));
    for other in [
        "version https://git-lfs.github.com/spec/v2\noid sha256:4d\nsize 1\n",
        "version https://git-lfs.github.com/spec/v1\nsize 1\n",
        "version https://git-lfs.github.com/spec/v1\noid sha256:4d\nsize many\n",
        &format!("{pointer}{}", "x".repeat(1024)),
    ] {
        assert_eq!(lfs_pointer(other.as_bytes()), None, "{other}");
    }
}
