//! What each language calls well formed, by example; real files are in `corpus.rs`.

#![expect(clippy::unwrap_used, clippy::panic, reason = "helpers of tests")]

use forge_source::{Language, Syntax, syntax};

fn check(path: &str, text: &str, expected: Option<(u32, u32)>) {
    match (syntax(path, text.as_bytes()).unwrap(), expected) {
        (Syntax::Sound, None) => {}
        (Syntax::Broken(error), Some(place)) => {
            assert_eq!((error.line, error.column), place, "{path} {text:?}: {error}");
            assert!(!error.message.is_empty());
        }
        (verdict, _) => panic!("{path} {text:?}: {verdict:?} instead of {expected:?}"),
    }
}

fn sound(path: &str, texts: &[&str]) {
    for text in texts {
        check(path, text, None);
    }
}

fn broken(path: &str, texts: &[(&str, (u32, u32))]) {
    for (text, place) in texts {
        check(path, text, Some(*place));
    }
}

#[test]
fn endings_decide_the_language() {
    for ending in ["js", "mjs", "cjs", "jsx", "ts", "tsx", "mts", "cts"] {
        assert_eq!(Language::of(&format!("a/b.c.{ending}")), Some(Language::Script));
    }
    for path in ["a", "a.txt", ".js", "a.js/b", "", "Makefile", "a.JS.bak"] {
        assert_eq!(Language::of(path), None, "{path}");
        assert_eq!(syntax(path, b"("), None, "{path}");
    }
}

#[test]
fn scripts() {
    sound(
        "a.js",
        &[
            "#!/usr/bin/env node\nreturn 1",
            "import a from 'a'; await a",
            "const a = <b c='d'>{e}</b>",
            "with (a) { b }",
            "module.exports = function () { return new.target }",
            "var a; var a; function f() {} var b = 010",
        ],
    );
    sound("a.mjs", &["export const a = await 1", "import a from './b.json' with { type: 'json' }"]);
    sound("a.cjs", &["return require('a')", "var yield = 1"]);
    sound(
        "a.ts",
        &[
            "export const a = <T,>(b: T): T => b!",
            "enum A { B }",
            "declare module 'x' { export const a: 1 }",
            "type A = { a: b, c: d; e\n f() /* ; */; g }\ninterface B { a\nb }",
        ],
    );
    sound("a.tsx", &["export const a = (b: string) => <c d={b as never} />"]);
    sound("a.d.ts", &["export declare const a: number;\nexport default a;"]);
    sound("a.cts", &["import a = require('a'); export = a"]);
    broken(
        "a.js",
        &[
            ("let a = 1;\nlet b = ;", (2, 9)),
            ("let a = 1;\nlet a = 2;", (1, 5)),
            ("import a from 'a';\nimport a from 'b'", (1, 8)),
            ("export const a = 1; return 1", (1, 21)),
            ("function f() { break }", (1, 16)),
            ("const a", (1, 7)),
            ("/[/", (1, 1)),
        ],
    );
    broken("a.mjs", &[("with (a) {}", (1, 1)), ("return 1", (1, 1))]);
    broken("a.cjs", &[("export const a = 1", (1, 1)), ("const a = await 1", (1, 11))]);
    broken(
        "a.ts",
        &[
            ("const a: = 1", (1, 10)),
            ("const a = <b></b>", (1, 15)),
            ("let a: string; let a: number", (1, 5)),
            ("type A = { b c: d }", (1, 14)),
            ("interface A { b: c d: e }", (1, 20)),
            ("type A = { a: (b: c) > d; e: f }", (1, 21)),
        ],
    );
}

#[test]
fn python() {
    sound(
        "a.py",
        &[
            "match a:\n    case [1, *_]: pass\n",
            "def f():\n    x = 1\n    def g():\n        nonlocal x\n        x = 2\n",
            "type A[T] = list[T]",
            "async def f():\n    return [await a async for a in b()]",
            "f'{a!r:>{b}} {'c'}'",
            "# -*- coding: latin-1 -*-\na = 1",
            "def f():\n    x = [y for y in (yield 1)]",
            "class A:\n    def f(self):\n        nonlocal __class__",
            "try:\n    pass\nexcept* A:\n    pass",
            "try:\n    pass\nexcept A:\n    pass\nexcept:\n    pass",
        ],
    );
    broken(
        "a.py",
        &[
            ("def f(:\n    pass", (1, 7)),
            ("a = 1\n  b = 2", (2, 1)),
            ("return 1", (1, 1)),
            ("def f():\n    yield 1\nyield 2", (3, 1)),
            ("class A:\n    return 1", (2, 5)),
            ("def f(a, a): pass", (1, 10)),
            ("break", (1, 1)),
            ("for a in b:\n    def f():\n        continue", (3, 9)),
            ("nonlocal a", (1, 1)),
            ("def f():\n    nonlocal a", (2, 14)),
            ("def f():\n    a = 1\n    global a", (2, 5)),
            ("def f():\n    await a", (2, 5)),
            ("print 'a'", (1, 7)),
            ("a = 1\nfrom __future__ import annotations", (2, 1)),
            ("f(a=1, a=2)", (1, 8)),
            ("*a = 1", (1, 1)),
            ("None = 1", (1, 1)),
            ("try: pass\nexcept: pass\nexcept A: pass", (2, 1)),
            ("def f():\n    try: pass\n    except: pass\n    except: pass", (3, 5)),
        ],
    );
    let deep = format!("a = {}{}", "(".repeat(201), ")".repeat(201));
    check("a.py", &deep, Some((1, 205)));
    let latin = b"# coding: latin-1\na = '\xe9'\n";
    assert_eq!(syntax("a.py", latin), Some(Syntax::Sound));
    assert!(matches!(syntax("a.py", b"# coding: koi8-r\na = '\xe9'\n"), Some(Syntax::Refused { .. })));
}

