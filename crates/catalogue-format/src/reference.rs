//! The page that lists every key of a catalogue: made of the table by which catalogues are read.

use source_text::{list_choices, units::format_length};

use crate::{
    CATALOGUE, FIRST_VERSION, FormatKey, FormatValue, KeyCombination, KeyGroup, MapFormat,
    limits::NAME_BYTES_MAX,
};

/// The page, in Markdown.
pub fn reference_page() -> String {
    let mut page = format!(
        "# Reference: the keys of a catalogue

This page is generated from the table by which the program reads catalogues. [The catalogue](../catalogue.md) explains
how its parts act together, [windows](../windows.md) when something is told. `tidings schema` prints the same for
editors as a [JSON Schema](../../schemas/{schema}); a catalogue that begins with
`# yaml-language-server: $schema=PATH` is completed and explained while it is written.

Names have lower-case letters, digits and `_`, begin with a letter, and have at most {NAME_BYTES_MAX} bytes. Every key
came with version {FIRST_VERSION} unless its row says otherwise.
",
        schema = crate::schema::FILE
    );
    let mut maps: Vec<&MapFormat> = vec![&CATALOGUE];
    let mut at = 0;
    while let Some(map) = maps.get(at).copied() {
        let values = map.keys().map(|key| &key.value).chain(map.names.map(|named| &named.value));
        values.for_each(|value| collect_maps(value, &mut maps));
        write_map(&mut page, map);
        at += 1;
    }
    page
}

/// The maps that a value leads to and that have no section yet.
fn collect_maps(value: &FormatValue, maps: &mut Vec<&'static MapFormat>) {
    match value {
        FormatValue::Map(map) if maps.iter().all(|known| known.id != map.id) => maps.push(map),
        FormatValue::Some(of) | FormatValue::List { of, .. } => collect_maps(of, maps),
        FormatValue::Named(named) => collect_maps(&named.value, maps),
        FormatValue::Either(values) => values.iter().for_each(|value| collect_maps(value, maps)),
        _ => {}
    }
}

fn write_map(page: &mut String, map: &MapFormat) {
    let mut add = |text: String| *page += &(text + "\n");
    add(format!("\n## {}\n\n{}", map.id, map.doc));
    if let Some(named) = map.names {
        add(format!("\nEvery other key is the name of a field; its value is {}.", describe(&named.value)));
    }
    let needed = map.needed();
    for group in map.groups {
        let KeyGroup { title, keys } = group;
        let title = if title.is_empty() { "key" } else { title };
        add(format!("\n| {title} | value | unless set | |\n| --- | --- | --- | --- |"));
        keys.iter().for_each(|key| add(key_row(key, needed.contains(&key.name))));
    }
    if map.combinations.len() > 1 {
        add("\nThese keys go together:\n".to_owned());
        map.combinations.iter().for_each(|one| add(combination_line(map, one)));
    }
}

fn key_row(key: &FormatKey, is_needed: bool) -> String {
    let FormatKey { name, value, default, doc, since } = key;
    let unless_set = match default {
        _ if is_needed => "needed".to_owned(),
        Some(default) => format!("`{default}`"),
        None => String::new(),
    };
    let since = if *since == FIRST_VERSION { String::new() } else { format!(" Since {since}.") };
    format!("| `{name}` | {} | {unless_set} | {doc}{since} |", describe(value)).replace("|  |", "| |")
}

/// What a combination needs, and what else it has; where a word chooses it, what it has not.
fn combination_line(map: &MapFormat, one: &KeyCombination) -> String {
    let list = |names: &[&str]| names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
    let Some((key, value)) = &one.chosen_by else {
        let optional = map.key_names().filter(|name| one.has(name) && !one.needs.contains(name));
        let optional: Vec<&str> = optional.collect();
        let may = if optional.is_empty() { String::new() } else { format!("; perhaps {}", list(&optional)) };
        return format!("- {}{may}", list(one.needs));
    };
    let everywhere = map.needed();
    let own: Vec<&str> = one.needs.iter().copied().filter(|name| !everywhere.contains(name)).collect();
    let never: Vec<&str> = map.key_names().filter(|name| !one.has(name)).collect();
    let parts = [("needs", own), ("has no", never)];
    let parts = parts.into_iter().filter(|(_, names)| !names.is_empty());
    let parts: Vec<String> = parts.map(|(what, names)| format!("{what} {}", list(&names))).collect();
    format!("- `{key}` is {}: {}", describe(value), parts.join("; "))
}

/// What may stand at a key, in words.
fn describe(value: &FormatValue) -> String {
    match value {
        FormatValue::Text(form) => form.name.to_owned(),
        FormatValue::Flag => "`true` or `false`".to_owned(),
        FormatValue::Number { least, most } => format!("{least} to {most}"),
        FormatValue::Length { least_ms, most_ms: i64::MAX } => {
            format!("length of time from `{}`", format_length(*least_ms))
        }
        FormatValue::Length { least_ms, most_ms } => {
            format!("length of time, `{}` to `{}`", format_length(*least_ms), format_length(*most_ms))
        }
        FormatValue::Words(words) => list_choices(words.iter().copied()),
        FormatValue::Some(of) => format!("{}; one or a list", describe(of)),
        FormatValue::List { of, least, most } if least == most => {
            format!("list of {least}: {}", describe(of))
        }
        FormatValue::List { of, least, most } => format!("list of {least} to {most}: {}", describe(of)),
        FormatValue::Map(map) => format!("[{0}](#{0})", map.id),
        FormatValue::Named(named) => {
            let most =
                if named.most == usize::MAX { String::new() } else { format!("at most {} ", named.most) };
            format!("{most}by name: {}", describe(&named.value))
        }
        FormatValue::Either(values) => values.iter().map(describe).collect::<Vec<_>>().join(", or "),
    }
}
