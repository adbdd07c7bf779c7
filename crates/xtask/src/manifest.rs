//! Reads the lines of a Cargo.toml: as much of TOML as our own manifests use.

/// One `key = value` with the section it stands in.
pub struct ManifestLine<'a> {
    pub number: usize,
    pub section: &'a str,
    pub key: &'a str,
    pub value: &'a str,
}

/// The settings of a manifest; what has no `=` (the inner lines of an array) is passed over.
pub fn parse_lines(text: &str) -> Vec<ManifestLine<'_>> {
    let mut section = "";
    let mut lines = Vec::new();
    for (at, line) in text.lines().enumerate() {
        let line = line.trim();
        if line.starts_with('#') {
            continue;
        }
        if let Some(name) = line.strip_prefix('[').and_then(|rest| rest.split(']').next()) {
            section = name;
        } else if let Some((key, value)) = line.split_once('=') {
            lines.push(ManifestLine { number: at + 1, section, key: key.trim(), value: value.trim() });
        }
    }
    lines
}
