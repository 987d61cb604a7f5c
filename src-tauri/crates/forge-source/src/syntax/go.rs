//! Go, by its tree-sitter grammar, and by what the grammar does not hold: the order of a file's parts, and the
//! line ends that end a statement where none may end.
//!
//! The grammar wants a line end where the language does not: behind the last declaration of a file, and before
//! the `)` of a group. It is given one there, and places are told in the text as it was.

use tree_sitter::{Node, Parser, TreeCursor};

use super::verdict::{Syntax, SyntaxError};

pub(super) fn check(text: &str) -> Syntax {
    let mut parser = Parser::new();
    if let Err(error) = parser.set_language(&tree_sitter_go::LANGUAGE.into()) {
        return Syntax::Refused { reason: format!("could not load the Go grammar: {error}") };
    }
    let ended = LineEnds::given(text);
    let Some(tree) = parser.parse(&ended.text, None) else {
        return Syntax::Refused { reason: "the Go parser returned no tree".to_owned() };
    };
    let root = tree.root_node();
    let found = if root.has_error() {
        Some(first_error(root, &ended.text))
    } else {
        out_of_order(root).or_else(|| ended_early(root, &ended.text))
    };
    match found {
        Some((offset, message)) => Syntax::Broken(SyntaxError::at(text, ended.original(offset), message)),
        None => Syntax::Sound,
    }
}

/// A text with the line ends that the grammar wants.
struct LineEnds {
    text: String,
    /// Where they were put, in the text as it was.
    places: Vec<usize>,
    /// How long it was.
    length: usize,
}

impl LineEnds {
    fn given(text: &str) -> Self {
        let mut places = group_ends(text.as_bytes());
        places.push(text.len());
        let (mut ended, mut from) = (String::with_capacity(text.len() + places.len()), 0);
        for place in &places {
            // Only ends of ASCII tokens are places.
            ended.push_str(text.get(from..*place).unwrap_or_default());
            ended.push('\n');
            from = *place;
        }
        Self { text: ended, places, length: text.len() }
    }

    fn original(&self, offset: usize) -> usize {
        let before = self.places.iter().enumerate().filter(|(at, place)| **place + *at < offset).count();
        (offset - before).min(self.length)
    }
}

/// Where the `)` of every `const (` and `var (` stands.
fn group_ends(text: &[u8]) -> Vec<usize> {
    let (mut at, mut groups, mut ends) = (0, Vec::new(), Vec::new());
    // Whether the last token was one of the words that a group follows.
    let mut announced = false;
    while let Some(byte) = text.get(at) {
        let end = token_end(text, at);
        match byte {
            b'(' => groups.push(announced),
            b')' if groups.pop() == Some(true) => ends.push(at),
            _ => {}
        }
        let comment = text[at..end].starts_with(b"//") || text[at..end].starts_with(b"/*");
        if !byte.is_ascii_whitespace() && !comment {
            announced = matches!(&text[at..end], b"const" | b"var");
        }
        at = end;
    }
    ends
}

/// The end of a word, a literal or a comment; of anything else, the next byte.
fn token_end(text: &[u8], at: usize) -> usize {
    let is_word = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_' || !byte.is_ascii();
    let rest = &text[at..];
    let length = match rest {
        [b'/', b'/', ..] => rest.iter().position(|byte| *byte == b'\n'),
        [b'/', b'*', ..] => {
            rest.get(2..).and_then(|rest| rest.windows(2).position(|pair| pair == b"*/")).map(|end| end + 4)
        }
        [b'`', inner @ ..] => inner.iter().position(|byte| *byte == b'`').map(|end| end + 2),
        [quote @ (b'"' | b'\''), inner @ ..] => {
            let mut escaped = false;
            let end = inner.iter().position(|byte| {
                let ends = !escaped && (byte == quote || *byte == b'\n');
                escaped = !escaped && *byte == b'\\';
                ends
            });
            end.map(|end| end + 2)
        }
        [first, ..] if is_word(first) => rest.iter().position(|byte| !is_word(byte)),
        _ => Some(1),
    };
    at + length.unwrap_or(rest.len())
}

