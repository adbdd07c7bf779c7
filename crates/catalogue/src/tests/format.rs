//! The table of keys, the reader and the JSON Schema say the same. Each key of the table is looked up in some catalogue
//! and spoilt there: both must refuse it.

mod corpus;
mod slips;

use std::collections::BTreeMap;

use jsonschema::Validator;
use serde_json::{Value, json};

use self::corpus::{CorpusCatalogue, list_corpus, yaml_as_json};
use super::{GOOD, describe_result, parse_with, wide_catalogue};
use source_text::units::format_length;

use crate::{
    format::{CATALOGUE, FormatKey, FormatValue, MapFormat, TextForm},
    reference::reference_page,
    schema::catalogue_schema,
};

/// Where a value stands: the keys and numbers that lead there.
type ValuePath = Vec<String>;

/// A map of the corpus: whose catalogue, where, and by which rules.
struct CorpusMap<'a> {
    of: &'a CorpusCatalogue,
    path: ValuePath,
    format: &'static MapFormat,
}

fn validator() -> Validator {
    jsonschema::draft202012::new(&catalogue_schema()).unwrap()
}

/// All maps below a value.
fn walk<'a>(
    of: &'a CorpusCatalogue,
    path: &ValuePath,
    value: &'a Value,
    format: &'static FormatValue,
    found: &mut Vec<CorpusMap<'a>>,
) {
    let deeper = |name: &str| [&path[..], &[name.to_owned()]].concat();
    match (format, value) {
        (FormatValue::Map(map), Value::Object(fields)) => {
            found.push(CorpusMap { of, path: path.clone(), format: map });
            for (name, value) in fields {
                match (map.keys().find(|key| key.name == name), map.names) {
                    (Some(key), _) => walk(of, &deeper(name), value, &key.value, found),
                    (None, Some(named)) => walk(of, &deeper(name), value, &named.value, found),
                    (None, None) => panic!("{}: {path:?} has `{name}`", of.file),
                }
            }
        }
        (FormatValue::Named(named), Value::Object(fields)) => {
            fields.iter().for_each(|(name, value)| walk(of, &deeper(name), value, &named.value, found));
        }
        (FormatValue::List { of: one, .. } | FormatValue::Some(one), Value::Array(list)) => {
            list.iter()
                .enumerate()
                .for_each(|(at, value)| walk(of, &deeper(&at.to_string()), value, one, found));
        }
        (FormatValue::Some(one), value) => walk(of, path, value, one, found),
        (FormatValue::Either(values), value) => {
            values.iter().for_each(|one| walk(of, path, value, one, found));
        }
        _ => {}
    }
}

static ROOT: FormatValue = FormatValue::Map(&CATALOGUE);

fn list_maps(corpus: &[CorpusCatalogue]) -> Vec<CorpusMap<'_>> {
    let mut found = Vec::new();
    corpus.iter().for_each(|of| walk(of, &Vec::new(), &of.json, &ROOT, &mut found));
    found
}

impl CorpusMap<'_> {
    fn fields(&self) -> &serde_json::Map<String, Value> {
        let value = self.path.iter().fold(&self.of.json, |value, step| match value {
            Value::Array(list) => &list[step.parse::<usize>().unwrap()],
            other => &other[step.as_str()],
        });
        value.as_object().unwrap()
    }

    /// The catalogue with another value at a key of this map, or with none.
    fn with(&self, key: &str, value: Option<Value>) -> Value {
        let mut whole = self.of.json.clone();
        let map = self.path.iter().fold(&mut whole, |value, step| match value {
            Value::Array(list) => &mut list[step.parse::<usize>().unwrap()],
            other => &mut other[step.as_str()],
        });
        match value {
            Some(value) => drop(map.as_object_mut().unwrap().insert(key.to_owned(), value)),
            None => drop(map.as_object_mut().unwrap().shift_remove(key)),
        }
        whole
    }
}

/// Texts that are of no form that has one.
const ODD_TEXTS: [&str; 5] = ["", "!", "Odd Text", "5", "a\u{1}b"];

fn odd_texts(form: &TextForm) -> Vec<Value> {
    let schema = jsonschema::validator_for(&json!({"type": "string", "pattern": form.pattern})).unwrap();
    ODD_TEXTS.map(Value::from).into_iter().filter(|text| !schema.is_valid(text)).collect()
}

