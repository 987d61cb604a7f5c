//! Modules with `import` and `export`, and what TypeScript adds to them.

use std::collections::BTreeMap;

use oxc_ast::ast::{
    Declaration, ExportDefaultDeclarationKind, ImportDeclarationSpecifier, ImportOrExportKind, Program,
    Statement, TSModuleReference,
};
use oxc_semantic::Semantic;

use super::{
    commonjs,
    module::{Export, Module, Request, Take, Via},
    uses::Uses,
};

/// What the parser does not count: `export =` and `import a = require("b")`.
pub(super) fn has_module_syntax(program: &Program<'_>) -> bool {
    program.body.iter().any(|statement| match statement {
        Statement::TSExportAssignment(_) => true,
        Statement::TSImportEqualsDeclaration(import) => {
            matches!(import.module_reference, TSModuleReference::ExternalModuleReference(_))
        }
        _ => false,
    })
}

pub(super) fn read(module: &mut Module, path: &str, program: &Program<'_>, semantic: &Semantic<'_>) {
    let mut reader = Reader { module, semantic, imports: BTreeMap::new() };
    for statement in &program.body {
        reader.import(statement);
    }
    for statement in &program.body {
        reader.export(statement);
    }
    if [".d.ts", ".d.mts", ".d.cts"].iter().any(|ending| path.ends_with(ending)) {
        reader.implicit(program);
    }
}

struct Reader<'r, 's, 'a> {
    module: &'r mut Module,
    semantic: &'s Semantic<'a>,
    /// Local name to the file and the name there.
    imports: BTreeMap<String, (String, String)>,
}

