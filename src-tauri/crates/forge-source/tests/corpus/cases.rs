//! Small scripts whose contract a reader may get wrong; where Node can say, it is asked.
use std::fs;

use super::common::{node, node_modules};
use forge_source::{Folder, Outcome, contract};
use serde_json::json;

/// What `a.cjs` exports, what `b.cjs` takes of it, and what is to be said: "pass", "fail" with what is missing, or
/// "unknown" with words of the reason.
const COMMON: &[(&str, &str, &str)] = &[
    // Values have the names of their kind.
    ("module.exports = ['q']", "a.length; a.map(f); a.forEach(f)", "pass"),
    ("module.exports = ['q']", "a.nope()", "unknown exported value may have it"),
    ("module.exports = 'q'", "a.trim(); a.length", "pass"),
    ("module.exports = `q`", "a.nope", "unknown exported value may have it"),
    ("module.exports = 12", "a.toFixed(2)", "pass"),
    ("module.exports = /q/", "a.test('q'); a.source", "pass"),
    ("module.exports = function () {}", "a.call(null); a.name; a.prototype; a.toString()", "pass"),
    ("module.exports = () => 1", "a.bind(null); a.prototype", "fail prototype"),
    ("module.exports = async function () {}", "a.prototype", "fail prototype"),
    ("class A {} module.exports = A", "a.name; a.nope", "fail nope"),
    ("module.exports = { b: 1 }", "a.name; a.length; a.bind", "fail bind length name"),
    ("exports.b = 1", "a.call; a.toString(); a.hasOwnProperty('b')", "fail call"),
    ("const list = []; module.exports = list", "a.push(1)", "pass"),
    ("module.exports = Object.freeze(['q'])", "a.join()", "pass"),
    ("module.exports = c ? {} : function () {}", "a.bind", "unknown exported value may have it"),
    ("module.exports = null", "a.toString", "fail toString"),
    ("module.exports = require('./c.cjs')", "a.call; a.c", "fail call"),
    // The last object counts.
    ("exports.a = 1; module.exports = { b: 1 }", "a.a; a.b", "fail a"),
    ("module.exports = { b: 1 }; exports.a = 1", "a.a; a.b", "fail a"),
    ("module.exports = { a: 1 }; module.exports = { b: 1 }", "a.a; a.b", "fail a"),
    ("module.exports.a = 1; module.exports = { b: 1 }; module.exports.c = 1", "a.a; a.b; a.c", "fail a"),
    ("exports = module.exports = { b: 1 }; exports.a = 1", "a.a; a.b", "pass"),
    ("module.exports = exports = f; exports.a = 1; function f() {}", "a.a; a.b", "fail b"),
    ("module.exports = { b: 1 }; exports = module.exports; exports.a = 1", "a.a; a.b", "pass"),
    ("exports.a = 1; module.exports = { b: 1, ...exports }", "a.a; a.b", "pass"),
    ("exports.a = 1; module.exports = Object.assign(() => {}, exports)", "a.a; a.no", "fail no"),
    ("const api = exports; api.a = 1; module.exports = Object.assign({}, api)", "a.a; a.no", "fail no"),
    ("exports.a = 1; module.exports = { b: exports.a }", "a.a; a.b", "fail a"),
    ("exports.a = 1; module.exports = exports", "a.a; a.no", "fail no"),
    ("const api = exports; module.exports = api; exports.a = 1", "a.a; a.no", "fail no"),
    ("const api = {}; exports = api; module.exports = api; exports.a = 1", "a.a; a.no", "fail no"),
    ("exports = {}; exports.a = 1", "a.a", "fail a"),
    ("exports.a = 1; if (process) module.exports = { b: 1 }", "a.b", "pass"),
    ("exports.a = 1; if (!process) return; module.exports = { b: 1 }", "a.b", "pass"),
    ("module.exports = A; function A() {} A.b = 1; module.exports.default = A", "a.b; a.default", "pass"),
    ("exports.a = 1; module.exports = make(); function make() { return { b: 1 } }", "a.a", "unknown call"),
    ("var api = module.exports = {}; api.a = 1; exports.b = 1", "a.a; a.b", "fail b"),
    ("(function () { module.exports = { b: 1 } })(); module.exports.a = 1", "a.a; a.b", "pass"),
    ("function set() { module.exports.a = 1 } module.exports = {}; set()", "a.a; a.no", "fail no"),
    ("exports.b = {}; exports.a = 1; module.exports = exports.b", "a.a", "unknown computed"),
    // Names go, too.
    ("exports.a = 1; delete exports.a; exports.b = 1", "a.a; a.b", "fail a"),
    ("const o = { a: 1, b: 1 }; delete o['a']; module.exports = o", "a.a; a.b", "fail a"),
    ("exports.a = 1; delete exports.a; exports.a = 2", "a.a", "pass"),
    ("exports.a = 1; if (process) delete exports.a", "a.a", "unknown deleted"),
    // Where a function may not run, its names may not be there.
    ("function never() { exports.a = 1 } exports.b = 1", "a.a", "unknown may not have run"),
    ("exports.b = 1; exports.init = function () { exports.a = 1 }", "a.b; a.init", "pass"),
    ("function init() { exports.a = 1 } init()", "a.a; a.no", "fail no"),
    ("const init = () => { exports.a = 1 }; function all() { init() } all()", "a.a; a.no", "fail no"),
    ("[1].forEach(() => { exports.a = 1 })", "a.a; a.no", "fail no"),
    ("(() => { exports.a = 1 })(); !function () { exports.b = 1 }()", "a.a; a.b; a.no", "fail no"),
    // Other ways to the same object.
    ("this.a = 1", "a.a; a.no", "fail no"),
    ("(() => { this.a = 1 })()", "a.a; a.no", "fail no"),
    ("(function () { this.a = 1; exports.b = 1 }).call(this)", "a.a; a.b", "pass"),
    ("function A() { this.a = 1 } exports.A = A", "a.a; a.A", "fail a"),
    ("class A { a = this.b } exports.A = A", "a.b; a.A", "fail b"),
    ("var h = (this && this.h) || function () {}; exports.a = h", "a.a; a.no", "fail no"),
    ("this.a = 1; module.exports = { b: 1 }", "a.a; a.b", "fail a"),
    ("eval('exports.a = 1')", "a.a", "unknown as code"),
    ("arguments[0].a = 1", "a.a", "unknown call arguments"),
    ("function f() { return arguments[0] } exports.a = f", "a.a; a.no", "fail no"),
    ("new Fill(exports); function Fill(e) { e.a = 1 }", "a.a", "unknown passed to a function"),
    ("Object.setPrototypeOf(exports, { a: 1 })", "a.a; a.no", "fail no"),
    ("module.exports = {}; Object.setPrototypeOf(module.exports, make())", "a.a", "unknown call"),
    ("exports.__proto__ = { a: 1 }", "a.a", "unknown prototype"),
    ("module.exports = { __proto__: { a: 1 }, b: 1 }", "a.a; a.b; a.no", "fail no"),
    ("module.exports = { __proto__: Math }", "a.min", "unknown global"),
    ("Reflect.defineProperty(exports, 'a', { value: 1 })", "a.a; a.no", "fail no"),
    // What is taken need not be there.
    ("exports.b = 1", "const { zz = 3, b } = a", "pass"),
    ("exports.b = 1", "let zz, b; ({ zz = 3, b } = a)", "pass"),
    ("exports.b = 1", "let x; ({ zz: x = 3 } = a)", "pass"),
    ("exports.b = 1", "if (a.zz) a.b", "unknown tests for zz"),
    ("exports.b = 1", "a.zz?.(); a.b ?? 1", "unknown tests for zz"),
    ("exports.b = 1", "typeof a.zz === 'function' && a.b", "unknown tests for zz"),
    ("exports.b = 1", "if (a.zz) a.no()", "fail no"),
    ("exports.b = 1", "if (a.zz !== undefined) a.b", "unknown tests for zz"),
    ("exports.b = 1", "if (a.zz === 2) a.b", "fail zz"),
    ("exports.b = 1", "a.zz += a.b", "fail zz"),
    ("exports.b = 1", "a.zz = 1; a.zz + a.b", "unknown b.cjs sets"),
    ("exports.b = 1", "a.zz = 1; a.b", "pass"),
];

