//! What a document points to is there.

use crate::{tidy::format_complaint, tree::SourceTree};

pub fn check_links(tree: &SourceTree) -> Vec<String> {
    let mut found = Vec::new();
    for (path, text) in tree.texts(|path| path.ends_with(".md")) {
        let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
        for (line, link) in relative_links(text) {
            let file = link.split('#').next().unwrap_or_default();
            if !file.is_empty() && !resolve_link(folder, file).is_some_and(|path| tree.has(&path)) {
                found.push(format_complaint(path, line, format_args!("{link} does not exist")));
            }
        }
    }
    found
}

/// The relative links outside fenced blocks, with their lines.
fn relative_links(text: &str) -> Vec<(usize, &str)> {
    let mut fenced = false;
    let mut links = Vec::new();
    for (number, line) in text.lines().enumerate() {
        fenced ^= line.trim_start().starts_with("```");
        if fenced {
            continue;
        }
        let targets = line.split("](").skip(1).filter_map(|rest| rest.split([')', ' ']).next());
        links.extend(targets.filter(|link| !is_external(link)).map(|link| (number + 1, link)));
    }
    links
}

fn is_external(link: &str) -> bool {
    ["http://", "https://", "mailto:"].iter().any(|scheme| link.starts_with(scheme))
}

/// The path from the root; nothing if the link leads out of it.
fn resolve_link(folder: &str, link: &str) -> Option<String> {
    let mut path: Vec<&str> = folder.split('/').filter(|name| !name.is_empty()).collect();
    for name in link.split('/') {
        match name {
            "" | "." => {}
            ".." => drop(path.pop()?),
            _ => path.push(name),
        }
    }
    Some(path.join("/"))
}
