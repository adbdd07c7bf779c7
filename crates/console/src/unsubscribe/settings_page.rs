//! All preferences of the reader of a mail, behind its link: to look at, to try on last week, and to save. No script is needed.

use std::collections::BTreeMap;

use axum::{
    extract::{Path, Query, Request, State},
    http::{HeaderMap, Uri},
    response::Response,
};
use catalogue::ReaderLanguage;
use model::{Channel, PlanName, person::profile};
use preference_sheet::{
    ChangedSheet, ChannelChange, ChoiceCell, ChoiceChange, MuteTarget, PlanCadence, PreferenceSheet,
    SheetChange, StatedText, ThingLine, TopicLine, change_sheet,
};
use preferences::{PreferenceChoice, PreferenceField};
use serde_json::{Value as Json, json};
use wire::token::LinkToken;

use super::{
    AppState, BUSY, HttpApp, HttpProblem, NO_FORM, TOO_OFTEN, TOO_OLD, accepted_text, is_young,
    preferences::{load_mute_names, title_kind},
    read_form, render_gone, sender_of,
};
use crate::reader_sheet::{ReaderRecord, load_week, state_facts};

/// Bytes of the form: a choice for each category and channel that a catalogue can have.
pub const FORM_BYTES_MAX: usize = 64 * 1024;
/// Things that are shown; whoever has more of them has an app for that.
const THINGS_SHOWN_MAX: usize = 100;
/// What these facts are said to come from.
const SOURCE: &str = "settings";

/// Where the page stands, and whose it is.
#[derive(Clone, Copy)]
struct SettingsPlace<'a> {
    text: &'a str,
    token: &'a LinkToken,
    /// At the link itself, and not beneath it.
    is_link: bool,
}

/// What the page says first.
#[derive(Clone, Copy, PartialEq, Eq)]
enum SettingsNotice {
    Asks,
    Tried,
    Saved,
}

pub async fn show_settings(
    State(app): AppState,
    Path(text): Path<String>,
    headers: HeaderMap,
) -> Result<Response, HttpProblem> {
    let token = app.unsubscribe.read(&text)?;
    show(&app, SettingsPlace { text: &text, token: &token, is_link: false }, &headers).await
}

/// The same at the link itself, of a message that is no mail.
pub async fn show_at_link(
    app: &HttpApp,
    (text, token): (&str, &LinkToken),
    headers: &HeaderMap,
) -> Result<Response, HttpProblem> {
    show(app, SettingsPlace { text, token, is_link: true }, headers).await
}

async fn show(app: &HttpApp, place: SettingsPlace<'_>, headers: &HeaderMap) -> Result<Response, HttpProblem> {
    let token = place.token;
    // It says what somebody chose, which ending their mails does not.
    if !is_young(token, app.now()) {
        return Err(TOO_OLD);
    }
    let _permit = app.unsubscribe.permit()?;
    let accepted = accepted_text(headers);
    let Some(record) = ReaderRecord::load(app, (&token.tenant, &token.person)).await? else {
        return Ok(render_gone(app, token, accepted.as_deref())?);
    };
    Ok(render(app, place, &record, SettingsNotice::Asks, accepted.as_deref()).await?)
}

pub async fn save_settings(
    State(app): AppState,
    Path(text): Path<String>,
    request: Request,
) -> Result<Response, HttpProblem> {
    let token = app.unsubscribe.read(&text)?;
    if !is_young(&token, app.now()) {
        return Err(TOO_OLD);
    }
    let accepted = accepted_text(request.headers());
    let body = read_form(request).await?;
    let (is_trial, change) = parse_form(&String::from_utf8_lossy(&body)).ok_or(NO_FORM)?;
    let _permit = app.unsubscribe.permit()?;
    let of = (&token.tenant, &token.person);
    let Some(record) = ReaderRecord::load(&app, of).await? else {
        return Ok(render_gone(&app, &token, accepted.as_deref())?);
    };
    let changed = change_sheet(&record.state(&app, of), of.1, &change, app.now()).map_err(|_| NO_FORM)?;
    let ChangedSheet { facts, profile, preferences } = changed;
    if !is_trial && !facts.is_empty() {
        if !app.unsubscribe.count_wish(&token, app.now()) {
            return Err(TOO_OFTEN);
        }
        state_facts(&app, of.0, SOURCE, &facts).await?.map_err(|_| BUSY)?;
    }
    let says = if is_trial { SettingsNotice::Tried } else { SettingsNotice::Saved };
    let after = ReaderRecord { profile, preferences };
    let place = SettingsPlace { text: &text, token: &token, is_link: false };
    Ok(render(&app, place, &after, says, accepted.as_deref()).await?)
}

