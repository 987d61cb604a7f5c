//! Hostile texts: deep, long, torn, random. None may take the program down or be passed over in silence.

use std::fmt::Write as _;

use forge_source::{MAX_BYTES, Syntax, Texts, contract, syntax};
use proptest::prelude::*;

const PATHS: [&str; 12] = [
    "a.js", "a.mjs", "a.cjs", "a.jsx", "a.ts", "a.tsx", "a.d.ts", "a.py", "a.rs", "a.go", "a.json", "a.toml",
];

/// What makes one parser or another go deeper with every repetition.
const DEEPER: &[&str] = &[
    "A<b,",
    "A<",
    "let a: A<b,",
    "A<{b;",
    "type A = B<",
    "[",
    "(",
    "{",
    "[[",
    "{a:",
    "{\"a\":",
    "f(",
    "f(a)(",
    "!",
    "- ",
    "-\n",
    "~",
    "a+",
    "a+\n",
    "a.b+",
    "a=",
    "a = b == c, ",
    "if(a)",
    "if(a)\n",
    "if a {} else ",
    "if (a) {} else ",
    "else ",
    "for(;;)",
    "while(a)",
    "do ",
    "a?a:",
    "a?",
    "a=>",
    "a,",
    "typeof ",
    "await ",
    "not ",
    "lambda:",
    "<a>",
    "<a>, ",
    "<a>\n",
    "`${",
    "a.",
    "a()",
    "a[0]",
    "&",
    "&mut ",
    "fn f() {",
    "|a| ",
];

#[test]
fn nesting_a_hundred_thousand_deep_is_answered() {
    for path in PATHS.into_iter().chain(["a.yaml"]) {
        for bracket in ["[", "(", "{"] {
            let text = bracket.repeat(100_000);
            let verdict = syntax(path, text.as_bytes()).unwrap();
            // To YAML a parenthesis is a letter.
            let expected = path == "a.yaml" && bracket == "(";
            assert_eq!(verdict == Syntax::Sound, expected, "{path} {bracket}");
        }
    }
    let balanced = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    assert_eq!(syntax("a.json", balanced.as_bytes()), Some(Syntax::Sound));
    for path in ["a.js", "a.py", "a.ts", "a.rs"] {
        assert!(matches!(syntax(path, balanced.as_bytes()), Some(Syntax::Refused { .. })), "{path}");
    }
}

#[test]
fn toml_that_nests_deeper_than_its_reader_goes_is_not_called_broken() {
    for depth in [79, 81, 500, 100_000] {
        let arrays = format!("a = {}{}\n", "[".repeat(depth), "]".repeat(depth));
        let tables = format!("a = {}1{}\n", "{b=".repeat(depth), "}".repeat(depth));
        let keys = format!("{}a = 1\n", "a.".repeat(depth));
        for text in [arrays, tables, keys] {
            let verdict = syntax("a.toml", text.as_bytes());
            assert!(!matches!(verdict, Some(Syntax::Broken(_))), "{depth}: {verdict:?}");
        }
    }
    let torn = format!("a = \n b = {}{}\n", "[".repeat(79), "]".repeat(79));
    assert!(matches!(syntax("a.toml", torn.as_bytes()), Some(Syntax::Broken(_))));
}

#[test]
fn endings_are_read_in_any_case() {
    for (path, text) in [
        ("A.JS", "let x = ;"),
        ("a.Mjs", "let x = ;"),
        ("A.CJS", "let x = ;"),
        ("a.TSX", "let x: = 1;"),
        ("a.Ts", "let x: = 1;"),
        ("a.MTS", "let x: = 1;"),
        ("a.PY", "def f(:"),
        ("a.RS", "fn f( {"),
        ("a.GO", "package a\nfunc {"),
        ("a.JSON", "{"),
        ("a.Toml", "a = "),
        ("a.YML", "a: [1"),
    ] {
        let broken = syntax(path, text.as_bytes());
        assert!(matches!(broken, Some(Syntax::Broken(_))), "{path}: {broken:?}");
        assert_eq!(broken, syntax(&path.to_lowercase(), text.as_bytes()), "{path}");
    }
    assert_eq!(syntax("TSCONFIG.JSON", b"{ /* a */ }"), Some(Syntax::Sound));
    assert_eq!(syntax("a.TSX", b"const a = <b/>;"), Some(Syntax::Sound));
    assert_eq!(syntax("a.TXT", b"{"), None);
}

#[test]
fn every_way_down_is_bounded() {
    for path in ["a.tsx", "a.py", "a.rs"] {
        for part in DEEPER {
            let close: String = part.chars().rev().filter_map(closing).collect();
            // The deepest that is let through, open and closed.
            let deepest =
                [19_900, 9_900, 6_600, 4_900, 3_900, 2_900, 1_900, 990, 490].into_iter().find(|count| {
                    let opened = part.repeat(*count);
                    let closed = format!("{opened}a{}", close.repeat(*count));
                    let refused =
                        |text: &str| matches!(syntax(path, text.as_bytes()), Some(Syntax::Refused { .. }));
                    !refused(&opened) && !refused(&closed)
                });
            assert!(deepest.is_some(), "{path} {part:?} is never let through");
        }
    }
}

fn closing(open: char) -> Option<char> {
    match open {
        '(' => Some(')'),
        '[' => Some(']'),
        '{' => Some('}'),
        _ => None,
    }
}

#[test]
fn indentation_is_bounded() {
    let mut text = String::new();
    for depth in 0..2_000 {
        writeln!(text, "{}if a:", " ".repeat(depth)).unwrap();
    }
    write!(text, "{}pass", " ".repeat(2_000)).unwrap();
    assert!(syntax("a.py", text.as_bytes()).is_some());
    let yaml: String = (0..2_000).map(|depth| format!("{}a:\n", " ".repeat(depth))).collect();
    assert_eq!(syntax("a.yaml", yaml.as_bytes()), Some(Syntax::Sound));
}

