//! Contracts by example: files as `(path, text)`, the exporter first, the importer last.

mod rust;

use forge_source::{Outcome, Texts, contract};

/// `expected` is "pass", "fail a b" with what is missing, or "unknown" with a word of the reason.
fn check(files: &[(&str, &str)], expected: &str) {
    let texts = files.iter().fold(Texts::default(), |texts, (path, text)| texts.with(path, *text));
    let judged = contract(&texts, files[0].0, files[files.len() - 1].0);
    let (result, rest) = expected.split_once(' ').unwrap_or((expected, ""));
    let told = match judged.result {
        Outcome::Pass => "pass".to_owned(),
        Outcome::Fail => format!("fail {}", judged.missing.join(" ")),
        Outcome::Unknown => "unknown".to_owned(),
    };
    let expected = if result == "fail" { format!("fail {rest}") } else { result.to_owned() };
    assert_eq!(told.trim_end(), expected.trim_end(), "{files:?}\n{judged:?}");
    if result == "unknown" {
        let reason = judged.reason.clone().unwrap_or_default();
        assert!(reason.contains(rest), "{files:?}\n{judged:?}");
    }
    assert_eq!(judged.reason.is_none(), judged.result == Outcome::Pass, "{judged:?}");
}

fn pair(exporter: (&str, &str), importer: (&str, &str), expected: &str) {
    check(&[exporter, importer], expected);
}

#[test]
fn es_modules() {
    let exporter =
        ("a.js", "export default 1; export const x = 1; export function y() {} export { z as w }; let z;");
    let cases = [
        ("import { x, y as q, w, default as d } from './a.js'", "pass"),
        ("import d, { x, z } from './a.js'", "fail z"),
        ("import * as a from './a.js'; a.x; a['y']; const { w } = a", "pass"),
        ("import * as a from './a.js'; a.x; a['no']; const { nope } = a", "fail no nope"),
        ("import * as a from './a.js'; a[b]", "unknown computed"),
        ("import * as a from './a.js'; f(a)", "unknown passed on"),
        ("import * as a from './a.js'; f(a); a.no", "fail no"),
        ("import * as a from './a.js'", "unknown uses nothing"),
        ("export * from './a.js'", "pass"),
        ("export * as a from './a.js'", "pass"),
        ("export { x as k, no as l } from './a.js'", "fail no"),
        ("import './a.js'", "pass"),
        ("import {} from './a.js'", "pass"),
        ("import('./a.js').then(({ x, no }) => x)", "fail no"),
        ("import('./a.js').then((m) => m.x)", "pass"),
        ("import('./a.js').then(function (m) { return m.no })", "fail no"),
        ("const m = await import('./a.js'); m.no()", "fail no"),
        ("(await import(`./a.js`)).x", "pass"),
        ("await import('./a.js')", "pass"),
        ("export const l = lazy(() => import('./a.js'))", "unknown passed on"),
        ("import { q } from './b.js'", "unknown imports nothing"),
        ("import(x)", "unknown computed"),
        (
            "// import { no } from './a.js'\nconst s = \"import { no } from './a.js'\"",
            "unknown imports nothing",
        ),
        ("const a = <A.x/>; import * as A from './a.js'", "pass"),
        ("const a = <A.No/>; import * as A from './a.js'", "fail No"),
        ("import a from './a.js?raw'", "unknown imports nothing"),
        ("let m; m = require('./a.js'); m.x", "pass"),
        ("const { default: d, no } = require('./a.js')", "fail no"),
        ("require('./a.js')()", "unknown one value"),
        ("function f(require) { require('./a.js').no }", "unknown imports nothing"),
    ];
    for (importer, expected) in cases {
        pair(exporter, ("b.js", importer), expected);
    }
    pair(("a.js", "x"), ("b.mjs", "import a from './a.js'"), "unknown exports nothing");
    pair(("a.mjs", "x"), ("b.mjs", "import a from './a.mjs'"), "fail default");
    pair(("a.js", "export const 'a b' = 1"), ("b.js", "import { x } from './a.js'"), "unknown syntax error");
    pair(
        ("a.js", "const x = 1; export { x as 'a b' }"),
        ("b.js", "import { 'a b' as y } from './a.js'"),
        "pass",
    );
}

#[test]
fn missing_and_strange_files() {
    let texts = Texts::default().with("a.js", "export const x = 1").with("a.css", "");
    for (exporter, importer, result) in [
        ("a.js", "b.js", Outcome::Fail),
        ("b.js", "a.js", Outcome::Fail),
        ("../a.js", "a.js", Outcome::Fail),
        ("a.js", "a.css", Outcome::Unknown),
        ("a.js", "./a.js", Outcome::Unknown),
    ] {
        let judged = contract(&texts, exporter, importer);
        assert_eq!(judged.result, result, "{exporter} {importer}");
        assert!(judged.reason.is_some());
    }
    let deep = format!("import {{ x }} from './a.js'; {}", "[".repeat(100_000));
    assert_eq!(contract(&texts.with("b.js", deep), "a.js", "b.js").result, Outcome::Unknown);
}

