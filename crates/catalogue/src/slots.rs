//! Slots: lists of things that stand in a mail and are chosen when it is opened.

use std::{collections::BTreeMap, ops::RangeInclusive};

use expression::{KindCondition, title_scope};
use model::{FieldType, SubjectType};
use source_text::{
    did_you_mean,
    units::is_web_url,
    yaml::{TreeKey, TreeNode, TreePlace, TreeValue},
};

use crate::{
    format::{SLOT_BANNER, SLOT_LIST, SLOT_TABLE},
    hash::CanonicalText,
    inline_text::InlineText,
    kinds::compile_condition,
    limits::{
        SLOT_HOSTS_MAX, SLOT_LIFE_MS_MAX, SLOT_LIFE_MS_MIN, SLOT_LISTS_MAX, SLOT_PLACES_MAX, SLOT_SOURCES_MAX,
    },
    time_values::read_duration_within,
    tree_reader::{MapFields, TreeReader},
};

/// A list unless it says how long it stays: after the mail was last opened, and at most.
const KEPT_MS: i64 = 3_600_000;
const AT_MOST_MS: i64 = 24 * 3_600_000;
const LIFE_MS: RangeInclusive<i64> = SLOT_LIFE_MS_MIN..=SLOT_LIFE_MS_MAX;

/// What stands at the slots of mails.
#[derive(Clone, PartialEq, Debug)]
pub struct SlotListDef {
    pub name: String,
    /// The type of its things.
    pub of: String,
    pub places: u16,
    /// The fields of a thing with its picture and its page.
    pub image: String,
    pub link: String,
    /// The template of what stands where a picture is not shown.
    pub alt: String,
    /// What must hold of a thing.
    pub holds: Option<KindCondition>,
    /// The field that no two neighbours should share.
    pub maker: Option<String>,
    /// In the order of the file.
    pub tables: Vec<SlotTable>,
    /// To which pictures and pages may lead.
    pub hosts: Vec<String>,
    pub instead: SlotBanner,
    /// For how long it stays as it is: after its mail was last opened, and at most.
    pub kept_ms: i64,
    pub at_most_ms: i64,
}

/// Things that a service suggests, as a field of a subject.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SlotTable {
    pub subject: String,
    pub field: String,
    /// The subject's id; the reader's unless it says.
    pub row: Option<String>,
    /// How many places are its own.
    pub share: u16,
}

/// What stands where no thing does.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SlotBanner {
    pub image: String,
    pub link: String,
}

/// A list as it is written, with the places of what is checked later.
pub(crate) struct SlotListDraft {
    list: SlotListDef,
    of: TreePlace,
    /// Of its two fields with addresses, each table, and the field of makers.
    addresses: [TreePlace; 2],
    tables: Vec<TreePlace>,
    maker: Option<TreePlace>,
    alt: InlineText,
    holds: Option<InlineText>,
}

/// All lists of the file.
pub(crate) fn read_slot_lists(reader: &mut TreeReader<'_>, node: &TreeNode) -> Vec<SlotListDraft> {
    let Some(map) = reader.map(node, "slots") else { return Vec::new() };
    if map.len() > SLOT_LISTS_MAX {
        reader.problem(node.at, format!("{} lists of slots, more than {SLOT_LISTS_MAX}", map.len()));
    }
    let mut lists = Vec::new();
    for (key, node) in map {
        reader.name(key, "a list of slots");
        lists.extend(read_slot_list(reader, key, node));
    }
    lists
}