/// What `a.mjs` exports, what `b.mjs` takes.
const MODULES: &[(&str, &str, &str)] = &[
    ("export { missing }", "import { missing } from './a.mjs'", "fail missing"),
    ("export { missing as x }; export const y = 1", "import { x } from './a.mjs'", "fail x"),
    ("export { missing }; export * from './c.mjs'", "import { missing } from './a.mjs'", "fail missing"),
    ("export { f }; function f() {}", "import { f } from './a.mjs'", "pass"),
    ("export { a as default }; var a", "import a from './a.mjs'", "pass"),
    ("import * as n from './c.mjs'; export { n }", "import { n } from './a.mjs'", "pass"),
    ("import c from './c.mjs'; export { c }", "import { c } from './a.mjs'", "pass"),
    ("import { c } from './c.mjs'; export { c }", "import { c } from './a.mjs'", "fail c"),
    ("export default undeclared", "import d from './a.mjs'", "pass"),
    ("export const x = 1", "import * as a from './a.mjs'; a.y = 1", "fail y"),
    ("export const x = 1", "import * as a from './a.mjs'; const { y = 1, x } = a", "pass"),
    ("export const x = 1", "import * as a from './a.mjs'; a.y ?? a.x", "unknown tests for y"),
];

/// Whether the verdict is the expected one.
fn agrees(judged: &forge_source::Contract, expected: &str) -> bool {
    let (result, rest) = expected.split_once(' ').unwrap_or((expected, ""));
    match judged.result {
        Outcome::Pass => result == "pass",
        Outcome::Fail => result == "fail" && judged.missing.join(" ") == rest,
        Outcome::Unknown => {
            result == "unknown" && judged.reason.as_ref().is_some_and(|reason| reason.contains(rest))
        }
    }
}