#[test]
fn names_are_followed_through_files() {
    let importer = ("b.js", "import { x, y, n } from './a.js'; n.any");
    let inner = ("c.js", "export const x = 1; export default 2");
    check(
        &[
            (
                "a.js",
                "export * from './c.js'; export { default as y } from './c.js'; export * as n from './c.js'",
            ),
            inner,
            importer,
        ],
        "pass",
    );
    check(
        &[
            ("a.js", "export * from './c.js'; export { z as y } from './c.js'; export const n = 1"),
            inner,
            importer,
        ],
        "fail y",
    );
    check(
        &[
            ("a.js", "import { x, z as y } from './c.js'; export { x, y }; export * as n from './c.js'"),
            inner,
            importer,
        ],
        "fail y",
    );
    check(&[("a.js", "export * from './c.js'"), inner, ("b.js", "import d from './a.js'")], "fail default");
    check(
        &[("a.js", "export * from 'outside'; export const x = 1"), ("b.js", "import { x } from './a.js'")],
        "pass",
    );
    check(&[("a.js", "export * from 'outside'"), ("b.js", "import { x } from './a.js'")], "unknown outside");
    check(&[("a.js", "export { x } from 'outside'"), ("b.js", "import { x } from './a.js'")], "pass");
    check(
        &[("a.js", "export * from './gone.js'"), ("b.js", "import { x } from './a.js'")],
        "unknown does not exist",
    );
    let two =
        [("a.js", "export * from './c.js'; export * from './d.js'"), inner, ("d.js", "export const x = 2")];
    check(&[two[0], two[1], two[2], ("b.js", "import { x } from './a.js'")], "fail x");
    let same = ("d.js", "export { x } from './c.js'");
    check(&[two[0], two[1], same, ("b.js", "import { x } from './a.js'")], "pass");
    check(
        &[
            ("a.js", "export * from './b.js'; export const x = 1"),
            ("b.js", "export * from './a.js'; import { x, q } from './a.js'"),
        ],
        "fail q",
    );
}

#[test]
fn common_js() {
    let importer = |names: &str| format!("const {{ {names} }} = require('./a')");
    let cases = [
        ("module.exports = { x, y: 1, ['z']: 2, w() {} }", "x, y, z, w", "pass"),
        ("module.exports = { x }", "x, no", "fail no"),
        ("exports.x = exports.y = 1; module.exports.z = 1; exports['w'] = 1", "x, y, z, w", "pass"),
        ("exports[k] = 1", "x", "unknown computed name"),
        ("exports[k] = 1; exports.x = 1", "x", "pass"),
        ("module.exports = make()", "x", "unknown result of a call"),
        ("const api = module.exports = {}; api.x = 1", "x, no", "fail no"),
        ("function f() {} f.x = 1; module.exports = f", "x, call, no", "fail no"),
        ("const o = { x: 1 }; o.y = 2; module.exports = o", "x, y, no", "fail no"),
        ("const o = {}; fill(o); module.exports = o", "x", "unknown passed to a function"),
        ("class A { static x() {} } module.exports = A", "x, no", "fail no"),
        ("class A extends B {} module.exports = A", "x", "unknown inherits"),
        ("module.exports = { ...require('./c'), x: 1 }", "x, c, no", "fail no"),
        ("module.exports = require('./c')", "c, no", "fail no"),
        ("module.exports = { ...other() }", "x", "unknown call"),
        ("Object.assign(exports, { x: 1 }, require('./c'))", "x, c, no", "fail no"),
        ("Object.defineProperty(exports, 'x', { get() {} })", "x, no", "fail no"),
        ("__exportStar(require('./c'), exports)", "c, no", "fail no"),
        ("fill(exports)", "x", "unknown passed to a function"),
        ("if (a) { exports.x = 1 } else { module.exports = { y: 1 } }", "x, y", "pass"),
        ("typeof module !== 'undefined' && (module.exports = { x: 1 })", "x, no", "fail no"),
        ("(function (root, make) { make(exports) })(this, function (e) { e.x = 1 })", "x", "unknown passed"),
        ("module.exports = Object.freeze({ x: 1 })", "x, no", "fail no"),
        ("exports = { x: 1 }", "x", "fail x"),
        ("function g(exports) { exports.x = 1 }", "x", "fail x"),
        ("({ a: exports.x } = b)", "x", "pass"),
    ];
    for (exporter, names, expected) in cases {
        check(&[("a.js", exporter), ("c.js", "exports.c = 1"), ("b.js", &importer(names))], expected);
    }
    let function = ("a.cjs", "module.exports = function () {}");
    pair(function, ("b.cjs", "const a = require('./a.cjs'); new a()"), "pass");
    pair(function, ("b.mjs", "import a from './a.cjs'"), "pass");
    pair(("a.cjs", "exports.x = 1"), ("b.mjs", "import { x, no } from './a.cjs'"), "fail no");
    pair(("a.cjs", "exports.x = 1"), ("b.cjs", "const a = require('./a.cjs'); a()"), "unknown one value");
    pair(("a.cjs", "exports.x = 1"), ("b.cjs", "require('./a.cjs')"), "pass");
    pair(("a.cjs", "exports.x = 1"), ("b.cjs", "module.exports = require('./a.cjs')"), "pass");
    pair(("a.cjs", "exports.x = 1"), ("b.cjs", "require(name)"), "unknown computed");
}

