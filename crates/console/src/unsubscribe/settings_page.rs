//! All preferences of the reader of a mail, behind its link: to look at, to try on last week, and to save. No script is needed.

use std::collections::BTreeMap;

use axum::{
    extract::{Path, Request, State},
    http::HeaderMap,
    response::Response,
};
use catalogue::ReaderLanguage;
use model::{Channel, PlanName, person::profile};
use preference_sheet::{
    ChangedSheet, ChannelLine, ChoiceCell, PlanCadence, PreferenceSheet, ReaderState, ThingLine, TopicLine,
    change_sheet,
};
use preferences::PreferenceChoice;
use serde_json::{Value as Json, json};
use wire::token::{LinkToken, is_offered};

use super::{
    AppState, BUSY, HttpApp, HttpProblem, NO_FORM, TOO_OFTEN, TOO_OLD, accepted_text, is_young,
    preferences::title_kind,
    read_form, render_gone, sender_of,
    settings_form::{FormSlips, SettingsAct, SettingsForm},
    thing_list::{build_undo, list_things, name_place, undo_offer},
    time_fields::describe_times,
};
use crate::reader_sheet::{ReaderRecord, load_week, read_clock, state_facts};

/// Bytes of the form: a choice for each category and channel that a catalogue can have.
pub const FORM_BYTES_MAX: usize = 64 * 1024;
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
#[derive(Clone, PartialEq, Eq)]
enum SettingsNotice {
    Asks,
    Tried,
    /// It cannot be taken, by what is wrong with it.
    Refused(FormSlips),
    Saved,
    /// What was said of this, until just now.
    Ended(ThingLine),
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
    Ok(render(app, place, &record, &SettingsNotice::Asks, accepted.as_deref()).await?)
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
    let mut form = SettingsForm::parse(&String::from_utf8_lossy(&body)).ok_or(NO_FORM)?;
    let _permit = app.unsubscribe.permit()?;
    let of = (&token.tenant, &token.person);
    let Some(record) = ReaderRecord::load(&app, of).await? else {
        return Ok(render_gone(&app, &token, accepted.as_deref())?);
    };
    let reader = record.state(&app, of);
    form.take_past_break(&reader, read_clock(&app));
    let SettingsForm { act, change, slips } = form;
    let ended = match &act {
        SettingsAct::End(field) => PreferenceSheet::read(&reader).thing(field).cloned(),
        SettingsAct::Undo { words, proof } if !may_undo(&app, &token, &record, (words, proof)) => {
            return Err(NO_FORM);
        }
        _ => None,
    };
    let changed = change_sheet(&reader, of.1, &change, read_clock(&app)).map_err(|_| NO_FORM)?;
    let ChangedSheet { facts, profile, preferences } = changed;
    if act != SettingsAct::Try && slips.is_empty() && !facts.is_empty() {
        // To end a subscription is never too often: once all have ended, only what is counted begins another.
        let is_end = ended.as_ref().is_some_and(ThingLine::is_subscription);
        if !is_end && !app.unsubscribe.count_wish(&token, app.now()) {
            return Err(TOO_OFTEN);
        }
        state_facts(&app, of.0, SOURCE, &facts).await?.map_err(|_| BUSY)?;
    }
    let says = match (act, ended) {
        _ if !slips.is_empty() => SettingsNotice::Refused(slips),
        (SettingsAct::Try, _) => SettingsNotice::Tried,
        (_, Some(thing)) => SettingsNotice::Ended(thing),
        (_, None) => SettingsNotice::Saved,
    };
    let after = ReaderRecord { profile, preferences };
    let place = SettingsPlace { text: &text, token: &token, is_link: false };
    Ok(render(&app, place, &after, &says, accepted.as_deref()).await?)
}

/// Whether a page offered to take this back and nothing was said since, or all of it holds again. So a link begins nothing
/// that they never wanted.
fn may_undo(
    app: &HttpApp,
    token: &LinkToken,
    record: &ReaderRecord,
    (words, proof): (&BTreeMap<String, String>, &str),
) -> bool {
    let said = |field: &str| record.preferences.get(field).and_then(PreferenceChoice::from_value);
    let holds = words.iter().all(|(field, choice)| said(field).is_some_and(|now| now.name() == choice));
    holds || is_offered(proof, &undo_offer(token, record, words), app.unsubscribe.secret())
}

