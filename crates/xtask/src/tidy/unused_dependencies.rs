//! Every dependency of a crate is named in its sources.

use crate::{
    lex::{self, SourcePart},
    tree::{CargoPackage, SourceTree},
};

pub fn check_unused(tree: &SourceTree) -> Vec<String> {
    tree.members().flat_map(|(package, folder)| find_unused(tree, package, folder)).collect()
}

fn find_unused(tree: &SourceTree, package: &CargoPackage, folder: &str) -> Vec<String> {
    let inside = format!("{folder}/");
    let sources = tree.sources().filter(|(path, _)| path.starts_with(&inside));
    // Literals stay: attributes such as `with = "name::path"` call a crate from within one.
    let code: String =
        sources.map(|(_, text)| lex::keep_parts(text, &[SourcePart::Code, SourcePart::Literal])).collect();
    let unnamed = package.dependencies.iter().filter(|dependency| !names_crate(&code, &dependency.called));
    unnamed.map(|dependency| format!("{} does not use {}", package.name, dependency.name)).collect()
}

/// Whether the code calls a crate: a path, a macro, an import or an attribute.
fn names_crate(code: &str, name: &str) -> bool {
    let calls = [format!("{name}::"), format!("{name}!"), format!("use {name}"), format!("#[{name}")];
    calls.iter().any(|call| !lex::lines_with(code, call).is_empty())
}