fn read_slot_list(reader: &mut TreeReader<'_>, key: &TreeKey, node: &TreeNode) -> Option<SlotListDraft> {
    let fields = reader.fields(node, key.at, &SLOT_LIST)?;
    let of = read_named(reader, &fields, "of");
    let places = fields
        .need(reader, "places")
        .and_then(|node| reader.whole_number(node, "`places`", 1, SLOT_PLACES_MAX));
    let (image, link) = (read_named(reader, &fields, "image"), read_named(reader, &fields, "link"));
    let alt = fields.need(reader, "alt").and_then(|node| InlineText::read(reader, node, "`alt`"));
    if let Some(empty) = alt.as_ref().filter(|alt| alt.text.trim().is_empty()) {
        reader.problem(empty.at, "`alt` is empty; say what stands where pictures are not shown");
    }
    // What could not be read has been said, and nothing is made of the file.
    let holds = fields.get("while").and_then(|node| InlineText::read(reader, node, "`while`"));
    let maker = fields.get("maker");
    let maker = maker.and_then(|node| Some((reader.text(node, "`maker`")?.to_string(), node.at)));
    let tables = fields.need(reader, "from").and_then(|node| read_tables(reader, node));
    let hosts = fields.need(reader, "hosts").and_then(|node| read_hosts(reader, node));
    let instead = fields.need(reader, "instead").and_then(|node| read_banner(reader, node));
    let life = |reader: &mut TreeReader<'_>, key: &str, unless_set: i64| match fields.get(key) {
        Some(node) => read_duration_within(reader, node, &format!("`{key}`"), LIFE_MS),
        None => Some(unless_set),
    };
    let kept_ms = life(reader, "kept", KEPT_MS)?;
    let at_most_ms = life(reader, "at_most", AT_MOST_MS)?;
    if at_most_ms < kept_ms {
        let at = fields.get("kept").map_or(fields.at, |node| node.at);
        reader.problem(at, "`kept` is longer than `at_most`");
    }
    let (of, of_at) = of?;
    let ((image, image_at), (link, link_at)) = (image?, link?);
    let (tables, table_places) = tables?.into_iter().unzip();
    let (maker, maker_at) = maker.unzip();
    let alt = alt?;
    let list = SlotListDef {
        name: key.name.clone(),
        of,
        places: places?,
        image,
        link,
        alt: alt.text.clone(),
        holds: None,
        maker,
        tables,
        hosts: hosts?,
        instead: instead?,
        kept_ms,
        at_most_ms,
    };
    let addresses = [image_at, link_at];
    Some(SlotListDraft { list, of: of_at, addresses, tables: table_places, maker: maker_at, alt, holds })
}

/// A name that stands at a key.
fn read_named(reader: &mut TreeReader<'_>, fields: &MapFields<'_>, key: &str) -> Option<(String, TreePlace)> {
    let node = fields.need(reader, key)?;
    Some((reader.text(node, &format!("`{key}`"))?.to_string(), node.at))
}

fn read_tables(reader: &mut TreeReader<'_>, node: &TreeNode) -> Option<Vec<(SlotTable, TreePlace)>> {
    match &node.what {
        TreeValue::List(list) if (1..=SLOT_SOURCES_MAX).contains(&list.len()) => {
            list.iter().map(|node| read_table(reader, node)).collect()
        }
        _ => {
            reader.problem(node.at, format!("`from` must be a list of 1 to {SLOT_SOURCES_MAX} tables"));
            None
        }
    }
}

fn read_table(reader: &mut TreeReader<'_>, node: &TreeNode) -> Option<(SlotTable, TreePlace)> {
    let fields = reader.fields(node, node.at, &SLOT_TABLE)?;
    let (table, at) = read_named(reader, &fields, "table")?;
    let row = fields.get("row").and_then(|node| Some(reader.text(node, "`row`")?.to_string()));
    let share = fields.get("share").and_then(|node| reader.whole_number(node, "`share`", 0, SLOT_PLACES_MAX));
    let Some((subject, field)) = table.split_once('.') else {
        let help = "write the subject and its field: `picks.items`".to_string();
        reader.problem_with(at, format!("`{table}` is not a table"), Some(help));
        return None;
    };
    Some((
        SlotTable {
            subject: subject.to_string(),
            field: field.to_string(),
            row,
            share: share.unwrap_or_default(),
        },
        at,
    ))
}

fn read_hosts(reader: &mut TreeReader<'_>, node: &TreeNode) -> Option<Vec<String>> {
    let texts = reader.texts(node, "`hosts`");
    if texts.is_empty() || texts.len() > SLOT_HOSTS_MAX {
        reader.problem(node.at, format!("`hosts` names 1 to {SLOT_HOSTS_MAX} hosts"));
        return None;
    }
    let is_part = |part: &str| {
        !part.is_empty() && part.bytes().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == b'-')
    };
    let mut hosts = Vec::new();
    for (text, at) in texts {
        if !text.strip_prefix("*.").unwrap_or(text).split('.').all(is_part) {
            let help = "write a host without its scheme: `img.example.com`, or `*.example.com`".to_string();
            reader.problem_with(at, format!("`{text}` is not a host"), Some(help));
            return None;
        }
        hosts.push(text.to_string());
    }
    Some(hosts)
}