/// What a form asks for, and whether only to try it.
fn parse_form(body: &str) -> Option<(bool, SheetChange)> {
    let address: Uri = format!("/?{}", body.trim()).parse().ok()?;
    let Query(pairs) = Query::<Vec<(String, String)>>::try_from_uri(&address).ok()?;
    let fields: BTreeMap<&str, &str> =
        pairs.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    // A field that is given twice does not come from our page.
    if fields.len() != pairs.len() {
        return None;
    }
    let is_trial = match *fields.get("do")? {
        "save" => false,
        "try" => true,
        "again" => {
            let choice = choose_thing(fields.get("thing")?)?;
            return Some((false, SheetChange { choices: vec![choice], ..SheetChange::default() }));
        }
        _ => return None,
    };
    let stated = |value: &str| StatedText(Some(value.to_owned()).filter(|value| !value.is_empty()));
    let mut change = SheetChange {
        language: fields.get("language").map(|tag| stated(tag)),
        hour: fields.get("hour").map(|hour| stated(hour)),
        quiet: match (fields.get("from"), fields.get("until")) {
            (Some(&from), Some(&until)) if from.is_empty() || until.is_empty() || from == until => {
                Some(StatedText(None))
            }
            (Some(from), Some(until)) => Some(stated(&format!("{from}-{until}"))),
            _ => None,
        },
        ..SheetChange::default()
    };
    for (name, value) in fields {
        if let Some(channel) = name.strip_prefix("o:") {
            let of_channel: &mut ChannelChange = change.channels.entry(channel.to_owned()).or_default();
            of_channel.off = Some(value == "off");
        } else if let Some(channel) = name.strip_prefix("p:") {
            let of_channel: &mut ChannelChange = change.channels.entry(channel.to_owned()).or_default();
            of_channel.plan = Some(stated(value));
        } else if let Some(field) = name.strip_prefix("c:") {
            change.choices.push(choose_topic(field, value)?);
        }
    }
    Some((is_trial, change))
}

/// A choice of a category or a kind on a channel, by the name of its field.
fn choose_topic(field: &str, choice: &str) -> Option<ChoiceChange> {
    let PreferenceField { channel, sort, of } = PreferenceField::parse(field);
    let mut change = ChoiceChange {
        choice: choice.to_owned(),
        channel: channel.map(str::to_owned),
        ..ChoiceChange::default()
    };
    match sort {
        preferences::CATEGORY => change.category = Some(of.to_owned()),
        preferences::KIND => change.kind = Some(of.to_owned()),
        _ => return None,
    }
    Some(change)
}

/// That something said of one thing holds no longer.
fn choose_thing(field: &str) -> Option<ChoiceChange> {
    let PreferenceField { sort, of: id, .. } = PreferenceField::parse(field);
    let mut change = ChoiceChange { choice: "default".to_owned(), ..ChoiceChange::default() };
    let of = |of: &str| Some(of.to_owned());
    match sort {
        preferences::ACTOR => change.actor = of(id),
        preferences::SUBJECT => change.subject = of(id),
        preferences::THREAD => change.thread = of(id),
        preferences::ABOUT => {
            let (kind, subject) = id.split_once(' ')?;
            (change.kind, change.subject) = (of(kind), of(subject));
        }
        _ => return None,
    }
    Some(change)
}

async fn render(
    app: &HttpApp,
    SettingsPlace { text, token, is_link }: SettingsPlace<'_>,
    record: &ReaderRecord,
    says: SettingsNotice,
    accepted: Option<&str>,
) -> anyhow::Result<Response> {
    let of = (&token.tenant, &token.person);
    let stated = record.profile.text(profile::LANGUAGE);
    let language = &app.catalogue_of(&token.person).page_language(stated, accepted);
    let sheet = record.read_sheet(app, of, Some(language.tag()));
    let week = record.forecast(app, of, &load_week(app, of).await?);
    let week = week.iter().map(|one| {
        let plan = PlanName::new(&one.plan)
            .map(|plan| app.studio.plan_title(&token.person, &plan, Some(language.tag())));
        json!({"title": plan.unwrap_or_else(|_| one.plan.clone()), "messages": one.messages})
    });
    let (quiet_from, quiet_until) =
        sheet.quiet.as_deref().and_then(|quiet| quiet.split_once('-')).unwrap_or_default();
    let hours: Vec<String> = (0..24).map(|hour| format!("{hour:02}:00")).collect();
    let mut quiet_hours = hours.clone();
    quiet_hours
        .extend([quiet_from, quiet_until].map(str::to_owned).into_iter().filter(|time| !time.is_empty()));
    quiet_hours.sort();
    quiet_hours.dedup();
    let own = json!({
        "sender": sender_of(app, token),
        "up": if is_link { "" } else { "../" },
        "token": text,
        "has_stop": token.channel == Channel::Email,
        "says": match says {
            SettingsNotice::Asks => "asks",
            SettingsNotice::Tried => "tried",
            SettingsNotice::Saved => "saved",
        },
        "topics": list_topics((app, token), &sheet, language),
        "channels": list_channels(&sheet, language),
        "hours": hours,
        "hour": sheet.hour,
        "quiet_hours": quiet_hours,
        "quiet_from": quiet_from,
        "quiet_until": quiet_until,
        "languages": list_languages(&sheet),
        "week": week.collect::<Vec<_>>(),
        "things": list_things((app, token), &sheet.things, language).await?,
    });
    app.render_alone("settings.html", &own, language)
}

