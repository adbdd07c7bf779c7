//! What somebody said of single things, as the page of their preferences lists it: each by name, with a button that ends it.

use std::collections::{BTreeMap, BTreeSet};

use catalogue::ReaderLanguage;
use model::{Channel, SubjectRef};
use preference_sheet::{ChoiceChange, PreferenceSheet, SheetChange, ThingLine, change_sheet};
use preferences::{PreferenceChoice, ReadingPlace};
use serde_json::{Value as Json, json};
use wire::token::{LinkToken, sign_offer};

use super::{
    HttpApp,
    preferences::{find_kind_title, load_subject_names, name_unknown},
    settings_form::choose_thing,
};
use crate::reader_sheet::{ReaderRecord, read_clock};

/// Things of one list that are shown; whoever has more of them has an app for that.
const THINGS_SHOWN_MAX: usize = 100;

/// The values of the page that speak of single things: `subscriptions`, `mutes`, and what `ended` just now.
pub async fn list_things(
    (app, language): (&HttpApp, &ReaderLanguage),
    token: &LinkToken,
    sheet: &PreferenceSheet,
    ended: Option<&ThingLine>,
) -> anyhow::Result<[Json; 3]> {
    let subscriptions = sheet.subscriptions.iter().take(THINGS_SHOWN_MAX);
    let lines: Vec<&ThingLine> =
        subscriptions.chain(sheet.mutes.iter().take(THINGS_SHOWN_MAX)).chain(ended).collect();
    let subjects = |lines: &[&ThingLine]| -> BTreeSet<SubjectRef> {
        lines.iter().filter_map(|line| line.subject()).collect()
    };
    // Whoever subscribed is told of it by name anyway; by a link alone nobody subscribes.
    let subscribed: Vec<&ThingLine> = lines.iter().copied().filter(|line| line.is_subscription()).collect();
    let all: Vec<SubjectRef> = subjects(&lines).into_iter().collect();
    let names = load_subject_names(app, token, &all, subjects(&subscribed)).await?;
    let name = |line: &ThingLine| name_thing((app, language), token, line, &names);
    let list = |lines: &[ThingLine]| {
        let line = |line: &ThingLine| json!({"field": line.field(), "name": name(line)});
        let things: Vec<Json> = lines.iter().take(THINGS_SHOWN_MAX).map(line).collect();
        json!({"things": things, "more": lines.len().saturating_sub(THINGS_SHOWN_MAX)})
    };
    let ended = ended.map(|line| json!({"name": name(line), "is_subscription": line.is_subscription()}));
    Ok([list(&sheet.subscriptions), list(&sheet.mutes), json!(ended)])
}

fn name_thing(
    (app, language): (&HttpApp, &ReaderLanguage),
    token: &LinkToken,
    line: &ThingLine,
    names: &BTreeMap<SubjectRef, String>,
) -> String {
    let called = |subject: SubjectRef| names.get(&subject).cloned().unwrap_or_else(|| name_unknown(&subject));
    let name = line.subject().map_or_else(|| line.id.clone(), called);
    let name = match line.kind() {
        Some(kind) => match find_kind_title((app, language), token, &kind) {
            Some(title) => format!("{name} ({title})"),
            None => format!("{name} · {}", kind.as_str().replace('_', " ")),
        },
        None => name,
    };
    let name = shell::terminal::clean_text(&name);
    match list_places(line, language).as_slice() {
        [] => name,
        places => format!("{name} · {}", places.join(", ")),
    }
}

/// Where alone it is told, or is not; nothing where that was said of all places.
fn list_places(line: &ThingLine, language: &ReaderLanguage) -> Vec<String> {
    let is_off = |choice: &str| choice == PreferenceChoice::Off.name();
    let said = line.choices.iter().filter(|one| is_off(&one.choice) != line.is_subscription());
    let places: Option<Vec<String>> =
        said.map(|one| one.channel.as_deref().map(|place| name_place(place, language))).collect();
    places.unwrap_or_default()
}

/// What readers call a channel, or the feed; a hook is called by its name.
pub fn name_place(place: &str, language: &ReaderLanguage) -> String {
    match ReadingPlace::parse(place) {
        Some(ReadingPlace::Feed) => language.house_sentence("channel-feed", &[]),
        Some(ReadingPlace::Channel(Channel::Email)) => language.house_sentence("channel-email", &[]),
        Some(ReadingPlace::Channel(Channel::Push)) => language.house_sentence("channel-push", &[]),
        _ => place.to_owned(),
    }
}

/// The fields by which what ended holds again, each with what it said, and the proof that they were offered; nothing where
/// nobody could say that any more.
pub fn build_undo(app: &HttpApp, token: &LinkToken, after: &ReaderRecord, ended: &ThingLine) -> Option<Json> {
    let words: BTreeMap<String, String> =
        ended.words().map(|(field, choice)| (field, choice.to_owned())).collect();
    let choices: Option<Vec<ChoiceChange>> =
        words.iter().map(|(field, choice)| choose_thing(field, choice)).collect();
    let change = SheetChange { choices: choices?, ..SheetChange::default() };
    let reader = after.state(app, (&token.tenant, &token.person));
    change_sheet(&reader, &token.person, &change, read_clock(app)).ok()?;
    let proof = sign_offer(&undo_offer(token, after, &words), app.unsubscribe.secret());
    let fields: Vec<Json> =
        words.iter().map(|(field, choice)| json!({"field": field, "choice": choice})).collect();
    Some(json!({"fields": fields, "proof": proof}))
}

/// What a page offers to take back: of whom, and what each field said before it got the version that it has.
pub fn undo_offer(token: &LinkToken, now: &ReaderRecord, words: &BTreeMap<String, String>) -> Vec<u8> {
    let version = |field: &String| now.preferences.cells.get(field.as_str()).map(|cell| cell.version);
    let words: Vec<Json> =
        words.iter().map(|(field, choice)| json!([field, choice, version(field)])).collect();
    json!([token.tenant.as_str(), token.person.as_str(), words]).to_string().into_bytes()
}
