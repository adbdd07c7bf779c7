//! What a document points to is there: the file, and the heading in it.

use crate::{markdown::lines_outside_fences, tidy::complaints::format_complaint, tree::SourceTree};

pub fn check_links(tree: &SourceTree) -> Vec<String> {
    let mut found = Vec::new();
    for (path, text) in tree.texts(|path| path.ends_with(".md")) {
        let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
        for (line, link) in relative_links(text) {
            let (file, anchor) = link.split_once('#').unwrap_or((link, ""));
            let target = if file.is_empty() { Some(path.to_owned()) } else { resolve_link(folder, file) };
            if !target.is_some_and(|target| tree.has(&target) && has_heading(tree, &target, anchor)) {
                found.push(format_complaint(path, line, format_args!("{link} does not exist")));
            }
        }
    }
    found
}

/// The relative links outside fenced blocks, with their lines.
fn relative_links(text: &str) -> Vec<(usize, &str)> {
    let mut links = Vec::new();
    for (number, line) in lines_outside_fences(text) {
        let targets = line.split("](").skip(1).filter_map(|rest| rest.split([')', ' ']).next());
        links.extend(targets.filter(|link| !is_external(link)).map(|link| (number, link)));
    }
    links
}

/// Whether a page has the heading that an anchor names; other files have lines, which nobody checks.
fn has_heading(tree: &SourceTree, path: &str, anchor: &str) -> bool {
    let Some(text) = tree.files.get(path).and_then(Option::as_deref) else { return true };
    anchor.is_empty() || !path.ends_with(".md") || headings(text).any(|heading| heading == anchor)
}

/// The anchors of a page's headings, as GitHub makes them.
fn headings(text: &str) -> impl Iterator<Item = String> {
    lines_outside_fences(text).filter_map(|(_, line)| {
        let title = line.trim_start_matches('#').strip_prefix(' ').filter(|_| line.starts_with('#'))?;
        let kept = title.chars().filter(|c| c.is_alphanumeric() || " -_".contains(*c));
        Some(kept.map(|c| if c == ' ' { '-' } else { c.to_ascii_lowercase() }).collect())
    })
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
