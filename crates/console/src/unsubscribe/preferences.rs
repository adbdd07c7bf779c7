//! What holds of a person, and how a wish becomes a fact.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::Context as _;
use catalogue::ReaderLanguage;
use model::{Channel, Crowd, Kind, PlanName, SubjectRef, VersionedState, person::profile};
use preference_sheet::{MuteTarget, StatedFact};
use store::StateKey;
use views::explain;
use wire::token::LinkToken;

use super::{HttpApp, wish::ReaderWish, wish::choices};
use crate::reader_sheet::{ReaderRecord, state_facts};

/// What these facts are said to come from.
const SOURCE: &str = "unsubscribe";
/// Mutes that are shown; whoever has more of them has an app for that.
const MUTES_SHOWN_MAX: usize = 100;
/// The subjects that the person was told of last, for which names are looked up.
const TOLD_READ_MAX: usize = 500;

/// What is known of a person's mails.
#[derive(Default)]
pub struct MailPreferences {
    profile: VersionedState,
    mutes: VersionedState,
}

impl MailPreferences {
    /// Nothing of who was erased.
    pub async fn load(app: &HttpApp, token: &LinkToken) -> anyhow::Result<Option<Self>> {
        let record = ReaderRecord::load(app, (&token.tenant, &token.person)).await?;
        Ok(record.map(|ReaderRecord { profile, preferences }| Self { profile, mutes: preferences }))
    }

    /// Whether the person gets nothing on a channel.
    pub fn is_off(&self, channel: Channel) -> bool {
        self.profile.flag(channel.off())
    }

    /// The language that the profile states.
    pub fn language(&self) -> Option<&str> {
        self.profile.text(profile::LANGUAGE)
    }

    /// By which of the plans that are alternatives the person's mails come now.
    pub fn plan(&self, app: &HttpApp, token: &LinkToken) -> Option<PlanName> {
        let choices = choices(token, app.catalogue_of(&token.person));
        let named =
            app.catalogue_of(&token.person).kinds.values().filter(|kind| kind.plans.contains(&token.plan));
        let offers = named.filter(|kind| kind.plans.iter().filter(|plan| choices.contains(plan)).count() > 1);
        let told = |kind| {
            let plans = app.catalogue_of(&token.person).plans_for(kind, &self.profile);
            let of_channel = plans.into_iter().find(|plan| plan.channel == token.channel);
            of_channel.map(|plan| plan.name.clone()).filter(|plan| choices.contains(plan))
        };
        offers.into_iter().find_map(told)
    }

    /// What the person has muted and the catalogue still knows, in its order.
    pub fn mutes(&self, app: &HttpApp) -> Vec<MuteTarget> {
        let on = self.mutes.cells.keys().filter(|name| self.mutes.flag(name));
        let known = |mute: &MuteTarget| match mute {
            MuteTarget::Kind(kind) => app.catalogue.knows_kind(kind),
            MuteTarget::Actor(_) => true,
            MuteTarget::Subject(subject) | MuteTarget::Thread(subject) => {
                app.catalogue.subjects.contains_key(subject.kind())
            }
        };
        let mutes: BTreeSet<MuteTarget> =
            on.filter_map(|name| MuteTarget::from_flag(name)).filter(known).collect();
        mutes.into_iter().take(MUTES_SHOWN_MAX).collect()
    }

    /// Whether a wish is true already.
    pub fn satisfies(&self, wish: &ReaderWish, app: &HttpApp, token: &LinkToken) -> bool {
        match wish {
            ReaderWish::NoMail => self.is_off(token.channel),
            ReaderWish::MailAgain => !self.is_off(token.channel),
            ReaderWish::Plan(plan) => self.plan(app, token).as_ref() == Some(plan),
            ReaderWish::Less(mute) => self.mutes.flag(&mute.flag()),
            ReaderWish::More(mute) => !self.mutes.flag(&mute.flag()),
        }
    }

    /// The facts as they are once a wish came true.
    pub fn with_wish(mut self, wish: &ReaderWish, channel: Channel) -> Self {
        let flag = |on: bool| Some(model::Value::Flag(on));
        let (of, name, value) = match wish {
            ReaderWish::NoMail => (&mut self.profile, channel.off().to_owned(), flag(true)),
            ReaderWish::MailAgain => (&mut self.profile, channel.off().to_owned(), flag(false)),
            ReaderWish::Plan(plan) => {
                let value = Some(model::Value::from_text(plan.as_str()));
                (&mut self.profile, channel.plan().to_owned(), value)
            }
            ReaderWish::Less(mute) => (&mut self.mutes, mute.flag(), flag(true)),
            ReaderWish::More(mute) => (&mut self.mutes, mute.flag(), flag(false)),
        };
        of.set(&name, model::ValueCell { version: i64::MAX, value });
        self
    }

    /// The version of what is known of what a wish is about.
    fn version(&self, wish: &ReaderWish, channel: Channel) -> i64 {
        let cell = match wish {
            ReaderWish::NoMail | ReaderWish::MailAgain => self.profile.cells.get(channel.off()),
            ReaderWish::Plan(_) => self.profile.cells.get(channel.plan()),
            ReaderWish::Less(mute) | ReaderWish::More(mute) => self.mutes.cells.get(mute.flag().as_str()),
        };
        cell.map_or(i64::MIN, |cell| cell.version)
    }

    /// States the fact on the same way in as everybody: stored, then announced, then acknowledged. Says whether
    /// it was taken; if not, the same may be asked again.
    pub async fn state_wish(
        &self,
        app: &HttpApp,
        token: &LinkToken,
        wish: &ReaderWish,
    ) -> anyhow::Result<bool> {
        // Whatever counts the versions of a service that states it too, what its reader says now is newer.
        let version = app.now().0.max(self.version(wish, token.channel).saturating_add(1));
        let (sort, data) = wish.to_fact(token);
        Ok(state_facts(app, &token.tenant, SOURCE, &[StatedFact { sort, version, data }]).await?.is_ok())
    }
}

