use proptest::prelude::*;
use serde_json::json;

use super::*;

const PEM: &str = "-----BEGIN RSA PRIVATE KEY-----\nMIIEowIBAAKCAQEAx1Zp0aQWc4m7ZbFz0Vb2Q1cN5d8Jp3Yh\nq7T9sLw2Xk4R6uVtEo1Ga8Ns5Bd3\nZZ==\n-----END RSA PRIVATE KEY-----";
const JWT: &str = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.SflKxwRJSMeKKF2QT4fwpMeJf36POk6yJV_adQssw5c";

/// A secret of each format, with what is left of it.
fn of_formats() -> Vec<(String, &'static str)> {
    let body = |length: usize| "aB3dE5gH7jK9".chars().cycle().take(length).collect::<String>();
    let capitals: String = "AB3DE5GH7JK9".chars().cycle().take(16).collect();
    let mut all: Vec<_> = ["ghp_", "gho_", "ghs_", "ghu_"]
        .map(|prefix| (format!("{prefix}{}", body(36)), "[redacted: GITHUB_TOKEN]"))
        .into();
    all.extend([
        (format!("github_pat_{}_{}", body(22), body(59)), "[redacted: GITHUB_TOKEN]"),
        (format!("glpat-{}", body(20)), "[redacted: GITLAB_TOKEN]"),
        (format!("sk-{}", body(48)), "[redacted: OPENAI_API_KEY]"),
        (format!("sk-proj-{}-{}", body(40), body(40)), "[redacted: OPENAI_API_KEY]"),
        (format!("sk-ant-api03-{}", body(90)), "[redacted: ANTHROPIC_API_KEY]"),
        (format!("AIza{}", body(35)), "[redacted: GOOGLE_API_KEY]"),
        (format!("AKIA{capitals}"), "[redacted: AWS_ACCESS_KEY_ID]"),
        (format!("ASIA{capitals}"), "[redacted: AWS_ACCESS_KEY_ID]"),
        (format!("xoxb-12345-{}", body(24)), "[redacted: SLACK_TOKEN]"),
        (format!("npm_{}", body(36)), "[redacted: NPM_TOKEN]"),
        (format!("pypi-AgEIcHlwaS5vcmc{}", body(60)), "[redacted: PYPI_TOKEN]"),
        (JWT.to_owned(), "[redacted: JWT]"),
        (format!("{JWT}.{}.{}", body(60), body(22)), "[redacted: JWT]"),
        (format!("eyJhbGciOiJkaXIifQ..{}.{}.{}", body(16), body(40), body(22)), "[redacted: JWT]"),
        (format!("xoxc-12345-{}", body(24)), "[redacted: SLACK_TOKEN]"),
        (format!("xoxd-{}%2B{}%3D", body(24), body(24)), "[redacted: SLACK_TOKEN]"),
        (format!("1//0g{}-{}", body(40), body(40)), "[redacted: GOOGLE_REFRESH_TOKEN]"),
    ]);
    let of_gitlab = ["glsoat-", "glft-", "glimt-", "glagent-", "gloas-"];
    all.extend(of_gitlab.map(|prefix| (format!("{prefix}{}", body(20)), "[redacted: GITLAB_TOKEN]")));
    all
}

fn secret(name: &str, value: &str) -> Secret {
    Secret { name: name.to_owned(), value: value.to_owned() }
}

fn formats() -> Redactor {
    Redactor::new(&[], &[], &[])
}

fn through_stream(redactor: Redactor, chunks: &[&[u8]]) -> String {
    let mut stream = Arc::new(redactor).stream();
    let mut out: Vec<u8> = Vec::new();
    for chunk in chunks {
        let redacted = stream.push(chunk);
        out.extend_from_slice(&redacted);
    }
    out.extend(stream.finish());
    String::from_utf8(out).expect("text")
}

#[test]
fn secret_of_each_format_is_replaced_by_the_name_of_its_format() {
    for (secret, left) in of_formats() {
        for (before, after) in
            [("", ""), ("key=", "\n"), ("\"", "\","), ("\\n", "\\n"), ("\x1b[31m", "\x1b[0m")]
        {
            let text = format!("{before}{secret}{after}");
            assert_eq!(formats().text(&text), format!("{before}{left}{after}"), "{text}");
        }
    }
}

