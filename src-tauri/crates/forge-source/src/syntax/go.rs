//! Go, by its tree-sitter grammar, and by the order of a file's parts that the grammar does not hold.

use tree_sitter::{Node, Parser};

use super::{Syntax, SyntaxError};

pub(super) fn check(text: &str) -> Syntax {
    let mut parser = Parser::new();
    if let Err(error) = parser.set_language(&tree_sitter_go::LANGUAGE.into()) {
        return Syntax::Refused { reason: format!("the grammar of Go cannot be used: {error}") };
    }
    let Some(tree) = parser.parse(text, None) else {
        return Syntax::Refused { reason: "the parser of Go gave no answer".to_owned() };
    };
    let root = tree.root_node();
    if root.has_error() {
        let (offset, message) = first_error(root, text);
        return Syntax::Broken(SyntaxError::at(text, offset, message));
    }
    match out_of_order(root) {
        Some((offset, message)) => Syntax::Broken(SyntaxError::at(text, offset, message)),
        None => Syntax::Sound,
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