/// Nodes within which a line's end may end a part.
const LISTS: [&str; 16] = [
    "source_file",
    "block",
    "statement_list",
    "const_declaration",
    "var_spec_list",
    "import_spec_list",
    "type_declaration",
    "field_declaration_list",
    "interface_type",
    "expression_switch_statement",
    "type_switch_statement",
    "select_statement",
    "expression_case",
    "default_case",
    "type_case",
    "communication_case",
];

/// A line's end that the language takes for the end of a statement, amid what is none: `f(1,\n2\n)`.
fn ended_early(root: Node<'_>, text: &str) -> Option<(usize, String)> {
    let mut cursor = root.walk();
    let mut kinds: Vec<&str> = Vec::new();
    // The last token's end, and the innermost node that holds all since, by its depth.
    let mut last: Option<(usize, usize)> = None;
    loop {
        while cursor.goto_first_child() {
            kinds.push(cursor.node().parent().map_or("", |parent| parent.kind()));
        }
        let node = cursor.node();
        let token = &text[node.byte_range()];
        if node.kind() != "comment" && !token.trim().is_empty() {
            if let Some((end, depth)) = last
                && text[end..node.start_byte()].contains('\n')
                && depth.checked_sub(1).and_then(|at| kinds.get(at)).is_some_and(|kind| !LISTS.contains(kind))
            {
                return Some((end, "syntax error: unexpected newline".to_owned()));
            }
            last = ends_statements(node.kind(), token).then_some((node.end_byte(), kinds.len()));
        }
        if !advance(&mut cursor, &mut kinds) {
            return None;
        }
        last = last.map(|(end, depth)| (end, depth.min(kinds.len())));
    }
}

fn advance(cursor: &mut TreeCursor<'_>, kinds: &mut Vec<&str>) -> bool {
    while !cursor.goto_next_sibling() {
        if !cursor.goto_parent() {
            return false;
        }
        kinds.pop();
    }
    true
}

/// Whether a line's end behind a token is a semicolon.
fn ends_statements(kind: &str, token: &str) -> bool {
    match kind {
        "break" | "continue" | "fallthrough" | "return" | "++" | "--" | ")" | "]" | "}" | "\"" | "`" => true,
        "nil" | "true" | "false" | "iota" | "_" => true,
        _ if kind.ends_with("identifier") || kind.ends_with("literal") || kind == "label_name" => true,
        // Named types and predeclared names have kinds of their own; words that are none are keywords.
        _ => token.ends_with('\'') || token.ends_with('"'),
    }
}

/// The first node that the grammar had to make up or to skip.
fn first_error(root: Node<'_>, text: &str) -> (usize, String) {
    let mut cursor = root.walk();
    loop {
        let node = cursor.node();
        if node.is_missing() {
            return (node.start_byte(), format!("syntax error: {} is missing", node.kind()));
        }
        if node.is_error() {
            let near: String =
                text[node.start_byte()..].chars().take_while(|c| *c != '\n').take(40).collect();
            return (node.start_byte(), format!("syntax error near {near:?}"));
        }
        if node.has_error() && cursor.goto_first_child() {
            continue;
        }
        while !cursor.goto_next_sibling() {
            if !cursor.goto_parent() {
                return (root.start_byte(), "syntax error".to_owned());
            }
        }
    }
}

/// A file is its package's name, then imports, then declarations; the grammar takes statements anywhere.
fn out_of_order(root: Node<'_>) -> Option<(usize, String)> {
    let mut cursor = root.walk();
    let (mut named, mut declared) = (false, false);
    for part in root.children(&mut cursor).filter(Node::is_named) {
        let message = match part.kind() {
            "comment" => continue,
            "package_clause" if !named => {
                named = true;
                continue;
            }
            "package_clause" => "the package is named twice",
            _ if !named => "expected 'package'",
            "import_declaration" if !declared => continue,
            "import_declaration" => "imports must appear before other declarations",
            "function_declaration"
            | "method_declaration"
            | "const_declaration"
            | "var_declaration"
            | "type_declaration" => {
                declared = true;
                continue;
            }
            _ => "non-declaration statement outside function body",
        };
        return Some((part.start_byte(), message.to_owned()));
    }
    (!named).then(|| (root.end_byte(), "expected 'package'".to_owned()))
}