fn list_topics(
    (app, token): (&HttpApp, &LinkToken),
    sheet: &PreferenceSheet,
    language: &ReaderLanguage,
) -> Vec<Json> {
    let mut number = 0;
    let mut cell = |line: &TopicLine, cell: &ChoiceCell| {
        number += 1;
        let topic = match (&line.category, &line.kind) {
            (Some(category), _) => format!("{} {category}", preferences::CATEGORY),
            (None, kind) => format!("{} {}", preferences::KIND, kind.as_deref().unwrap_or_default()),
        };
        let option = |offer: &preference_sheet::ChoiceOffer| {
            let label = match offer.cadence {
                Some(cadence) if offer.choice != PreferenceChoice::Off.name() => {
                    name_cadence(cadence, language)
                }
                _ => language.house_sentence("settings-off", &[]),
            };
            json!({"value": offer.choice, "label": label, "on": offer.choice == cell.choice})
        };
        json!({
            "id": format!("c{number}"),
            "name": format!("{}/{topic}", cell.channel),
            "label": name_channel(&cell.channel, language),
            "options": cell.offers.iter().map(option).collect::<Vec<_>>(),
        })
    };
    let topic = |line: &TopicLine| {
        let kind = line.kind.as_ref().and_then(|kind| model::Kind::new(kind).ok());
        let title = match (&line.category, kind) {
            (None, Some(kind)) => title_kind((app, language), token, &kind),
            (category, _) => category.clone().unwrap_or_default().replace('_', " "),
        };
        let cells: Vec<Json> = line.channels.iter().map(|one| cell(line, one)).collect();
        json!({"title": title, "critical": line.critical, "cells": cells})
    };
    sheet.topics.iter().map(topic).collect()
}

fn list_channels(sheet: &PreferenceSheet, language: &ReaderLanguage) -> Vec<Json> {
    let channels = sheet.channels.iter().map(|line| {
        let plan = |plan: &preference_sheet::SheetPlan| {
            json!({"name": plan.plan, "title": plan.title, "on": line.plan.as_ref() == Some(&plan.plan)})
        };
        json!({
            "name": line.channel,
            "label": name_channel(&line.channel, language),
            "off": line.off,
            "plans": line.plans.iter().map(plan).collect::<Vec<_>>(),
        })
    });
    channels.collect()
}

/// The languages among which there is a choice, each by its own name.
fn list_languages(sheet: &PreferenceSheet) -> Vec<Json> {
    if sheet.languages.len() < 2 {
        return Vec::new();
    }
    let language = |tag: &String| {
        let name = ReaderLanguage::new(tag).map(|language| language.house_sentence("language-name", &[]));
        let name = name.unwrap_or_else(|_| tag.clone());
        let name = if tag.contains('-') { format!("{name} ({tag})") } else { name };
        json!({"tag": tag, "name": name, "on": sheet.language.is_some() && sheet.spoken == *tag})
    };
    sheet.languages.iter().map(language).collect()
}

/// What the person wants to hear no more of, by name.
async fn list_things(
    (app, token): (&HttpApp, &LinkToken),
    things: &[ThingLine],
    language: &ReaderLanguage,
) -> anyhow::Result<Vec<Json>> {
    let off = things.iter().filter(|thing| thing.choice == PreferenceChoice::Off.name());
    let mut fields: Vec<String> = off.map(|thing| format!("{} {}", thing.about, thing.id)).collect();
    fields.dedup();
    fields.truncate(THINGS_SHOWN_MAX);
    let mutes: Vec<MuteTarget> = fields.iter().filter_map(|field| MuteTarget::from_flag(field)).collect();
    let names = load_mute_names((app, language), token, &mutes).await?;
    let named: BTreeMap<String, String> = mutes.iter().map(MuteTarget::flag).zip(names).collect();
    let thing = |field: &String| {
        let id = || field.split_once(' ').map_or(field.as_str(), |(_, id)| id);
        let name = named.get(field).cloned().unwrap_or_else(|| shell::terminal::clean_text(id()));
        json!({"field": field, "name": name})
    };
    Ok(fields.iter().map(thing).collect())
}

/// What readers call a channel; a hook is called by its name.
fn name_channel(channel: &str, language: &ReaderLanguage) -> String {
    match Channel::parse(channel) {
        Some(Channel::Email) => language.house_sentence("channel-email", &[]),
        Some(Channel::Push) => language.house_sentence("channel-push", &[]),
        _ => channel.to_owned(),
    }
}

fn name_cadence(cadence: PlanCadence, language: &ReaderLanguage) -> String {
    language.house_sentence(&format!("cadence-{}", cadence.name().replace('_', "-")), &[])
}