#[test]
fn rust() {
    sound(
        "a.rs",
        &[
            "#!/usr/bin/env run\nfn main() {}",
            "#![forbid(unsafe_code)]\nuse a::{b, c as d};\npub(crate) async fn f<'a, const N: usize>(x: &'a [u8; N]) -> u8 { x[0] }",
            "fn f() { let Some(a) = b else { return }; if let Some(c) = a && c > 1 {} }",
            "unsafe extern \"C\" { safe fn f(); }",
            "fn f() -> impl Sized + use<> { c\"a\"; async || 1; &raw const x }",
            "macro_rules! a { ($b:tt) => { $b } }",
            "trait A { fn f(); type B<'a> where Self: 'a; }",
        ],
    );
    broken(
        "a.rs",
        &[
            ("fn f() {\n    let a = ;\n}", (2, 13)),
            ("fn f( {}", (1, 5)),
            ("struct A { b: }", (1, 15)),
            ("fn f() {", (1, 8)),
            ("let a = 1;", (1, 1)),
        ],
    );
}

/// What gofmt takes, and where it does not; compared in the corpus.
#[test]
fn go() {
    sound(
        "a.go",
        &[
            "// a\npackage a\n\nimport \"b\"\n\nfunc F[T any](x T) (T, error) { return x, nil }\n",
            "package a",
            "package a\ntype T struct {\n\tA int\n}",
            "package a\ntype I interface {\n\tM()\n}",
            "package a\nconst (\n\tA = iota\n\tB\n)",
            "package a\nconst ( A = 1 )\n",
            "package a\nconst ( A = ')'; B = \"(\\\")\" /* ) */ )\n",
            "package a\nvar ( a = f(1); b = `\n)` )\n",
            "package a\nimport ( \"a\"; \"b\" )\ntype ( A int; B string )\ntype J interface { M(); N() }",
            "package a\ntype T struct\n{\n\tA int\n}\n",
            "package a\nfunc f() {\n\tx := []int{\n\t\t1, // one\n\t\t2,\n\t}\n\tg(1,\n\t\tx...,\n\t)\n}\n",
            "package a\nfunc f() {\nL:\n\tfor {\n\t\tbreak L\n\t}\n\tswitch x {\n\tcase 1:\n\t\ta()\n\t\tb()\n\tdefault:\n\t}\n}",
            "package a\nvar x = 1 +\n\t2\nvar y = f(func() {\n\ta()\n}, struct{\n\tA int\n}{1})",
        ],
    );
    broken(
        "a.go",
        &[
            ("package a\n\nfunc f() {\n\tx :=\n}\n", (4, 6)),
            ("func f() {}", (1, 1)),
            ("", (1, 1)),
            ("package a\nfunc f() {}\nimport \"b\"", (3, 1)),
            ("package a\nx := 1", (2, 1)),
            ("package a\nvar x = []int{\n\t1,\n\t2\n}\n", (4, 3)),
            ("package a\nvar x = map[string][]int{\n\t\"a\": {1}\n}", (3, 10)),
            ("package a\nvar x = f(1,\n\t2 // two\n)\n", (3, 3)),
            ("package a\nfunc f(a int,\n\tb int\n) {}\n", (3, 7)),
            ("package a\nfunc f() {\n\tif x\n\t{\n\t}\n}\n", (3, 6)),
            ("package a\nconst ( A = 1 )\nvar ( b = [2]int{1, 2\n} )\n", (3, 22)),
        ],
    );
}

#[test]
fn json() {
    sound(
        "a.json",
        &["{}", "[]", " 1 ", "\"\\u00e9\\n\"", "{\"a\":[1,-0.5e+3,true,false,null,{\"a\":\"\"}]}"],
    );
    broken(
        "a.json",
        &[
            ("", (1, 1)),
            ("{\n  \"a\": 1,\n}", (3, 1)),
            ("[1,]", (1, 4)),
            ("{'a': 1}", (1, 2)),
            ("{\"a\": 01}", (1, 8)),
            ("[1] 2", (1, 5)),
            ("\"a\nb\"", (1, 3)),
            ("// a\n1", (1, 1)),
            ("nul", (1, 1)),
            ("nullx", (1, 1)),
            ("[", (1, 2)),
            ("{\"a\" 1}", (1, 6)),
            ("\"\\x\"", (1, 2)),
            ("1.", (1, 3)),
        ],
    );
    sound("tsconfig.json", &["{ // a\n \"a\": [1, /* b */ 2,],\n}"]);
    sound(".vscode/settings.json", &["// a\n{}"]);
    broken("tsconfig.json", &[("{,}", (1, 2)), ("{} /*", (1, 4))]);
}

#[test]
fn toml_and_yaml() {
    sound("a.toml", &["a = 1\n[b.c]\nd = [1, 2,]\n[[e]]\nf = 2026-01-01T00:00:00Z\n"]);
    broken("a.toml", &[("a = 1\na = 2", (2, 1)), ("a = \n", (1, 5)), ("[a]\n[a]", (2, 2))]);
    sound(
        "a.yaml",
        &[
            "a: 1\n---\nb: [1, {c: d}]\n...\n",
            "- &a b\n- *a\n- !!str 1\n- |\n  text\n",
            "%YAML 1.2\n---\na\n",
            "on:\n  push: {}\n",
        ],
    );
    sound("a.yml", &["a: b"]);
    broken(
        "a.yaml",
        &[("a: [1\nb: 2", (2, 2)), ("- *a", (1, 3)), ("a: b: c", (1, 5)), ("a:\n\t- b", (2, 2))],
    );
}