#[test]
fn size_is_bounded() {
    for path in PATHS {
        let text = vec![b' '; MAX_BYTES + 1];
        assert!(matches!(syntax(path, &text), Some(Syntax::Refused { .. })), "{path}");
    }
}

#[test]
fn one_huge_line_is_read() {
    let list = "1,".repeat(100_000);
    let cases = [
        ("a.js", format!("export default [{list}]")),
        ("a.ts", format!("export const a: number[] = [{list}]")),
        ("a.py", format!("a = [{list}]")),
        ("a.rs", format!("const A: &[u8] = &[{list}];")),
        ("a.go", format!("package a; var a = []int{{{list}}}")),
        ("a.json", format!("[{list}1]")),
        ("a.toml", format!("a = [{list}]")),
        ("a.yaml", format!("a: [{list}]")),
    ];
    for (path, text) in cases {
        assert_eq!(syntax(path, text.as_bytes()), Some(Syntax::Sound), "{path}");
    }
}

#[test]
fn line_ends_marks_and_broken_bytes() {
    let sound = [
        ("a.js", "\u{feff}let a = 1;\r\nlet b = 2;\r\n"),
        ("a.py", "\u{feff}def f():\r\n    return 1\r\n"),
        ("a.rs", "\u{feff}fn f() {\r\n}\r\n"),
        ("a.go", "\u{feff}package a\r\n\r\nfunc f() {\r\n}\r\n"),
        ("a.json", "\u{feff}{\r\n\"a\": 1}\r\n"),
        ("a.toml", "\u{feff}a = 1\r\n[b]\r\n"),
        ("a.yaml", "\u{feff}a: 1\r\nb:\r\n  - 1\r\n---\r\nc: 1\r\n"),
        ("a.js", ""),
        ("a.py", ""),
        ("a.rs", ""),
        ("a.toml", ""),
        ("a.yaml", ""),
    ];
    for (path, text) in sound {
        assert_eq!(syntax(path, text.as_bytes()), Some(Syntax::Sound), "{path} {text:?}");
    }
    for path in PATHS {
        for text in [
            &b"a\0b"[..],
            b"\0",
            b"\xff\xfe\xff",
            b"a = \"\xc3\x28\"",
            b"\xed\xa0\x80",
            b"\xef\xbb\xbf\xef\xbb\xbf",
        ] {
            assert!(syntax(path, text).is_some());
        }
    }
    for path in ["a.py", "a.rs", "a.go", "a.json", "a.toml", "a.yaml"] {
        let Some(Syntax::Broken(error)) = syntax(path, b"# \n/\xff") else { panic!("{path}") };
        assert_eq!((error.line, error.column), (2, 2), "{path}");
    }
}

/// Words of all languages, so that random texts come further than their first byte.
fn soup() -> impl Strategy<Value = String> {
    let word = prop::sample::select(vec![
        "a", "b", "1", "0x", "\"s\"", "'", "\"", "`", "(", ")", "[", "]", "{", "}", "<", ">", "</", "/>",
        ":", ";", ",", ".", "=", "=>", "->", "::", "#", "@", "!", "?", "\\", "/", "//", "/*", "*/", "\"\"\"",
        "r#\"", "\n", "\n  ", "\t", "\r\n", " ", "if", "else", "for", "in", "def", "class", "fn", "func",
        "function", "import", "from", "export", "default", "return", "yield", "await", "async", "let",
        "const", "mod", "use", "package", "lambda", "not", "match", "case", "type", "enum", "nonlocal",
        "global", "del", "with", "try", "except", "- ", "&a", "*a", "|", "---", "%", "${", "é", "\u{feff}",
        "\0", "\u{2028}",
    ]);
    prop::collection::vec(word, 0..60).prop_map(|words| words.concat())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn arbitrary_bytes_are_answered(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        for path in PATHS.into_iter().chain(["a.yaml"]) {
            let verdict = syntax(path, &bytes).unwrap();
            prop_assert!(!matches!(&verdict, Syntax::Refused { reason } if reason.contains("the parser crashed")), "{path}");
        }
    }

    #[test]
    fn arbitrary_words_are_answered(text in soup()) {
        for path in PATHS.into_iter().chain(["a.yaml"]) {
            let verdict = syntax(path, text.as_bytes()).unwrap();
            prop_assert!(!matches!(&verdict, Syntax::Refused { reason } if reason.contains("the parser crashed")), "{path}");
            if let Syntax::Broken(error) = verdict {
                let lines = text.split('\n').count();
                prop_assert!(error.line >= 1 && error.line as usize <= lines + 1 && error.column >= 1, "{path} {error}");
            }
        }
    }

    #[test]
    fn contracts_of_arbitrary_words_are_answered(exporter in soup(), importer in soup()) {
        let asking = [
            ("a.js", "b.js", "import * as a from './a'; const { b } = require('./a'); import('./a');\n"),
            ("a.ts", "b.tsx", "export * from './a'; import a = require('./a');\n"),
            ("a.py", "b.py", "from a import *\nimport a\n"),
            ("src/a.rs", "src/lib.rs", "mod a; use a::*; use self::a::b;\n"),
        ];
        for (one, other, ask) in asking {
            let files = Texts::default().with(one, exporter.as_str()).with(other, format!("{ask}{importer}"));
            for (exporter, importer) in [(one, other), (other, one)] {
                let reason = contract(&files, exporter, importer).reason.unwrap_or_default();
                prop_assert!(!reason.contains("the check failed"), "{exporter} {importer}: {reason}");
            }
        }
    }
}
