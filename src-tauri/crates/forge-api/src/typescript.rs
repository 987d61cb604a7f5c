//! The TypeScript side of the contract, generated from the table.

use std::fmt::Write as _;

use specta::Types;
use specta_typescript::{Typescript, primitives};

use crate::{ChangeBatch, operations};

/// Why it cannot be generated.
#[derive(Debug, thiserror::Error)]
#[error("failed to write TypeScript for {what}: {source}")]
pub struct TypescriptError {
    what: String,
    source: specta_typescript::Error,
}

/// The content of `ui/src/api/generated.ts`.
///
/// # Errors
/// When a type has no TypeScript form.
pub fn generate() -> Result<String, TypescriptError> {
    let mut types = Types::default().register::<ChangeBatch>();
    let mut rows = Vec::new();
    for operation in operations() {
        let (input, output) = (operation.types)(&mut types);
        rows.push((operation, input, output));
    }
    let whole = |source| TypescriptError { what: "the contract's types".to_owned(), source };
    let exporter = Typescript::default();
    let mut text = exporter.export(&types, specta_serde::Format).map_err(whole)?;
    text.push_str("\n/** Every operation of the contract: what it takes and what it answers. */\nexport interface Operations {\n");
    for (operation, input, output) in &rows {
        let render = |data| {
            primitives::reference(&exporter, &types, data)
                .map_err(|source| TypescriptError { what: operation.name.to_owned(), source })
        };
        let _ = writeln!(text, "  /** {} */", operation.summary);
        let _ = writeln!(
            text,
            "  {}: {{ input: {}; output: {} }};",
            operation.name,
            render(input)?,
            render(output)?
        );
    }
    text.push_str("}\n\n/** The cache tags that an answer carries. */\nexport const tags: { readonly [Op in keyof Operations]?: (input: Operations[Op][\"input\"]) => readonly string[] } = {\n");
    for (operation, _, _) in &rows {
        if operation.provides.is_empty() {
            continue;
        }
        let uses_input = operation.provides.iter().any(|tag| tag.contains('{'));
        let list: Vec<String> = operation
            .provides
            .iter()
            .map(|tag| {
                if tag.contains('{') {
                    format!("`{}`", tag.replace('{', "${input."))
                } else {
                    format!("\"{tag}\"")
                }
            })
            .collect();
        let argument = if uses_input { "input" } else { "" };
        let _ = writeln!(text, "  {}: ({argument}) => [{}],", operation.name, list.join(", "));
    }
    text.push_str("};\n");
    Ok(text)
}