impl Reader<'_, '_, '_> {
    fn request(&mut self, specifier: &str, takes: impl IntoIterator<Item = Take>) {
        let takes = takes.into_iter().collect();
        self.module.requests.push(Request { specifier: specifier.to_owned(), via: Via::Import, takes });
    }

    fn import(&mut self, statement: &Statement<'_>) {
        match statement {
            Statement::ImportDeclaration(import) => {
                let source = import.source.value.as_str();
                let Some(specifiers) = &import.specifiers else { return self.request(source, [Take::Link]) };
                if specifiers.is_empty() {
                    return self.request(source, [Take::Link]);
                }
                for specifier in specifiers {
                    self.specifier(source, specifier, import.import_kind);
                }
            }
            Statement::TSImportEqualsDeclaration(import) => {
                if let TSModuleReference::ExternalModuleReference(reference) = &import.module_reference {
                    let mut uses = Uses::new(self.semantic);
                    if let Some(symbol) = import.id.symbol_id.get() {
                        uses.symbol(symbol);
                    }
                    let takes = or_nothing(uses);
                    self.module.requests.push(Request {
                        specifier: reference.expression.value.to_string(),
                        via: Via::Require,
                        takes,
                    });
                }
            }
            _ => {}
        }
    }

    fn specifier(
        &mut self,
        source: &str,
        specifier: &ImportDeclarationSpecifier<'_>,
        kind: ImportOrExportKind,
    ) {
        let (name, local, type_only) = match specifier {
            ImportDeclarationSpecifier::ImportSpecifier(one) => {
                (one.imported.name().to_string(), &one.local, kind.is_type() || one.import_kind.is_type())
            }
            ImportDeclarationSpecifier::ImportDefaultSpecifier(one) => {
                ("default".to_owned(), &one.local, kind.is_type())
            }
            ImportDeclarationSpecifier::ImportNamespaceSpecifier(one) => {
                let mut uses = Uses::new(self.semantic);
                if let Some(symbol) = one.local.symbol_id.get() {
                    uses.symbol(symbol);
                }
                let takes = or_nothing(uses);
                return self.request(source, takes);
            }
        };
        self.imports.insert(local.name.to_string(), (source.to_owned(), name.clone()));
        self.request(source, [Take::Name { name, type_only }]);
    }

    fn local(&mut self, name: impl Into<String>, type_only: bool) {
        let export = Export::Local { type_only };
        // A value and a type may share a name; then it is both.
        let name = name.into();
        if type_only && self.module.names.contains_key(&name) {
            return;
        }
        self.module.names.insert(name, export);
    }

    fn export(&mut self, statement: &Statement<'_>) {
        match statement {
            Statement::ExportDeclaration(export) => {
                for (name, type_only) in declared(&export.declaration) {
                    self.local(name, type_only);
                }
            }
            Statement::ExportNamedDeclaration(export) => {
                for specifier in &export.specifiers {
                    let (local, exported) = (specifier.local.name(), specifier.exported.name().to_string());
                    let type_only = export.export_kind.is_type() || specifier.export_kind.is_type();
                    if let Some((source, name)) = self.imports.get(local.as_str()) {
                        let from = Export::From { specifier: source.clone(), name: name.clone() };
                        self.module.names.insert(exported, from);
                    } else {
                        let type_only = type_only || self.only_type(local.as_str());
                        self.local(exported, type_only);
                    }
                }
            }
            Statement::ExportFromDeclaration(export) => {
                let source = export.source.value.as_str();
                if export.specifiers.is_empty() {
                    self.request(source, [Take::Link]);
                }
                for specifier in &export.specifiers {
                    let name = specifier.local.name().to_string();
                    let type_only = export.export_kind.is_type() || specifier.export_kind.is_type();
                    self.request(source, [Take::Name { name: name.clone(), type_only }]);
                    let from = Export::From { specifier: source.to_owned(), name };
                    self.module.names.insert(specifier.exported.name().to_string(), from);
                }
            }
            Statement::ExportAllDeclaration(export) => {
                let source = export.source.value.as_str();
                self.request(source, [Take::Link]);
                match &export.exported {
                    Some(name) => self.local(name.name().to_string(), export.export_kind.is_type()),
                    None => self.module.stars.push(source.to_owned()),
                }
            }
            Statement::ExportDefaultDeclaration(export) => {
                let type_only =
                    matches!(export.declaration, ExportDefaultDeclarationKind::TSInterfaceDeclaration(_));
                self.local("default", type_only);
            }
            Statement::TSExportAssignment(export) => {
                self.local("default", false);
                self.module.whole = true;
                commonjs::read_value(self.module, self.semantic, &export.expression);
            }
            _ => {}
        }
    }

    fn only_type(&self, local: &str) -> bool {
        let scoping = self.semantic.scoping();
        let Some(symbol) = scoping.get_root_binding(local.into()) else { return false };
        let flags = scoping.symbol_flags(symbol);
        (flags.is_interface() || flags.is_type_alias()) && !flags.is_value()
    }

    /// A declaration file without `export {..}`, `export =` or `export default a` exports all that it declares.
    fn implicit(&mut self, program: &Program<'_>) {
        let explicit = program.body.iter().any(|statement| match statement {
            Statement::ExportNamedDeclaration(_)
            | Statement::ExportFromDeclaration(_)
            | Statement::ExportAllDeclaration(_)
            | Statement::TSExportAssignment(_) => true,
            Statement::ExportDefaultDeclaration(export) => export.declaration.is_expression(),
            _ => false,
        });
        if explicit {
            return;
        }
        for statement in &program.body {
            if let Some(declaration) = statement.as_declaration() {
                for (name, type_only) in declared(declaration) {
                    self.local(name, type_only);
                }
            }
        }
    }
}

fn or_nothing(uses: Uses<'_, '_>) -> std::collections::BTreeSet<Take> {
    if uses.takes.is_empty() { [Take::Nothing].into() } else { uses.takes }
}

/// The names of a declaration, and whether only types know them.
fn declared(declaration: &Declaration<'_>) -> Vec<(String, bool)> {
    match declaration {
        Declaration::VariableDeclaration(variables) => variables
            .declarations
            .iter()
            .flat_map(|one| one.id.get_binding_identifiers())
            .map(|name| (name.name.to_string(), false))
            .collect(),
        Declaration::FunctionDeclaration(function) => {
            function.id.iter().map(|id| (id.name.to_string(), false)).collect()
        }
        Declaration::ClassDeclaration(class) => {
            class.id.iter().map(|id| (id.name.to_string(), false)).collect()
        }
        Declaration::TSTypeAliasDeclaration(alias) => vec![(alias.id.name.to_string(), true)],
        Declaration::TSInterfaceDeclaration(interface) => vec![(interface.id.name.to_string(), true)],
        Declaration::TSEnumDeclaration(one) => vec![(one.id.name.to_string(), false)],
        Declaration::TSNamespaceDeclaration(one) => vec![(one.id.name.to_string(), false)],
        Declaration::TSImportEqualsDeclaration(one) => vec![(one.id.name.to_string(), false)],
        Declaration::TSExternalModuleDeclaration(_) | Declaration::TSGlobalDeclaration(_) => Vec::new(),
    }
}