/// Values that do not fit.
fn bad_values(value: &FormatValue) -> Vec<Value> {
    match value {
        FormatValue::Text(form) => [vec![json!(7), json!({}), Value::Null], odd_texts(form)].concat(),
        FormatValue::Flag => vec![json!("true"), json!(1)],
        FormatValue::Number { least, most } => {
            vec![json!("many"), json!(least.wrapping_sub(1)), json!(u32::from(*most) + 1), json!(1.5)]
        }
        FormatValue::Length { .. } => vec![json!(5), json!("5"), json!("5 m"), json!("m"), json!("30m1h")],
        FormatValue::Words(_) => vec![json!(7), json!("nonsense"), json!([])],
        FormatValue::Some(of) => {
            let alone = bad_values(of).into_iter().filter(|value| !value.is_array());
            let alone: Vec<Value> = alone.collect();
            let listed = alone.iter().map(|value| json!([value]));
            listed.collect::<Vec<_>>().into_iter().chain(alone).collect()
        }
        FormatValue::List { .. } => vec![json!(7), json!([]), json!("text")],
        FormatValue::Map(_) | FormatValue::Named(_) => {
            vec![json!(7), json!([]), json!("text"), json!({"no such": 1})]
        }
        // Of a number among others only the reader knows where it fits.
        FormatValue::Either(values)
            if values.iter().any(|value| matches!(value, FormatValue::Number { .. })) =>
        {
            vec![json!(0), json!(29), json!("nonsense"), json!({"nonsense": 1})]
        }
        FormatValue::Either(_) => vec![json!(7), json!("nonsense"), json!([]), json!({"nonsense": 1})],
    }
}

/// Checks that both refuse a catalogue.
fn refuse(validator: &Validator, at: &CorpusMap<'_>, spoilt: &Value, what: &str, wrong: &mut Vec<String>) {
    let place = || format!("{} {:?}: {what}", at.of.file, at.path);
    if validator.is_valid(spoilt) {
        wrong.push(format!("the schema accepts {}", place()));
    }
    if at.of.read(spoilt).is_ok() {
        wrong.push(format!("the reader accepts {}", place()));
    }
}

/// The first map of the corpus that has each key.
fn places_of_keys<'a>(
    maps: &'a [CorpusMap<'a>],
) -> BTreeMap<(&'static str, &'static str), (&'a CorpusMap<'a>, &'static FormatKey)> {
    let mut places = BTreeMap::new();
    for map in maps {
        for key in map.format.keys().filter(|key| map.fields().contains_key(key.name)) {
            places.entry((map.format.id, key.name)).or_insert((map, key));
        }
    }
    places
}

#[test]
fn every_catalogue_that_there_is_fits_the_schema() {
    let validator = validator();
    let corpus = list_corpus();
    assert!(corpus.len() > 25, "only {}", corpus.len());
    for one in &corpus {
        let errors: Vec<String> = validator
            .iter_errors(&one.json)
            .map(|error| format!("{}: {error}", error.instance_path()))
            .collect();
        assert_eq!(errors, Vec::<String>::new(), "{}", one.file);
        if let Err(problems) = one.read(&one.json) {
            panic!("{}: {problems}", one.file);
        }
    }
}

