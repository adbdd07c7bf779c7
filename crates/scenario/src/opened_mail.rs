//! A mail that is opened: its slots are asked for as a mail program asks for pictures, and named by the things that stand there.

use std::collections::BTreeSet;

use anyhow::{Context as _, ensure};
use axum::{
    Router,
    body::Body,
    http::{Request, StatusCode, header},
};
use futures::future::try_join_all;
use model::{Person, Tenant, UtcMillis};
use slot_lists::{SlotThing, codec::decode_list};
use slots::read::AskedList;
use stage::{mail_visitor::MailVisitor, world::StageMail};
use store::Store;
use tower::ServiceExt as _;
use web::visitor::VisitorClass;
use wire::{
    mail_slots::{MailSlots, PATH, read_slots},
    token::LinkSecret,
};

use crate::running_scene::RunningScene;

/// By what the links of mails lead here, for catalogues that have slots: nothing else of a scenario needs them.
pub(super) const ADDRESS: &str = "https://mail.example.org";
const SECRET: [u8; 32] = [19; 32];
/// What stands where no thing does.
const NOTHING: &str = "-";

/// With what they are signed.
pub(super) fn secret() -> LinkSecret {
    LinkSecret::new(SECRET)
}

/// A mail with slots, and who answers for them.
pub(super) struct OpenedMail<'a> {
    router: &'a Router,
    store: &'a dyn Store,
    now: UtcMillis,
    /// How often it is opened, at most, where the store fails now and then.
    tries: usize,
    slots: MailSlots,
    /// The text of the slots in addresses.
    text: String,
    /// In the order in which the mail shows them.
    places: Vec<usize>,
}

impl<'a> OpenedMail<'a> {
    /// The last mail that somebody got.
    pub fn find_last(
        mails: &[StageMail],
        (tenant, person): (&Tenant, &Person),
        running: &'a RunningScene,
        (now, tries): (UtcMillis, usize),
    ) -> anyhow::Result<Self> {
        let mail = mails.iter().rfind(|mail| mail.tenant == *tenant && mail.person == *person);
        let mail = mail.with_context(|| format!("{person} got no mail"))?;
        let RunningScene { intake: router, store, .. } = running;
        let before = format!("src=\"{ADDRESS}/{PATH}/");
        let pictures =
            mail.html.split(&before).skip(1).filter_map(|rest| rest.split('"').next()?.split_once('/'));
        let (mut texts, mut places, mut seen) = (BTreeSet::new(), Vec::new(), BTreeSet::new());
        for (text, place) in pictures {
            texts.insert(text.to_owned());
            let place: usize = place.parse().with_context(|| format!("`{place}` is not a place"))?;
            ensure!(seen.insert(place), "the mail shows its slot {place} twice");
            places.push(place);
        }
        ensure!(texts.len() == 1, "the mail has the slots of {} lists", texts.len());
        let text = texts.into_iter().next().unwrap_or_default();
        let slots =
            read_slots(&text, &secret()).context("an address of slots that the house did not sign")?;
        Ok(Self { router, store: &**store, now, tries, slots, text, places })
    }

    /// The same until it shows the same twice: where a store fails now and then, banners stand where things will.
    pub async fn open_calmly(&self, by: MailVisitor) -> anyhow::Result<Vec<String>> {
        let mut shown = self.open(by).await?;
        for _ in 1..self.tries {
            let again = self.open(by).await?;
            if again == shown {
                break;
            }
            shown = again;
        }
        Ok(shown)
    }

    /// The same with a click.
    pub async fn click_calmly(&self, place: usize) -> anyhow::Result<String> {
        let mut leads = self.click(place).await?;
        for _ in 1..self.tries {
            if leads != NOTHING {
                break;
            }
            leads = self.click(place).await?;
        }
        Ok(leads)
    }

    /// Asks for all of its pictures at once.
    pub async fn open(&self, by: MailVisitor) -> anyhow::Result<Vec<String>> {
        let (agent, visitor) = match by {
            MailVisitor::Reader => ("Mozilla/5.0 (X11; Linux) Firefox/140.0", VisitorClass::Reader),
            MailVisitor::Proxy => ("Mozilla/5.0", VisitorClass::Proxy),
            MailVisitor::Robot => ("Barracuda Sentinel (EE)", VisitorClass::Robot),
        };
        let pictures = self.places.iter().map(|place| self.ask(place.to_string(), agent));
        let pictures = try_join_all(pictures).await?;
        let things = self.load_things(&[visitor]).await?;
        let name = |address: String| match things.iter().find(|thing| *thing.image == *address) {
            Some(thing) => thing.subject.to_string(),
            // What a robot is shown is not kept, and is named by its address.
            None if visitor == VisitorClass::Robot => address,
            None => NOTHING.to_owned(),
        };
        Ok(pictures.into_iter().map(name).collect())
    }

    /// Where a click leads.
    pub async fn click(&self, place: usize) -> anyhow::Result<String> {
        let address =
            self.ask(format!("{place}/{}", render::SLOT_PAGE), "Mozilla/5.0 (X11) Firefox/140.0").await?;
        let things = self.load_things(&[VisitorClass::Reader, VisitorClass::Proxy]).await?;
        let thing = things.iter().find(|thing| *thing.link == *address);
        Ok(thing.map_or(NOTHING.to_owned(), |thing| thing.subject.to_string()))
    }

    async fn ask(&self, what: String, agent: &str) -> anyhow::Result<String> {
        let path = format!("/{PATH}/{}/{what}", self.text);
        let request = Request::builder().uri(&path).header(header::USER_AGENT, agent).body(Body::empty())?;
        let response = self.router.clone().oneshot(request).await?;
        ensure!(response.status() == StatusCode::FOUND, "{path} is answered {}", response.status());
        let leads = response.headers().get(header::LOCATION).context("a slot leads nowhere")?;
        Ok(leads.to_str()?.to_owned())
    }

    /// What stands in the lists that these are shown.
    async fn load_things(&self, visitors: &[VisitorClass]) -> anyhow::Result<Vec<SlotThing>> {
        let mut things = Vec::new();
        for visitor in visitors {
            let asked = AskedList { slots: self.slots.clone(), visitor: *visitor };
            let Some(key) = asked.answer_key() else { continue };
            let tenant: &Tenant = &self.slots.tenant;
            let found = self.store.find_answer(tenant, &key, self.now).await?;
            let list = found.and_then(|found| decode_list(&found.body));
            things.extend(list.iter().flat_map(|list| list.things().cloned()));
        }
        Ok(things)
    }
}