#[test]
fn typescript() {
    let exporter = (
        "a.ts",
        "export interface I {} export type T = 1; export enum E {} export namespace N {} export class C {} \
        export declare const d: 1; export default interface D {} type L = 1; export { L }; export type { M } from 'm'",
    );
    pair(
        exporter,
        (
            "b.ts",
            "import type { I, T, L } from './a'; import { E, N, C, d, type M } from './a'; import D from './a'",
        ),
        "pass",
    );
    pair(exporter, ("b.ts", "let x: import('./a').T; type Y = typeof import('./a')"), "unknown whole");
    pair(exporter, ("b.ts", "let x: import('./a').Nope.More"), "fail Nope");
    pair(exporter, ("b.ts", "import * as a from './a'; let x: a.I; let y: a.Nope"), "fail Nope");
    pair(exporter, ("b.js", "import { I, C } from './a'"), "fail I");
    pair(exporter, ("b.ts", "import { C } from './a.js'"), "pass");
    pair(("a.ts", "function f() {} export = f"), ("b.ts", "import f = require('./a'); f()"), "pass");
    pair(
        ("a.d.ts", "export const x: 1; declare function y(): void; interface Z {}"),
        ("b.ts", "import { x, y, Z, no } from './a'"),
        "fail no",
    );
    pair(
        ("a.d.ts", "export const x: 1; declare function y(): void; export {}"),
        ("b.ts", "import { x, y } from './a'"),
        "fail y",
    );
    check(
        &[
            ("a.d.ts", "export const x: 1"),
            ("a.js", "export const x = 1"),
            ("b.ts", "import { x, y } from './a'"),
        ],
        "fail y",
    );
    check(
        &[
            ("a.js", "export const x = 1"),
            ("a.d.ts", "export const x: 1"),
            ("b.ts", "import { x } from './a.js'"),
        ],
        "pass",
    );
    pair(
        ("a.tsx", "export const A = () => <b/>"),
        ("b.tsx", "import * as All from './a'; <All.A/>; <All.B/>"),
        "fail B",
    );
}

#[test]
fn paths_find_their_files() {
    let exporter = |path| (path, "export const x = 1");
    let asks = |path, specifier: &str| (path, format!("import {{ no }} from '{specifier}'"));
    let cases = [
        ("src/a/index.ts", "src/b.ts", "./a", None),
        ("src/a/index.ts", "src/a/c/b.ts", "..", None),
        ("src/a.ts", "src/b/c.ts", "../a", None),
        (
            "src/a.ts",
            "src/b.ts",
            "@/a",
            Some((
                "tsconfig.json",
                "{ // c\n \"compilerOptions\": { \"paths\": { \"@/*\": [\"./src/*\"], }, } }",
            )),
        ),
        ("src/a.ts", "src/b.ts", "a", Some(("tsconfig.json", "{\"compilerOptions\":{\"baseUrl\":\"src\"}}"))),
        (
            "app/src/a.ts",
            "app/src/b.ts",
            "~a",
            Some((
                "app/tsconfig.json",
                "{\"extends\":\"./base.json\",\"compilerOptions\":{\"baseUrl\":\".\",\"paths\":{\"~a\":[\"src/a.ts\"]}}}",
            )),
        ),
        (
            "src/a.js",
            "test/b.js",
            "pkg",
            Some(("package.json", "{\"name\":\"pkg\",\"main\":\"./src/a.js\"}")),
        ),
        (
            "src/a.js",
            "test/b.js",
            "pkg",
            Some(("package.json", "{\"name\":\"pkg\",\"exports\":{\"import\":\"./src/a.js\"}}")),
        ),
        (
            "src/a.js",
            "test/b.js",
            "pkg/in/a",
            Some((
                "package.json",
                "{\"name\":\"pkg\",\"exports\":{\".\":\"./x.js\",\"./in/*\":{\"default\":\"./src/*.js\"}}}",
            )),
        ),
        ("src/a.js", "test/b.js", "#a", Some(("package.json", "{\"imports\":{\"#a\":\"./src/a.js\"}}"))),
        (
            "packages/a/src/a.js",
            "packages/b/b.js",
            "@s/a/src/a",
            Some(("packages/a/package.json", "{\"name\":\"@s/a\"}")),
        ),
        ("lib/a.mjs", "b.js", "./lib", Some(("lib/package.json", "{\"module\":\"a.mjs\"}"))),
    ];
    for (path, importer, specifier, more) in cases {
        let (importer, text) = asks(importer, specifier);
        let mut files = vec![exporter(path)];
        files.extend(more);
        files.push((importer, &text));
        check(&files, "fail no");
    }
    pair(("a.ts", "export const x = 1"), ("b.ts", "import { no } from 'a'"), "unknown imports nothing");
}