#[test]
fn every_key_of_the_table_is_read_as_it_says() {
    let (validator, corpus) = (validator(), list_corpus());
    let maps = list_maps(&corpus);
    let places = places_of_keys(&maps);
    let mut wrong = Vec::new();
    let formats: BTreeMap<&str, &MapFormat> = maps.iter().map(|map| (map.format.id, map.format)).collect();
    for format in formats.values() {
        for key in format.keys().filter(|key| !places.contains_key(&(format.id, key.name))) {
            wrong.push(format!("no catalogue has `{}` of {}", key.name, format.title));
        }
    }
    for (map, key) in places.values() {
        let name = key.name;
        for bad in bad_values(&key.value) {
            refuse(
                &validator,
                map,
                &map.with(name, Some(bad.clone())),
                &format!("`{name}`: {bad}"),
                &mut wrong,
            );
        }
        if map.format.needed().contains(&name) {
            refuse(&validator, map, &map.with(name, None), &format!("no `{name}`"), &mut wrong);
        }
        refuse(&validator, map, &map.with("nonsense", Some(json!(1))), "an unknown key", &mut wrong);
        wrong.extend(check_bounds(&validator, map, key));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The ends of what may stand at a key are taken, and what lies beyond is not; each word is known.
fn check_bounds(validator: &Validator, map: &CorpusMap<'_>, key: &FormatKey) -> Vec<String> {
    let mut wrong = Vec::new();
    let mut check = |value: Value, complaint: &str, fits: bool| {
        let spoilt = map.with(key.name, Some(value.clone()));
        let said = describe_problems(map, &spoilt);
        if said.contains(complaint) == fits || fits && !validator.is_valid(&spoilt) && said == "fine" {
            wrong.push(format!("{}: `{}`: {value}: {said}", map.of.file, key.name));
        }
    };
    match &key.value {
        FormatValue::Number { least, most } => {
            [least, most].into_iter().for_each(|number| check(json!(number), "must be a whole number", true));
        }
        FormatValue::Length { least_ms, most_ms } => {
            // A look-back is whole days, and a rest no longer than it: their own words.
            let complaint = match key.name {
                "look_back" => "must be whole days",
                "spread" => "must be at most",
                _ => " must be from ",
            };
            if *least_ms > 0 {
                check(json!(format_length(*least_ms)), complaint, true);
                check(json!(format_length(least_ms - 1_000)), complaint, false);
            }
            if *most_ms < i64::MAX {
                check(json!(format_length(most_ms + 1_000)), complaint, false);
            }
        }
        FormatValue::Words(words) => check_words(words, &mut check),
        FormatValue::Some(FormatValue::Words(words)) => check_words(words, &mut check),
        FormatValue::Either(values) => {
            for value in *values {
                if let FormatValue::Words(words) = value {
                    check_words(words, &mut check);
                }
            }
        }
        _ => {}
    }
    wrong
}

fn check_words(words: &[&str], check: &mut impl FnMut(Value, &str, bool)) {
    for word in words {
        check(json!(word), &format!("no {word}"), true);
        check(json!(word), &format!("`{word}` is no"), true);
        check(json!(word), " is `", true);
    }
}

fn describe_problems(map: &CorpusMap<'_>, spoilt: &Value) -> String {
    map.of.read(spoilt).err().map_or("fine".to_owned(), |problems| {
        problems.0.iter().map(|problem| problem.what.as_str()).collect::<Vec<_>>().join("\n")
    })
}

#[test]
fn a_default_is_what_holds_unless_it_is_set() {
    let corpus = list_corpus();
    let maps = list_maps(&corpus);
    let mut tried: BTreeMap<(&str, &str), usize> = BTreeMap::new();
    for map in &maps {
        for key in map.format.keys().filter(|key| !map.fields().contains_key(key.name)) {
            let Some(default) = key.default else { continue };
            let count = tried.entry((map.format.id, key.name)).or_default();
            if *count > 2 {
                continue;
            }
            let explicit = map.with(key.name, Some(crate::schema::literal(&key.value, default)));
            // Where it has no meaning it is refused.
            let Ok(explicit) = map.of.read(&explicit) else { continue };
            let silent = map.of.read(&map.of.json).unwrap();
            assert_eq!(explicit, silent, "{}: {:?}: `{}`", map.of.file, map.path, key.name);
            *count += 1;
        }
    }
    let untried: Vec<_> = tried.iter().filter(|(_, count)| **count == 0).collect();
    assert!(untried.is_empty() && tried.len() > 10, "{untried:?}");
}

/// Whether the reader and the schema take a text; what is no YAML is refused by both.
fn judge(text: &str, mjml: &str, validator: &Validator) -> (bool, bool) {
    let is_read = parse_with(text, mjml).is_ok();
    let is_valid = yaml_as_json(text).is_some_and(|json| validator.is_valid(&json));
    (is_read, is_valid)
}

#[test]
fn what_the_reader_takes_the_schema_takes() {
    let validator = validator();
    for (text, mjml, slips) in [
        (GOOD, super::MJML, super::slips::SLIPS),
        (wide_catalogue::WIDE, wide_catalogue::MJML, wide_catalogue::SLIPS),
    ] {
        for (piece, by, _) in slips {
            let spoilt = text.replace(piece, by);
            let (is_read, is_valid) = judge(&spoilt, mjml, &validator);
            assert!(!is_read || is_valid, "`{piece}` became `{by}`");
        }
    }
    for (piece, by, _) in super::paces::all_slips() {
        let (is_read, is_valid) = judge(&GOOD.replace(piece, &by), super::MJML, &validator);
        assert!(!is_read || is_valid, "`{piece}` became `{by}`");
    }
}

#[test]
fn slips_of_shape_are_refused_by_the_schema_too() {
    let validator = validator();
    let mut wrong = Vec::new();
    for (piece, by) in slips::BOTH {
        assert_eq!(GOOD.matches(piece).count(), 1, "`{piece}`");
        let judged = judge(&GOOD.replace(piece, by), super::MJML, &validator);
        if judged != (false, false) {
            wrong.push(format!("`{by}`: read and valid: {judged:?}"));
        }
    }
    for (piece, by) in slips::READER_ALONE {
        assert_eq!(GOOD.matches(piece).count(), 1, "`{piece}`");
        let judged = judge(&GOOD.replace(piece, by), super::MJML, &validator);
        if judged != (false, true) {
            let said = describe_result(parse_with(&GOOD.replace(piece, by), super::MJML));
            wrong.push(format!("`{by}`: read and valid: {judged:?}: {said}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn the_page_has_every_key() {
    let page = reference_page();
    for key in CATALOGUE.keys() {
        assert!(page.contains(&format!("| `{}` |", key.name)), "{}", key.name);
    }
    assert!(page.lines().all(|line| !line.contains("{{") || line.contains("`{{ }}`")), "{page}");
}