fn compare(ask: &str, ending: &str, cases: &[(&str, &str, &str)], before: &str, other: &str) {
    let folder = tempfile::tempdir().unwrap();
    let (mut questions, mut answers, mut differ) = (Vec::new(), Vec::new(), Vec::new());
    for (at, (exporter, importer, expected)) in cases.iter().enumerate() {
        let place = folder.path().join(at.to_string());
        fs::create_dir(&place).unwrap();
        let importer = format!("{before}{importer}");
        for (name, text) in [("a", *exporter), ("b", &importer), ("c", other)] {
            fs::write(place.join(format!("{name}.{ending}")), text).unwrap();
        }
        let files = Folder::new(&place).unwrap();
        let judged = contract(&files, &format!("a.{ending}"), &format!("b.{ending}"));
        if !agrees(&judged, expected) {
            differ.push(format!("{exporter}  <-  {importer}: {expected} expected, {judged:?}"));
        }
        // Node is asked for every name by itself; of those it is not known to have, nothing is said.
        if judged.result != Outcome::Unknown {
            for name in &judged.imported {
                let file = place.join(format!("a.{ending}"));
                questions.push(json!({ "ask": ask, "file": file, "names": [name] }));
                answers.push((!judged.missing.contains(name), format!("{exporter}: {name}")));
            }
        }
    }
    assert!(differ.is_empty(), "{}", differ.join("\n"));
    if node_modules().is_none() {
        return;
    }
    for ((here, told), there) in answers.iter().zip(node(&questions)) {
        // What cannot be loaded at all has no names.
        let there = there.as_bool().unwrap_or(false);
        if *here != there {
            differ.push(format!("{told}: node {there}, here {here}"));
        }
    }
    assert!(differ.is_empty(), "{}", differ.join("\n"));
    assert!(answers.len() >= cases.len() / 2);
}

#[test]
fn node_and_the_contract_agree_on_hard_common_js() {
    compare("require", "cjs", COMMON, "const a = require('./a.cjs'); function f() {}\n", "exports.c = 1");
}

#[test]
fn node_and_the_contract_agree_on_hard_modules() {
    compare("names", "mjs", MODULES, "", "export const missing = 1; export default 1");
}

/// The exporter first, the importer last.
fn judged(files: &[(&str, &str)], expected: &str) {
    let texts =
        files.iter().fold(forge_source::Texts::default(), |texts, (path, text)| texts.with(path, *text));
    let judged = contract(&texts, files[0].0, files[files.len() - 1].0);
    assert!(agrees(&judged, expected), "{files:?}: {expected} expected, {judged:?}");
}