/// The names of what mutes are about, in the same order.
pub async fn load_mute_names(
    (app, language): (&HttpApp, &ReaderLanguage),
    token: &LinkToken,
    mutes: &[MuteTarget],
) -> anyhow::Result<Vec<String>> {
    let subjects: Vec<SubjectRef> = mutes.iter().filter_map(MuteTarget::subject).cloned().collect();
    let names = load_subject_names(app, token, &subjects, BTreeSet::new()).await?;
    let called = |subject: &SubjectRef| names.get(subject).cloned().unwrap_or_else(|| name_unknown(subject));
    let name = |mute: &MuteTarget| match mute {
        MuteTarget::Kind(kind) => title_kind((app, language), token, kind),
        MuteTarget::Actor(actor) => actor.as_str().to_owned(),
        MuteTarget::Subject(subject) | MuteTarget::Thread(subject) => called(subject),
    };
    Ok(mutes.iter().map(|mute| shell::terminal::clean_text(&name(mute))).collect())
}

/// What these subjects are called. Whoever has a link could ask for any subject there is: its name is said to those who
/// follow it, or were told of it or of what refers to it, and of those that are `known` to them otherwise.
pub async fn load_subject_names(
    app: &HttpApp,
    token: &LinkToken,
    subjects: &[SubjectRef],
    known: BTreeSet<SubjectRef>,
) -> anyhow::Result<BTreeMap<SubjectRef, String>> {
    let states = load_subject_states(app, token, subjects).await?;
    let known = load_known_subjects(app, token, subjects, known).await?;
    let named = subjects.iter().zip(&states).filter(|(subject, _)| known.contains(*subject));
    let name = |(subject, state): (&SubjectRef, &VersionedState)| {
        Some((subject.clone(), app.catalogue.name_of(subject, state)?.to_owned()))
    };
    Ok(named.filter_map(name).collect())
}

async fn load_subject_states(
    app: &HttpApp,
    token: &LinkToken,
    subjects: &[SubjectRef],
) -> anyhow::Result<Vec<VersionedState>> {
    let key = |subject: &SubjectRef| StateKey::Subject(token.tenant.clone(), subject.clone());
    let keys: Vec<StateKey> = subjects.iter().map(key).collect();
    app.house.engines().store.states(&keys).await.context("what mutes are about")
}

/// Which of these subjects the person knows, beside those that are known to them already.
async fn load_known_subjects(
    app: &HttpApp,
    token: &LinkToken,
    subjects: &[SubjectRef],
    mut known: BTreeSet<SubjectRef>,
) -> anyhow::Result<BTreeSet<SubjectRef>> {
    let LinkToken { tenant, person, .. } = token;
    let store = &*app.house.engines().store;
    let follow = |subject: &SubjectRef| (tenant.clone(), person.clone(), Crowd::Followers(subject.clone()));
    let follows = store.belongs(&subjects.iter().map(follow).collect::<Vec<_>>()).await?;
    let followed = subjects.iter().zip(follows).filter(|(_, follows)| *follows);
    known.extend(followed.map(|(subject, _)| subject.clone()));
    if subjects.iter().all(|subject| known.contains(subject)) {
        return Ok(known);
    }
    let view = explain::load_days(store, tenant, person, app.now()).await?;
    let mut told: Vec<SubjectRef> =
        view.entries().filter_map(|(_, entry)| entry.subject().cloned()).collect();
    told.reverse();
    told.truncate(TOLD_READ_MAX);
    let told: Vec<SubjectRef> = told.into_iter().collect::<BTreeSet<_>>().into_iter().collect();
    let refers_to = load_subject_states(app, token, &told).await?;
    known.extend(refers_to.iter().flat_map(|state| app.catalogue.related_refs(state)));
    known.extend(told);
    Ok(known)
}

/// What readers call a kind; the catalogue's own name where they have no words for it.
pub fn title_kind(of: (&HttpApp, &ReaderLanguage), token: &LinkToken, kind: &Kind) -> String {
    find_kind_title(of, token, kind).unwrap_or_else(|| kind.as_str().replace('_', " "))
}

/// The words that readers have for a kind: the section of a mail in which it alone stands, of their own mails first; else the
/// category that has no other.
pub fn find_kind_title(
    (app, language): (&HttpApp, &ReaderLanguage),
    token: &LinkToken,
    kind: &Kind,
) -> Option<String> {
    let catalogue = app.catalogue_of(&token.person);
    let own = catalogue.plans.by_name.get(&token.plan);
    let mails = catalogue.plans.by_name.values().filter(|plan| plan.channel == Channel::Email);
    let mut sections = own.into_iter().chain(mails).flat_map(|plan| &plan.sections);
    if let Some(section) = sections.find(|section| section.kinds == [kind.clone()]) {
        return Some(app.studio.section_title(&token.person, &section.title, Some(language.tag())));
    }
    let name = catalogue.kinds.get(kind)?.category.as_deref()?;
    let has_title = catalogue.categories.get(name).is_some_and(|category| !category.title.is_empty());
    let mut others = catalogue.kinds.values().filter(|other| other.name != *kind);
    let is_alone = others.all(|other| other.category.as_deref() != Some(name));
    let title = || app.studio.category_title(&token.person, name, Some(language.tag()));
    (has_title && is_alone).then(title)
}

/// A subject whose name is not there, or is not for everybody.
pub fn name_unknown(subject: &SubjectRef) -> String {
    format!("{} {}", subject.kind().replace('_', " "), subject.id())
}
