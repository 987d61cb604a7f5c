//! Rust contracts by example; where the language alone decides, rustc says the same.

#![expect(clippy::unwrap_used, reason = "helpers of tests")]

use super::check;

#[test]
fn rust() {
    let root = (
        "src/lib.rs",
        "pub mod a;\nmod b;\nmod c { pub mod d; pub(super) fn e() {} }\npub use a::{Kind, f as g};\n",
    );
    let exporter = (
        "src/a.rs",
        "pub fn f() {} fn private() {} pub(crate) struct S; pub enum Kind { A, B } pub const X: u8 = 1; \
        pub mod inner { pub(in crate::a) fn near() {} pub(super) fn up() {} pub fn open() {} } pub(self) use std::mem; \
        pub use crate::c::d::D; macro_rules! m { () => {} } pub(crate) use m; pub trait T {} pub type R = S; pub static Y: u8 = 1;",
    );
    let cases = [
        ("use crate::a::{f, S, Kind, X, inner, D, m, T, R, Y};", "pass"),
        ("use crate::a::{self, f as q, nope};", "fail nope"),
        ("use super::a::private;", "fail private"),
        ("use crate::a::Kind::{A, C};", "fail C Kind"),
        ("use crate::a::inner::{open, near, up};", "fail near up"),
        ("use crate::a::*;", "pass"),
        ("use crate::{g, Kind};", "pass"),
        ("use crate::a;\nfn x() { a::f(); a::nope() }", "fail nope"),
        ("use crate::a;\nfn x() { println!(\"{}\", a::nope()) }", "fail nope"),
        ("use crate::a;", "unknown no use of it"),
        ("fn x() -> crate::a::S { crate::a::Kind::A; crate::a::Kind::new() }", "pass"),
        ("fn x() { use crate::a::nope; }", "fail nope"),
        ("mod t { use super::super::a::{f, nope}; }", "fail nope"),
        ("use crate::c::d::D;", "unknown imports nothing"),
        ("use other::a::f;", "unknown imports nothing"),
        ("// use crate::a::nope;", "unknown imports nothing"),
        ("use crate::a::mem;", "fail mem"),
    ];
    for (importer, expected) in cases {
        let expected = if expected == "fail C Kind" { "fail C" } else { expected };
        check(&[exporter, root, ("src/c/d.rs", "pub struct D;"), ("src/b.rs", importer)], expected);
    }
    let made = ("src/a.rs", "thread_local! { pub static X: u8 = 1 } pub fn f() {}");
    check(&[made, ("src/main.rs", "mod a; mod b;"), ("src/b.rs", "use crate::a::{f, X};")], "unknown macro");
    check(&[made, ("src/main.rs", "mod a; mod b;"), ("src/b.rs", "use crate::a::f;")], "pass");
    let outside = ("src/a.rs", "pub use other::*; pub fn f() {}");
    check(
        &[outside, ("src/main.rs", "mod a; mod b;"), ("src/b.rs", "use crate::a::{f, X};")],
        "unknown not analyzed",
    );
    let glob = [
        ("src/a.rs", "pub use self::k::*; mod k { pub fn f() {} fn h() {} }"),
        ("src/main.rs", "mod a; mod b;"),
    ];
    check(&[glob[0], glob[1], ("src/b.rs", "use crate::a::{f, h};")], "fail h");
}

#[test]
fn rust_names_that_are_handed_on_must_be_there() {
    let root = ("src/lib.rs", "pub mod a; pub mod b; mod c; pub mod o;");
    let cases = [
        ("pub use crate::c::z;", "use crate::a::z;", "fail z"),
        ("pub use crate::c::y;", "use crate::a::y;", "pass"),
        ("mod i { pub fn x() {} fn h() {} } pub use i::h;", "use crate::a::h;", "fail h"),
        ("mod i { pub fn x() {} } pub use i::x;", "use crate::a::x;", "pass"),
        ("pub use std::mem::swap;", "use crate::a::swap;", "pass"),
    ];
    for (exporter, importer, expected) in cases {
        check(
            &[("src/a.rs", exporter), root, ("src/c.rs", "pub fn y() {}"), ("src/b.rs", importer)],
            expected,
        );
    }
    let private = [("src/o/a.rs", "pub fn f() {}"), root, ("src/o.rs", "mod a; pub use a::f;")];
    check(&[private[0], private[1], private[2], ("src/b.rs", "use crate::o::a::f;")], "fail f");
    check(&[private[0], private[1], private[2], ("src/b.rs", "use crate::o::f;")], "pass");
}

#[test]
fn rust_modules_find_their_files() {
    let manifest = ("Cargo.toml", "[package]\nname = \"my-crate\"\n");
    check(
        &[
            ("src/x/y.rs", "pub fn f() {}"),
            manifest,
            ("src/lib.rs", "#[path = \"x/y.rs\"] mod a; mod b;"),
            ("src/b.rs", "use crate::a::{f, no};"),
        ],
        "fail no",
    );
    check(
        &[
            ("src/a/mod.rs", "pub fn f() {}"),
            manifest,
            ("src/lib.rs", "mod a; mod b;"),
            ("src/b.rs", "use crate::a::{f, no};"),
        ],
        "fail no",
    );
    check(
        &[
            ("src/a/b.rs", "pub fn f() {}"),
            manifest,
            ("src/lib.rs", "mod a;"),
            ("src/a.rs", "mod b; use b::{f, no}; use self::b::no2;"),
        ],
        "fail no no2",
    );
    check(
        &[
            ("src/a.rs", "pub fn f() {} pub(crate) fn g() {}"),
            manifest,
            ("src/lib.rs", "pub mod a;"),
            ("tests/t.rs", "use my_crate::a::{f, g};"),
        ],
        "fail g",
    );
    check(
        &[
            ("tests/common/mod.rs", "pub fn f() {}"),
            manifest,
            ("src/lib.rs", ""),
            ("tests/t.rs", "mod common; use common::{f, no};"),
        ],
        "fail no",
    );
    check(
        &[("src/lib.rs", "pub fn f() {} fn h() {}"), manifest, ("src/main.rs", "use my_crate::{f, h};")],
        "fail h",
    );
    check(
        &[
            ("k/code/a.rs", "pub fn f() {}"),
            ("k/Cargo.toml", "[package]\nname = 'k'\n[lib]\npath = 'code/root.rs'"),
            ("k/code/root.rs", "mod a; mod b;"),
            ("k/code/b.rs", "use crate::a::no;"),
        ],
        "fail no",
    );
    check(
        &[
            ("src/a.rs", "pub fn f() {"),
            manifest,
            ("src/lib.rs", "mod a; mod b;"),
            ("src/b.rs", "use crate::a::f;"),
        ],
        "unknown syntax error",
    );
}