#[test]
fn secret_key_of_aws_is_found_by_what_it_is_assigned_to() {
    let key = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY";
    for (before, after) in [
        ("aws_secret_access_key = ", "\n"),
        ("export AWS_SECRET_ACCESS_KEY=", ""),
        ("{\"SecretAccessKey\": \"", "\"}"),
        ("{\\\"secretAccessKey\\\":\\\"", "\\\"}"),
        ("aws-secret-access-key: ", "\n"),
        ("\x1b[32mAWS_SECRET_ACCESS_KEY\x1b[0m=\x1b[33m", "\x1b[0m"),
        ("(\"aws_secret_access_key\", \"", "\")"),
        ("<SecretAccessKey>", "</SecretAccessKey>"),
    ] {
        let redacted = formats().text(&format!("{before}{key}{after}")).into_owned();
        assert_eq!(redacted, format!("{before}[redacted: AWS_SECRET_ACCESS_KEY]{after}"));
    }
    assert_eq!(formats().text(key), key, "nothing says that it is a key");
    for (before, name) in [
        ("secret_key=", "SECRET_KEY"),
        ("SECRET_KEY: '", "SECRET_KEY"),
        ("aws_session_token = ", "SESSION_TOKEN"),
        ("\"SessionToken\": \"", "SESSION_TOKEN"),
    ] {
        let redacted = formats().text(&format!("{before}{key}{key}")).into_owned();
        assert_eq!(redacted, format!("{before}[redacted: {name}]"));
    }
}

#[test]
fn password_in_a_url_is_replaced_and_the_rest_of_the_url_stays() {
    for (url, expected) in [
        ("postgres://me:hunter2@db/x", "postgres://me:[redacted: URL_PASSWORD]@db/x"),
        ("https://me:p@ss@host/a@b", "https://me:[redacted: URL_PASSWORD]@host/a@b"),
        ("redis://:secret@host", "redis://:[redacted: URL_PASSWORD]@host"),
        ("\"https:\\/\\/me:pw@host\\/x\"", "\"https:\\/\\/me:[redacted: URL_PASSWORD]@host\\/x\""),
        ("https%3A%2F%2Fme%3Apw%40host", "https%3A%2F%2Fme%3A[redacted: URL_PASSWORD]%40host"),
        ("https://me:%40dmin%3A@host", "https://me:[redacted: URL_PASSWORD]@host"),
        ("https://me:$ecr3t!@host", "https://me:[redacted: URL_PASSWORD]@host"),
        ("https://me:{a[b@host", "https://me:[redacted: URL_PASSWORD]@host"),
    ] {
        assert_eq!(formats().text(url), expected);
    }
}

#[test]
fn text_that_only_resembles_secrets_stays() {
    for text in [
        "https://example.com:8080/a:b@c",
        "ssh://git@example.com/x",
        "https://me:$PASSWORD@host and https://me:***@host",
        "https://me:${PASSWORD}@host, https://me:{password}@host, https://me:%s@host, https://me:[password]@host",
        "secret_key=settings.SECRET_KEY, secretKey: string, session_token = None",
        "risk-assessment-of-the-whole-project-2024-01",
        "task-0198c0de00007000800000000000",
        "class=sk-fading-circle-loading-spinner",
        "npm_config_registry npm_package_version npm_lifecycle_event_with_long_name",
        "pypi-simple-index-of-many-packages",
        "ghp_short",
        "AKIA is a prefix, MAKIAVELLI is a name",
        "eyJ alone, eyJhbGciOiJIUzI1NiJ9 without parts",
        "-----BEGIN CERTIFICATE-----\nMIIE\n-----END CERTIFICATE-----",
        "0198c0de-0000-7000-8000-000000000000 da39a3ee5e6b4b0d3255bfef95601890afd80709",
        "[redacted: GITHUB_TOKEN]",
    ] {
        assert!(matches!(formats().text(text), Cow::Borrowed(same) if same == text), "{text}");
    }
}