async fn render(
    app: &HttpApp,
    SettingsPlace { text, token, is_link }: SettingsPlace<'_>,
    record: &ReaderRecord,
    says: &SettingsNotice,
    accepted: Option<&str>,
) -> anyhow::Result<Response> {
    let of = (&token.tenant, &token.person);
    let stated = record.profile.text(profile::LANGUAGE);
    let language = &app.catalogue_of(&token.person).page_language(stated, accepted);
    let (reader, sheet) = (record.state(app, of), record.read_sheet(app, of, Some(language.tag())));
    let week = record.forecast(app, of, &load_week(app, of).await?);
    let week = week.iter().map(|one| {
        let plan = PlanName::new(&one.plan)
            .map(|plan| app.studio.plan_title(&token.person, &plan, Some(language.tag())));
        json!({"title": plan.unwrap_or_else(|_| one.plan.clone()), "messages": one.messages})
    });
    let slips = match says {
        SettingsNotice::Refused(slips) => slips,
        _ => &FormSlips::default(),
    };
    let ended = match says {
        SettingsNotice::Ended(thing) => Some(thing),
        _ => None,
    };
    let [subscriptions, mutes, ended_name] = list_things((app, language), token, &sheet, ended).await?;
    let own = json!({
        "sender": sender_of(app, token),
        "up": if is_link { "" } else { "../" },
        "token": text,
        "has_stop": token.channel == Channel::Email,
        "says": match says {
            SettingsNotice::Asks => "asks",
            SettingsNotice::Tried => "tried",
            SettingsNotice::Refused(_) => "refused",
            SettingsNotice::Saved => "saved",
            SettingsNotice::Ended(_) => "ended",
        },
        "topics": list_topics((app, token), &sheet, language),
        "channels": list_channels((&reader, &sheet), language),
        "times": describe_times((app, language), (&reader, &sheet), slips),
        "languages": list_languages(&sheet),
        "usual_language": name_language(reader.catalogue.language_for(None).tag()),
        "week": week.collect::<Vec<_>>(),
        "subscriptions": subscriptions,
        "mutes": mutes,
        "ended": ended_name,
        "undo": ended.and_then(|thing| build_undo(app, token, record, thing)),
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
            "label": name_place(&cell.channel, language),
            "options": cell.offers.iter().map(option).collect::<Vec<_>>(),
        })
    };
    let topic = |line: &TopicLine| {
        let kind = line.kind.as_ref().and_then(|kind| model::Kind::new(kind).ok());
        let title = kind.map_or_else(|| line.title.clone(), |kind| title_kind((app, language), token, &kind));
        let cells: Vec<Json> = line.channels.iter().map(|one| cell(line, one)).collect();
        json!({"title": title, "critical": line.critical, "cells": cells})
    };
    sheet.topics.iter().map(topic).collect()
}

fn list_channels(
    (reader, sheet): (&ReaderState<'_>, &PreferenceSheet),
    language: &ReaderLanguage,
) -> Vec<Json> {
    let usual = |line: &ChannelLine| {
        let channel = Channel::ALL.into_iter().find(|channel| channel.name() == line.channel)?;
        let plan = reader.find_usual_plan(channel)?;
        line.plans.iter().find(|one| one.plan == plan.as_str()).map(|one| one.title.clone())
    };
    let channels = sheet.channels.iter().map(|line| {
        let plan = |plan: &preference_sheet::SheetPlan| {
            json!({"name": plan.plan, "title": plan.title, "on": line.plan.as_ref() == Some(&plan.plan)})
        };
        json!({
            "name": line.channel,
            "label": name_place(&line.channel, language),
            "off": line.off,
            "usual": usual(line),
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
        let is_on = sheet.language.is_some() && sheet.spoken == *tag;
        json!({"tag": tag, "name": name_language(tag), "on": is_on})
    };
    sheet.languages.iter().map(language).collect()
}

fn name_language(tag: &str) -> String {
    let name = ReaderLanguage::new(tag).map(|language| language.house_sentence("language-name", &[]));
    let name = name.unwrap_or_else(|_| tag.to_owned());
    if tag.contains('-') { format!("{name} ({tag})") } else { name }
}

fn name_cadence(cadence: PlanCadence, language: &ReaderLanguage) -> String {
    language.house_sentence(&format!("cadence-{}", cadence.name().replace('_', "-")), &[])
}
