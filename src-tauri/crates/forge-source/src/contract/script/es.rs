//! Modules with `import` and `export`, and what TypeScript adds to them.

use std::collections::BTreeMap;

use oxc_ast::AstKind;
use oxc_ast::ast::{
    BindingIdentifier, Declaration, ExportDefaultDeclarationKind, ExportNamedDeclaration,
    ImportDeclarationSpecifier, ImportOrExportKind, Program, Statement, TSModuleReference,
};
use oxc_semantic::Semantic;

use super::{
    exports,
    module::{Export, Form, Module, Request, Star, Take, Via},
    resolve,
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
    let is_declaration = [".d.ts", ".d.mts", ".d.cts"].iter().any(|ending| path.ends_with(ending));
    let typed = resolve::is_typed(path);
    let mut reader = Reader { module, semantic, typed, is_declaration, imports: BTreeMap::new() };
    for statement in &program.body {
        reader.import(statement);
    }
    for statement in &program.body {
        reader.export(statement);
    }
    if is_declaration {
        reader.implicit(program);
    }
}

struct Reader<'r, 's, 'a> {
    module: &'r mut Module,
    semantic: &'s Semantic<'a>,
    /// Whether the compiler knows types from values, and leaves out what it does not need.
    typed: bool,
    /// Whether all is a declaration, and says nothing of where it is made.
    is_declaration: bool,
    /// Local name to the file, the name there, and whether only types may use it.
    imports: BTreeMap<String, (String, String, bool)>,
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
        self.imports.insert(local.name.to_string(), (source.to_owned(), name.clone(), type_only));
        let type_only = type_only || self.typed && !self.is_value(local);
        self.request(source, [Take::Name { name, type_only }]);
    }

    /// Whether something here uses it as a value; to hand it on is none.
    fn is_value(&self, local: &BindingIdentifier<'_>) -> bool {
        let Some(symbol) = local.symbol_id.get() else { return true };
        self.semantic.symbol_references(symbol).any(|reference| {
            let handed_on = matches!(
                self.semantic.nodes().parent_kind(reference.node_id()),
                AstKind::ExportSpecifier(_)
                    | AstKind::ExportDefaultDeclaration(_)
                    | AstKind::TSExportAssignment(_)
                    | AstKind::TSImportEqualsDeclaration(_)
                    | AstKind::TSQualifiedName(_)
                    | AstKind::TSTypeQuery(_)
            );
            reference.is_value() && !reference.is_type() && !handed_on
        })
    }

    fn local(&mut self, name: impl Into<String>, form: Form) {
        // A value and a type may share a name; then it is both.
        let name = name.into();
        if form != Form::Value && self.module.names.contains_key(&name) {
            return;
        }
        self.module.names.insert(name, Export::Local { form });
    }

    /// A declaration file declares what is a value elsewhere.
    fn declare(&mut self, declaration: &Declaration<'_>) {
        for (name, form) in declared(declaration) {
            let form = if form == Form::Ambient && self.is_declaration { Form::Value } else { form };
            self.local(name, form);
        }
    }

    fn export(&mut self, statement: &Statement<'_>) {
        match statement {
            Statement::ExportDeclaration(export) => {
                self.declare(&export.declaration);
            }
            Statement::ExportNamedDeclaration(export) => self.named(export),
            Statement::ExportFromDeclaration(export) => {
                let source = export.source.value.as_str();
                if export.specifiers.is_empty() {
                    self.request(source, [Take::Link]);
                }
                for specifier in &export.specifiers {
                    let name = specifier.local.name().to_string();
                    let type_only = export.export_kind.is_type() || specifier.export_kind.is_type();
                    let erased = type_only || self.typed;
                    self.request(source, [Take::Name { name: name.clone(), type_only: erased }]);
                    let from = Export::From { specifier: source.to_owned(), name, type_only };
                    self.module.names.insert(specifier.exported.name().to_string(), from);
                }
            }
            Statement::ExportAllDeclaration(export) => {
                let source = export.source.value.as_str();
                self.request(source, [Take::Link]);
                let type_only = export.export_kind.is_type();
                match &export.exported {
                    Some(name) => self.local(name.name().to_string(), form(type_only)),
                    None => self.module.stars.push(Star { specifier: source.to_owned(), type_only }),
                }
            }
            Statement::ExportDefaultDeclaration(export) => {
                let form = match &export.declaration {
                    ExportDefaultDeclarationKind::TSInterfaceDeclaration(_) => Form::Type,
                    // Any value may be the default export, even a global one.
                    ExportDefaultDeclarationKind::Identifier(name) => {
                        self.form_of(&name.name).unwrap_or(Form::Value)
                    }
                    _ => Form::Value,
                };
                self.local("default", form);
            }
            Statement::TSExportAssignment(export) => {
                self.local("default", Form::Value);
                self.module.whole = true;
                exports::read_value(self.module, self.semantic, &export.expression);
            }
            _ => {}
        }
    }

    fn named(&mut self, export: &ExportNamedDeclaration<'_>) {
        for specifier in &export.specifiers {
            let (local, exported) = (specifier.local.name(), specifier.exported.name().to_string());
            let type_only = export.export_kind.is_type() || specifier.export_kind.is_type();
            if let Some((source, name, only)) = self.imports.get(local.as_str()) {
                let (specifier, name) = (source.clone(), name.clone());
                let from = Export::From { specifier, name, type_only: type_only || *only };
                self.module.names.insert(exported, from);
                continue;
            }
            match self.form_of(local.as_str()) {
                Some(known) => self.local(exported, known.max(form(type_only))),
                None => {
                    self.module.names.insert(exported, Export::Gone("is exported but not declared"));
                }
            }
        }
    }

    /// What kind of name the module's own is; `None` if it has no such.
    fn form_of(&self, local: &str) -> Option<Form> {
        let scoping = self.semantic.scoping();
        let symbol = scoping.get_root_binding(local.into())?;
        let flags = scoping.symbol_flags(symbol);
        if flags.is_value() || flags.is_import() {
            let ambient = flags.is_ambient() && !self.is_declaration;
            return Some(if ambient { Form::Ambient } else { Form::Value });
        }
        let types = flags.is_interface()
            || flags.is_type_alias()
            || flags.is_type_import()
            || flags.is_namespace_module();
        Some(form(types))
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
                self.declare(declaration);
            }
        }
    }
}