fn read_banner(reader: &mut TreeReader<'_>, node: &TreeNode) -> Option<SlotBanner> {
    let fields = reader.fields(node, node.at, &SLOT_BANNER)?;
    let mut address = |key: &str| {
        let (text, at) = read_named(reader, &fields, key)?;
        if !is_web_url(&text) {
            let help = "write the whole address: `https://example.com/all`".to_string();
            reader.problem_with(at, format!("`{text}` is not an address on the web"), Some(help));
            return None;
        }
        Some(text)
    };
    let (image, link) = (address("image"), address("link"));
    Some(SlotBanner { image: image?, link: link? })
}

/// How many places each list says it has, and the lists of which nothing is wrong.
pub(crate) fn resolve_slot_lists(
    reader: &mut TreeReader<'_>,
    written: Vec<SlotListDraft>,
    subjects: &BTreeMap<String, SubjectType>,
) -> (BTreeMap<String, u16>, BTreeMap<String, SlotListDef>) {
    let places = written.iter().map(|one| (one.list.name.clone(), one.list.places)).collect();
    let lists = written.into_iter().filter_map(|one| resolve_slot_list(reader, one, subjects));
    (places, lists.map(|list| (list.name.clone(), list)).collect())
}

/// Follows every reference of a list.
fn resolve_slot_list(
    reader: &mut TreeReader<'_>,
    written: SlotListDraft,
    subjects: &BTreeMap<String, SubjectType>,
) -> Option<SlotListDef> {
    let SlotListDraft { mut list, of, addresses, tables, maker, alt, holds } = written;
    let Some(subject) = subjects.get(&list.of) else {
        report_no_subject(reader, of, &list.of, subjects);
        return None;
    };
    for (field, at) in [&list.image, &list.link].into_iter().zip(addresses) {
        match subject.fields.get(field) {
            Some(FieldType::Url) => {}
            Some(other) => reader.problem(at, format!("`{field}` is {other}, but an address is a url")),
            None => reader.report_no_field(at, subject, field),
        }
    }
    if let Some((field, at)) =
        list.maker.as_ref().zip(maker).filter(|(field, _)| !subject.fields.contains_key(*field))
    {
        reader.report_no_field(at, subject, field);
    }
    for (table, at) in list.tables.iter().zip(tables) {
        check_table(reader, (table, at), &list.of, subjects);
    }
    alt.check(reader, &title_scope(subjects));
    if let Some(inline) = &holds {
        list.holds = Some(compile_condition(reader, inline, &list.of, subjects).ok()?);
    }
    Some(list)
}

fn report_no_subject(
    reader: &mut TreeReader<'_>,
    at: TreePlace,
    name: &str,
    subjects: &BTreeMap<String, SubjectType>,
) {
    let help = did_you_mean(name, subjects.keys().map(String::as_str));
    reader.problem_with(at, format!("there is no subject `{name}`"), help);
}

/// A table is a field that names things of the list.
fn check_table(
    reader: &mut TreeReader<'_>,
    (table, at): (&SlotTable, TreePlace),
    of: &str,
    subjects: &BTreeMap<String, SubjectType>,
) {
    let Some(subject) = subjects.get(&table.subject) else {
        return report_no_subject(reader, at, &table.subject, subjects);
    };
    match subject.fields.get(&table.field) {
        Some(FieldType::Refs(target)) if target == of => {}
        Some(other) => {
            reader.problem(at, format!("`{}` is {other}, but a table is `refs {of}`", table.field));
        }
        None => reader.report_no_field(at, subject, &table.field),
    }
}

/// What lists are made of, for the hash of the catalogue.
pub(crate) fn write_slot_lists(text: &mut CanonicalText, lists: &BTreeMap<String, SlotListDef>) {
    for list in lists.values() {
        let SlotListDef { name, of, places, image, link, alt, holds, maker, .. } = list;
        text.line("slots", &format!("{name} {of} {places} {image} {link}"));
        text.line("alt", alt);
        text.line("while", holds.as_ref().map(|holds| holds.text.as_str()).unwrap_or_default());
        text.line("maker", maker.as_deref().unwrap_or_default());
        for SlotTable { subject, field, row, share } in &list.tables {
            let row = row.as_deref().unwrap_or_default();
            text.line("table", &format!("{subject} {field} {share} {row}"));
        }
        text.line("hosts", &list.hosts.join(" "));
        text.line("instead", &format!("{} {}", list.instead.image, list.instead.link));
        text.line("kept", &format!("{} {}", list.kept_ms, list.at_most_ms));
    }
}