#[test]
fn private_key_is_replaced_whole_and_line_ends_stay() {
    let text = format!("before\n{PEM}\nafter\n");
    assert_eq!(formats().text(&text), "before\n[redacted: PRIVATE_KEY]\n\n\n\n\nafter\n");
    let in_json = json!({ "key": PEM }).to_string();
    assert_eq!(formats().text(&in_json), r#"{"key":"[redacted: PRIVATE_KEY]"}"#);
    let with_times: String = PEM.lines().map(|line| format!("12:00 | {line}\n")).collect();
    let redacted = formats().text(&with_times).into_owned();
    assert!(!redacted.contains("MIIE") && !redacted.contains("q7T9"), "{redacted}");
}

/// A key as programs show it, each line behind what stands before it.
fn shown(before: impl Fn(usize) -> String, after: &str) -> String {
    PEM.lines().enumerate().map(|(at, line)| format!("{}{line}{after}\n", before(at + 1))).collect()
}

#[test]
fn private_key_is_found_behind_whatever_its_lines_are_shown_with() {
    let same = |text: &'static str| move |_: usize| text.to_owned();
    for text in [
        shown(same("-"), ""),
        shown(same("+"), ""),
        shown(same("\x1b[31m-"), "\x1b[m"),
        shown(same("\x1b[32m+\x1b[m\x1b[32m"), "\x1b[m"),
        shown(same("# "), ""),
        shown(same("    \""), "\\n\" +"),
        shown(same("    '"), "',"),
        shown(same("web-1  | "), ""),
        shown(|line| format!("{line}:"), ""),
        shown(|line| format!("key.pem-{line}-"), ""),
        shown(|line| format!("     {line}\u{2192}"), ""),
        shown(|line| format!("{line:6}\t"), ""),
        shown(|line| format!("{line} \u{2502} "), ""),
    ] {
        let redacted = formats().text(&format!("{text}after\n")).into_owned();
        for part in ["MIIE", "q7T9", "ZZ=="] {
            assert!(!redacted.contains(part), "{text}\n{redacted}");
        }
        assert!(redacted.ends_with("after\n"), "{redacted}");
        let in_json = json!({ "text": text, "more": "after" }).to_string();
        let redacted = formats().text(&in_json).into_owned();
        assert!(!redacted.contains("MIIE") && !redacted.contains("q7T9"), "{in_json}\n{redacted}");
        let read: Value = serde_json::from_str(&redacted).expect("JSON");
        assert_eq!(read["more"], "after");
    }
}

#[test]
fn headers_of_a_key_belong_to_it() {
    let body = "lQVYBGV0aQwBDADx1Zp0aQWc4m7ZbFz0Vb2Q1cN5d8Jp3Yh";
    for before in ["", "+", "\x1b[31m-", "7:", "  9\t"] {
        let lines = [
            "-----BEGIN PGP PRIVATE KEY BLOCK-----",
            "Version: GnuPG v2",
            "Comment: of nobody",
            "",
            body,
            "=q7T9",
            "-----END PGP PRIVATE KEY BLOCK-----",
        ];
        let text: String = lines.map(|line| format!("{before}{line}\n")).concat();
        let redacted = formats().text(&text).into_owned();
        assert!(!redacted.contains("lQVY") && !redacted.contains("q7T9"), "{redacted}");
    }
}

#[test]
fn lines_of_an_agent_after_the_beginning_of_a_key_stay() {
    let line = json!({ "id": "toolu_01A09q90qw90lq917835lq9", "text": "done" }).to_string();
    let text = format!("{}\n{line}\n", json!({ "text": "-----BEGIN PRIVATE KEY-----\nMIIEowIBAAKC" }));
    let redacted = formats().text(&text).into_owned();
    assert!(!redacted.contains("MIIE") && redacted.ends_with(&format!("{line}\n")), "{redacted}");
}

#[test]
fn text_after_a_key_without_an_end_stays() {
    let text = "-----BEGIN PRIVATE KEY-----\nMIIEowIBAAKCAQEAx1Zp0aQWc4m7Z\nerror: no such file\nmore\n";
    assert_eq!(formats().text(text), "[redacted: PRIVATE_KEY]\n\nerror: no such file\nmore\n");
}

#[test]
fn value_is_replaced_by_the_name_of_its_variable_in_every_form() {
    let value = "p\"4ss/w0rd\\with+more!";
    let redactor = Redactor::new(&[secret("DB_PASSWORD", value)], &[], &[]);
    let json = json!({ "text": value }).to_string();
    let twice = json!({ "line": json }).to_string();
    let url =
        format!("q={}&x=1", percent_encoding::utf8_percent_encode(value, percent_encoding::NON_ALPHANUMERIC));
    for text in [value.to_owned(), json, twice, url] {
        let redacted = redactor.text(&text).into_owned();
        assert!(redacted.contains("[redacted: DB_PASSWORD]"), "{text}: {redacted}");
        assert!(!redacted.contains("4ss") && !redacted.contains("more"), "{text}: {redacted}");
    }
}

#[test]
fn value_is_found_as_shells_and_other_writers_of_json_write_it() {
    let redactor = Redactor::new(&[secret("DB_PASSWORD", "p4ss/$w&rd`'<\"\\>")], &[], &[]);
    for text in [
        r#"declare -x DB_PASSWORD="p4ss/\$w&rd\`'<\"\\>""#,
        r#"export DB_PASSWORD='p4ss/$w&rd`'\''<"\>'"#,
        r#"{"a":"p4ss/$w\u0026rd`'\u003c\"\\\u003e"}"#,
        r#"{"a":"p4ss\/$w&rd`'<\"\\>"}"#,
        "q=p4ss%2f%24w%26rd%60%27%3c%22%5c%3e",
        "q=p4ss%2F%24w%26rd%60'%3C%22%5C%3E",
    ] {
        let redacted = redactor.text(text).into_owned();
        assert!(
            redacted.contains("[redacted: DB_PASSWORD]") && !redacted.contains("p4ss"),
            "{text}: {redacted}"
        );
    }
}

#[test]
fn value_in_base64_is_found_wherever_it_begins() {
    use base64::Engine as _;
    let value = "correct-horse-battery";
    let redactor = Redactor::new(&[secret("TOKEN", value)], &[], &[]);
    for before in ["", "u", "us", "user:"] {
        let encoded = base64::engine::general_purpose::STANDARD.encode(format!("{before}{value}:x"));
        let redacted = redactor.text(&encoded).into_owned();
        assert!(redacted.contains("[redacted: TOKEN]"), "{before}: {encoded}: {redacted}");
    }
}

#[test]
fn parts_of_a_value_with_several_lines_are_found_by_themselves() {
    let redactor = Redactor::new(
        &[
            secret("DEPLOY_KEY", PEM),
            secret(
                "CREDENTIALS",
                "{\n \"id\": \"0123456789abcdef0123456789abcdef\",\n \"type\": \"service_account\"\n}",
            ),
        ],
        &[],
        &[],
    );
    assert_eq!(redactor.text("q7T9sLw2Xk4R6uVtEo1Ga8Ns5Bd3"), "[redacted: DEPLOY_KEY]");
    assert_eq!(redactor.text("id 0123456789abcdef0123456789abcdef"), "id [redacted: CREDENTIALS]");
    assert_eq!(redactor.text("\"type\": \"service_account\""), "\"type\": \"service_account\"");
}

#[test]
fn values_that_are_short_or_common_are_no_secrets() {
    for value in [
        "",
        "true",
        "1",
        "hunter2",
        "12345678",
        "/usr/bin/thing",
        "/home/me/.config/x.json",
        "~/key.json",
        "C:\\keys\\a",
        "file:///key",
        "https://example.com:8080/",
        "$OTHER_TOKEN",
        "${OTHER_TOKEN:-none}",
        "$(cat /run/key)",
        "********",
        "postgres",
        "Password",
    ] {
        assert!(!is_secret_value(value), "{value}");
    }
    for value in [
        "hunter2hunter2",
        "/8fKq+base64==",
        "https://hooks.example.com/services/T0/B0",
        "correct horse",
        "$2b$10$abcdefgh",
    ] {
        assert!(is_secret_value(value), "{value}");
    }
    let redactor = Redactor::new(&[secret("USER_PASSWORD", "someuser")], &["someuser"], &[]);
    assert_eq!(redactor.text("/home/someuser"), "/home/someuser");
}

#[test]
fn short_value_of_letters_is_found_as_a_word_alone() {
    let redactor = Redactor::new(&[secret("DB_PASSWORD", "elephant")], &[], &[]);
    assert_eq!(
        redactor.text("elephants elephant \\nelephant"),
        "elephants [redacted: DB_PASSWORD] \\n[redacted: DB_PASSWORD]"
    );
}

#[test]
fn pattern_of_a_project_is_named_by_its_group_or_its_place() {
    let patterns =
        ["cust-[0-9]+".to_owned(), "session=(?<SESSION>[a-z]+)".to_owned(), "^ID [A-Z_]+$".to_owned()];
    let redactor = Redactor::new(&[], &[], &patterns);
    assert_eq!(
        redactor.text("a cust-12 session=abc;\nID ABC\n"),
        "a [redacted: PATTERN_1] session=[redacted: SESSION];\n[redacted: PATTERN_3]\n"
    );
}

#[test]
fn findings_name_what_is_no_pattern() {
    let patterns = ["fine".to_owned(), "(".to_owned(), "x*".to_owned(), "a".repeat(1001)];
    let found: Vec<_> =
        findings_of_patterns(&patterns, "redact").into_iter().map(|it| (it.path, it.message)).collect();
    let paths: Vec<_> = found.iter().map(|(path, _)| path.as_str()).collect();
    assert_eq!(paths, ["redact[1]", "redact[2]", "redact[3]"]);
    assert_eq!(found[0].1, "is not a regular expression: unclosed group");
}

#[test]
fn every_text_of_json_is_redacted_and_it_stays_json() {
    let token = &of_formats()[0].0;
    let key = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY";
    let value = json!({ "a": [token, 1, { (token.as_str()): "x" }], "aws_secret_access_key": key });
    assert_eq!(
        formats().json(value),
        json!({
            "a": ["[redacted: GITHUB_TOKEN]", 1, { "[redacted: GITHUB_TOKEN]": "x" }],
            "aws_secret_access_key": "[redacted: AWS_SECRET_ACCESS_KEY]",
        })
    );
}

#[test]
fn stream_gives_whole_lines_at_once_and_without_a_copy() {
    let mut stream = Arc::new(formats()).stream();
    assert!(matches!(stream.push(b"one\ntwo\n"), Cow::Borrowed(b"one\ntwo\n")));
    assert_eq!(stream.push(b"three\nfo").as_ref(), b"three\n");
    assert_eq!(stream.push(b"ur").as_ref(), b"");
    assert_eq!(stream.push(b"\n").as_ref(), b"four\n");
    assert_eq!(stream.finish(), b"");
}

#[test]
fn secret_that_is_longer_than_what_is_held_leaves_its_beginning_as_a_placeholder() {
    let long = format!("x {}.{}.{} y", "eyJhbGciOiJIUzI1NiJ9", "eyJzdWIiOiIxMjM0In0", "a".repeat(200_000));
    let chunks: Vec<_> = long.as_bytes().chunks(7_000).collect();
    assert_eq!(through_stream(formats(), &chunks), "x [redacted: JWT] y");
}

#[test]
fn line_without_an_end_is_held_in_bounded_memory_and_stays() {
    let mut stream = Arc::new(formats()).stream();
    let mut out = 0;
    for _ in 0..100 {
        out += stream.push(&[b'a'; 64 * 1024]).len();
        assert!(stream.held_bytes() < 256 * 1024);
    }
    assert_eq!(out + stream.finish().len(), 100 * 64 * 1024);
}

proptest! {
    #[test]
    fn stream_gives_the_same_as_the_whole_wherever_it_is_cut(
        parts in prop::collection::vec(0usize..8, 1..12),
        picks in prop::collection::vec(0usize..16, 12),
        lengths in prop::collection::vec(1usize..60, 1..40),
    ) {
        let secrets = of_formats();
        let mut text = String::new();
        for (part, pick) in parts.iter().zip(picks) {
            match part {
                0 | 1 => text.push_str(&secrets[pick % secrets.len()].0),
                2 => text.push_str(PEM),
                3 => text.push_str("https://me:hunter2@host/"),
                4 => text.push_str("a value: s3cret-value-of-mine"),
                5 => text.push('\n'),
                6 => text.push_str("plain words "),
                _ => text.push_str(" \n "),
            }
        }
        let new = || Redactor::new(&[secret("MINE", "s3cret-value-of-mine")], &[], &[]);
        let mut chunks: Vec<&[u8]> = Vec::new();
        let mut rest = text.as_bytes();
        for length in lengths.into_iter().cycle() {
            if rest.is_empty() { break; }
            let (chunk, more) = rest.split_at(length.min(rest.len()));
            chunks.push(chunk);
            rest = more;
        }
        let whole = new().text(&text).into_owned();
        prop_assert_eq!(&through_stream(new(), &chunks), &whole);
        prop_assert_eq!(whole.matches('\n').count(), text.matches('\n').count());
        prop_assert_eq!(new().text(&whole), whole.as_str(), "redacting twice");
        for leaked in ["s3cret-value", "hunter2", "MIIEow", "aB3dE5gH7jK9aB3d"] {
            prop_assert!(!whole.contains(leaked), "{} in {}", leaked, whole);
        }
    }

    #[test]
    fn arbitrary_text_without_secrets_is_never_changed(text in "[a-z0-9 .:/@\\n{}\"_-]{0,200}") {
        let redactor = formats();
        if !redactor.finds(text.as_bytes()) {
            prop_assert_eq!(redactor.text(&text), text.as_str());
        }
    }
}