fn or_nothing(uses: Uses<'_, '_>) -> std::collections::BTreeSet<Take> {
    if uses.takes.is_empty() { [Take::Nothing].into() } else { uses.takes }
}

fn form(type_only: bool) -> Form {
    if type_only { Form::Type } else { Form::Value }
}

/// The names of a declaration, and who knows them.
pub(super) fn declared(declaration: &Declaration<'_>) -> Vec<(String, Form)> {
    let one = |id: &BindingIdentifier<'_>, ambient| {
        (id.name.to_string(), if ambient { Form::Ambient } else { Form::Value })
    };
    match declaration {
        Declaration::VariableDeclaration(variables) => variables
            .declarations
            .iter()
            .flat_map(|one| one.id.get_binding_identifiers())
            .map(|name| one(name, variables.declare))
            .collect(),
        Declaration::FunctionDeclaration(function) => {
            function.id.iter().map(|id| one(id, function.declare)).collect()
        }
        Declaration::ClassDeclaration(class) => class.id.iter().map(|id| one(id, class.declare)).collect(),
        Declaration::TSTypeAliasDeclaration(alias) => vec![(alias.id.name.to_string(), Form::Type)],
        Declaration::TSInterfaceDeclaration(interface) => vec![(interface.id.name.to_string(), Form::Type)],
        Declaration::TSEnumDeclaration(found) => vec![one(&found.id, found.declare)],
        Declaration::TSNamespaceDeclaration(found) => vec![one(&found.id, found.declare)],
        Declaration::TSImportEqualsDeclaration(found) => vec![one(&found.id, false)],
        Declaration::TSExternalModuleDeclaration(_) | Declaration::TSGlobalDeclaration(_) => Vec::new(),
    }
}