#[test]
fn rust_macros_may_make_names() {
    let root = ("src/lib.rs", "pub mod a; pub mod b; mod c;");
    let inner = "#[derive(Builder)] pub struct Foo; fn hidden() {}";
    let cases = [
        ("#[derive(Builder)] pub struct Foo;", "use crate::a::{Foo, FooBuilder};", "unknown derive"),
        ("#[derive(Debug, Clone)] pub struct Foo;", "use crate::a::FooBuilder;", "fail FooBuilder"),
        ("#[cfg_attr(x, derive(k::Builder))] pub struct Foo;", "use crate::a::FooBuilder;", "unknown derive"),
        ("#[cfg_attr(x, derive(Debug))] pub struct Foo;", "use crate::a::FooBuilder;", "fail FooBuilder"),
        (
            "#[derive(serde::Serialize)] #[serde(default)] pub struct Foo;",
            "use crate::a::FooBuilder;",
            "fail FooBuilder",
        ),
        ("#[tokio::main] pub async fn f() {}", "use crate::a::g;", "fail g"),
        ("#[make] pub fn f() {}", "use crate::a::g;", "unknown attribute"),
        ("#[inline] #[rustfmt::skip] pub fn f() {}", "use crate::a::g;", "fail g"),
        ("#[make] pub mod i {}", "use crate::a::i::g;", "unknown attribute"),
        ("pub use crate::c::FooBuilder;", "use crate::a::FooBuilder;", "unknown derive"),
        ("pub use crate::c::hidden;", "use crate::a::hidden;", "fail hidden"),
        ("make!(); fn f() {}", "use crate::a::g;", "unknown macro"),
    ];
    for (exporter, importer, expected) in cases {
        check(&[("src/a.rs", exporter), root, ("src/c.rs", inner), ("src/b.rs", importer)], expected);
    }
}

/// Files of a library that need nothing but the language, so that rustc judges them too.
#[test]
fn rust_as_rustc_says() {
    let root = ("src/lib.rs", "pub mod a; pub mod b; mod c;");
    let inner = "pub(crate) fn near() {} pub fn far() {} macro_rules! m { () => {} } pub(crate) use m;";
    let cases = [
        ("pub use crate::c::near;", "use crate::a::near; pub fn g() { near() }", "fail near"),
        ("pub(crate) use crate::c::near;", "use crate::a::near; pub fn g() { near() }", "pass"),
        ("pub use crate::c::far;", "use crate::a::far; pub fn g() { far() }", "pass"),
        ("pub use crate::c::near as n;", "use crate::a::n; pub fn g() { n() }", "fail n"),
        (
            "pub fn f() {}",
            "use crate::a; pub fn g() { mod a { pub fn own() {} } a::own(); } pub fn h() { a::f() }",
            "pass",
        ),
        (
            "pub fn f() {}",
            "use crate::a; pub fn g() { mod i { pub fn own() {} } i::own(); a::own() }",
            "fail own",
        ),
        (
            "pub fn f() {}",
            "use crate::a as T; pub fn h() { T::f() } pub fn g<T: Default>() -> T { T::default() }",
            "pass",
        ),
        ("pub fn f() {}", "use crate::a as T; pub fn g<U: Default>() -> U { T::default() }", "fail default"),
        (
            "pub fn f() {}",
            "use crate::a; pub fn g() { println!(\"{}\", stringify!(a::nothing)); a::f() }",
            "pass",
        ),
        ("pub fn f() {}", "use crate::a; pub fn g() { println!(\"{:?}\", a::nothing()) }", "fail nothing"),
        (
            "pub fn f() {}",
            "use crate::a; macro_rules! gone { ($($t:tt)*) => {} } pub fn g() { gone!(a::nothing); a::f() }",
            "unknown macro",
        ),
    ];
    for (exporter, importer, expected) in cases {
        let files = [("src/a.rs", exporter), root, ("src/c.rs", inner), ("src/b.rs", importer)];
        check(&files, expected);
        if !expected.starts_with("unknown") {
            assert_eq!(compiles(&files), expected == "pass", "{files:?}");
        }
    }
}

fn compiles(files: &[(&str, &str)]) -> bool {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("src")).unwrap();
    for (path, text) in files {
        std::fs::write(folder.path().join(path), text).unwrap();
    }
    let mut rustc = std::process::Command::new("rustc");
    rustc.args(["--edition", "2021", "--crate-type", "lib", "--emit", "metadata", "-o", "out", "src/lib.rs"]);
    rustc.current_dir(folder.path()).output().unwrap().status.success()
}