#[test]
fn types_are_no_values() {
    let other = ("c.ts", "export interface T {} export const v = 1; export class K {}");
    let cases = [
        ("export type * from './c'", "fail v"),
        ("export type { v } from './c'", "fail v"),
        ("export { type v } from './c'", "fail v"),
        ("import type { v } from './c'; export { v }", "fail v"),
        ("import { v } from './c'; export type { v }", "fail v"),
        ("import { v } from './c'; export { v }", "pass"),
        ("export * from './c'", "pass"),
    ];
    for (exporter, expected) in cases {
        judged(&[("a.ts", exporter), other, ("b.mjs", "import { v } from './a.ts'")], expected);
        judged(&[("a.ts", exporter), other, ("b.ts", "import { v } from './a'; f(v)")], expected);
        judged(&[("a.ts", exporter), other, ("b.ts", "import { v } from './a'; let x: typeof v")], "pass");
        judged(&[("a.ts", exporter), other, ("b.ts", "import type { v } from './a'")], "pass");
    }
    judged(
        &[
            ("a.ts", "export type { K } from './c'"),
            other,
            ("b.ts", "import { K } from './a'; class L extends K {}"),
        ],
        "fail K",
    );
    judged(
        &[
            ("a.ts", "export interface T {}"),
            ("b.ts", "import { T } from './a'; class L implements T {} export { T }"),
        ],
        "pass",
    );
    let declared = "export declare const d: 1; declare function f(): void; export { f }";
    judged(&[("a.ts", declared), ("b.mjs", "import { d, f } from './a.ts'")], "fail d f");
    judged(&[("a.ts", declared), ("b.ts", "import { d, f } from './a'; f(d)")], "pass");
    judged(&[("a.d.ts", declared), ("b.ts", "import { d, f } from './a'; f(d)")], "pass");
    judged(&[("a.ts", "export { nope }"), ("b.ts", "import { nope } from './a'")], "fail nope");
    judged(
        &[("a.ts", "interface T {} export default T"), ("b.mjs", "import T from './a.ts'")],
        "fail default",
    );
    judged(
        &[
            (
                "a.ts",
                "class K { static z = 1 } namespace K { export const q = 1; export interface I {} } export = K",
            ),
            ("b.ts", "import K = require('./a'); K.z; K.q; let i: K.I; K.no"),
        ],
        "fail no",
    );
}

#[test]
fn conditions_say_which_file_is_meant() {
    let manifest = (
        "package.json",
        "{\"name\":\"me\",\"exports\":{\"types\":\"./t.d.ts\",\"browser\":\"./w.mjs\",\"import\":\"./e.mjs\",\"require\":\"./c.cjs\"}}",
    );
    let (e, c, w) =
        (("e.mjs", "export const x = 1"), ("c.cjs", "exports.y = 1"), ("w.mjs", "export const z = 1"));
    let (import, require) = (("b.mjs", "import { x } from 'me'"), ("b.cjs", "require('me').x"));
    judged(&[e, manifest, c, w, import], "pass");
    judged(&[c, manifest, e, w, import], "unknown imports nothing");
    judged(&[w, manifest, e, c, import], "unknown different files");
    judged(&[c, manifest, e, w, require], "fail x");
    judged(&[e, manifest, c, w, require], "unknown imports nothing");
    judged(&[e, manifest, c, w, ("b.mjs", "import { y } from 'me'")], "fail y");
    // TypeScript may make `require` of it.
    judged(&[c, manifest, e, w, ("b.ts", "import { x } from 'me'")], "unknown different files");
    let inner = ("package.json", "{\"imports\":{\"#d\":{\"node\":\"fs\",\"default\":\"./p.mjs\"}}}");
    judged(
        &[("p.mjs", "export const x = 1"), inner, ("b.mjs", "import { y } from '#d'")],
        "unknown different files",
    );
}

#[test]
fn the_longest_pattern_wins() {
    let config = (
        "tsconfig.json",
        "{\"compilerOptions\":{\"baseUrl\":\".\",\"paths\":{\"@/*\":[\"src/*\"],\"@/lib/*\":[\"lib/*\"],\"@/lib/v\":[\"v.ts\"]}}}",
    );
    let (src, lib) = (("src/lib/u.ts", "export const x = 1"), ("lib/u.ts", "export const y = 1"));
    let importer = ("i.ts", "import { x } from '@/lib/u'");
    judged(&[lib, config, src, importer], "fail x");
    judged(&[src, config, lib, importer], "unknown imports nothing");
    judged(
        &[("v.ts", "export const v = 1"), config, lib, ("i.ts", "import { no } from '@/lib/v'")],
        "fail no",
    );
    let extending =
        ("app/tsconfig.json", "{\"extends\":\"../tsconfig.json\",\"compilerOptions\":{\"strict\":true}}");
    judged(&[lib, config, extending, src, ("app/i.ts", "import { x } from '@/lib/u'")], "fail x");
}