#[test]
fn python() {
    let exporter = (
        "p/a.py",
        "import os, sys as s\nfrom q import r as t\nx, (y, *z) = 1, (2, 3)\ndef f(): pass\nclass C:\n    inner = 1\n\
        if x:\n    c = 1\nelse:\n    e = 1\ntry:\n    import j\nexcept E as g:\n    j = None\nfor i in x: pass\nwith x as w: pass\n\
        u: int\nv: int = 1\n[k for k in x if (n := k)]\nmatch x:\n    case {'a': m1, **m2}: pass\ndef h():\n    global made\n    made = 1\n\
        gone = 1\ndel gone\n",
    );
    let cases = [
        ("from p.a import os, s, t, x, y, z, f, C, c, e, j, i, w, v, n, m1, m2, __name__", "pass"),
        ("from p.a import made", "unknown never run"),
        ("from .a import x as renamed", "pass"),
        ("from . import a\na.x; a.no", "fail no"),
        ("from p import a\na.f()", "pass"),
        ("import p.a\np.a.x\np.a.nope", "fail nope"),
        ("import p.a as q\nq.nope", "fail nope"),
        ("import p.a as q\nuse(q)", "unknown passed on"),
        ("import p.a", "pass"),
        ("from p.a import *", "pass"),
        ("from .a import inner, u, k, g, gone, sys", "fail g gone inner k sys u"),
        ("from q import x", "unknown imports nothing"),
        ("from ..a import x", "unknown imports nothing"),
        ("# from .a import no", "unknown imports nothing"),
        ("def f():\n    from .a import no", "fail no"),
        ("if x:\n    from p.a import (\n  x,\n  no,\n)", "fail no"),
    ];
    for (importer, expected) in cases {
        check(&[exporter, ("p/__init__.py", ""), ("p/b.py", importer)], expected);
    }
    let importer = ("b.py", "from a import x");
    let open = [
        ("globals()['x'] = 1", "unknown at run time"),
        ("def __getattr__(name): pass", "unknown __getattr__"),
        ("exec(code)", "unknown executes generated code"),
        ("from outside import *", "unknown outside"),
        ("def x(:", "unknown syntax error"),
        ("if TYPE_CHECKING:\n    from c import x", "fail x"),
        ("if TYPE_CHECKING:\n    from c import x\nelse:\n    x = 1", "pass"),
    ];
    for (exporter, expected) in open {
        pair(("a.py", exporter), importer, expected);
    }
    pair(
        ("a.py", "if TYPE_CHECKING:\n    from c import x"),
        ("b.py", "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from a import x"),
        "pass",
    );
}

#[test]
fn python_packages_and_stars() {
    let package = [
        ("p/__init__.py", "from .c import *\nfrom .d import *\n__version__ = '1'"),
        ("p/c.py", "__all__ = ['x', '_y']\nx = _y = z = 1"),
        ("p/d.py", "w = _v = 1"),
    ];
    let all = |importer| [package[0], package[1], package[2], ("t.py", importer)];
    check(&all("from p import x, _y, w, c, d, __version__"), "pass");
    check(&all("from p import z, _v, e"), "fail _v e z");
    let all = ("a.py", "__all__ = ['x']\n__all__ += ['y']\n__all__.extend(['z'])\nx = y = 1");
    pair(all, ("b.py", "from a import *"), "fail z");
    pair(all, ("b.py", "from a import x"), "pass");
    check(
        &[("src/p/a.py", "x = 1"), ("src/p/__init__.py", ""), ("tests/t.py", "from p.a import no")],
        "fail no",
    );
    check(
        &[("utils.py", "x = 1"), ("m/utils.py", "y = 1"), ("m/b.py", "from utils import y")],
        "unknown imports nothing",
    );
    check(&[("m/utils.py", "y = 1"), ("utils.py", "x = 1"), ("m/b.py", "from utils import y")], "pass");
    check(
        &[("p/s/__init__.py", "x = 1"), ("p/__init__.py", ""), ("p/b.py", "from .s import x, no")],
        "fail no",
    );
}
