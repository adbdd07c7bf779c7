//! The links of a message: the one by which its reader asks for no more, the one by which a push says that it was read, and those
//! of mails that are counted where a plan wants that. Each is signed and says what it is for.

use std::cell::Cell;

use anyhow::Context as _;
use catalogue::MailCounting;
use html_escape::decode_html_entities;
use lol_html::{RewriteStrSettings, element, html_content::ContentType, rewrite_str};
use model::{Day, EntryKey, ready::Ready};
use wire::{
    mail_slots::{self, MailSlots},
    mark_right::{self, MarkRight},
    token::{self, LinkSecret, LinkToken},
    visit::{self, LinkVisit, LinkVisitAction},
};

/// The path behind the public address under which tokens are taken.
pub const PATH: &str = "u";
/// The paths of links that were followed, and of the picture that says that a mail was opened.
pub const FOLLOWED: &str = "u/l";
pub const OPENED: &str = "u/o";
/// The path under which rights to say that a message was read are taken.
pub const READ: &str = "u/r";

/// Links of one mail that are counted; what comes behind leads where it leads.
const COUNTED_MAX: usize = 500;

/// Where links lead, and what they are signed with.
#[derive(Clone, Debug)]
pub struct MailLinks {
    public_url: String,
    secret: LinkSecret,
}

impl MailLinks {
    /// The address by which readers reach the house.
    pub fn new(public_url: &str, secret: LinkSecret) -> Self {
        Self { public_url: public_url.trim_end_matches('/').to_owned(), secret }
    }

    /// The link for the reader of a Ready: the same person, plan, channel and day have the same link.
    pub fn unsubscribe(&self, ready: &Ready) -> String {
        let Ready { tenant, person, plan, channel, due, .. } = ready;
        let (tenant, person, plan) = (tenant.clone(), person.clone(), plan.clone());
        let token = LinkToken { tenant, person, plan, channel: *channel, day: Some(Day::from_instant(*due)) };
        let text = token::sign_token(&token, &self.secret);
        format!("{}/{PATH}/{text}", self.public_url)
    }

    /// The link by which the reader says that they read what a Ready tells; nothing if its entries are of too many days.
    pub fn read(&self, ready: &Ready) -> Option<String> {
        let Ready { tenant, person, channel, .. } = ready;
        let days = || ready.keys().map(EntryKey::day);
        let (first, last) = (days().min()?, days().max()?);
        let more = u8::try_from(last.0.checked_sub(first.0)?).ok()?;
        let (tenant, person) = (tenant.clone(), person.clone());
        let right = MarkRight { tenant, person, channel: *channel, ready: ready.teller(), first, more };
        Some(format!("{}/{READ}/{}", self.public_url, mark_right::sign_mark(&right, &self.secret)))
    }

    /// The address of the slots of a mail, at which a list stands. Each slot's own is behind it.
    pub fn slots(&self, ready: &Ready, list: &str) -> Option<String> {
        let Ready { tenant, id, .. } = ready;
        let slots = MailSlots { tenant: tenant.clone(), ready: *id, list: list.to_owned() };
        Some(format!(
            "{}/{}/{}",
            self.public_url,
            mail_slots::PATH,
            mail_slots::sign_slots(&slots, &self.secret)?
        ))
    }

    /// A mail whose links lead by the house, and with a picture that says that it was opened, as far as the plan wants
    /// that. Links of the house's own are left alone.
    pub fn with_counted_links(
        &self,
        html: String,
        ready: &Ready,
        counts: MailCounting,
    ) -> anyhow::Result<String> {
        let MailCounting { followed, opened } = counts;
        if !followed && !opened {
            return Ok(html);
        }
        let seen = Cell::new(0);
        let link = element!("a[href]", |link| {
            let address = link.get_attribute("href").unwrap_or_default();
            let address = decode_html_entities(&address).into_owned();
            seen.set(seen.get() + 1);
            let is_counted = followed && seen.get() <= COUNTED_MAX && self.leads_out(&address);
            let visit =
                is_counted.then(|| self.visit_link(ready, LinkVisitAction::Followed(address), FOLLOWED));
            if let Some(visit) = visit.flatten() {
                link.set_attribute("href", &visit)?;
            }
            Ok(())
        });
        let body = element!("body", |body| {
            let point = opened.then(|| self.visit_link(ready, LinkVisitAction::Opened, OPENED));
            if let Some(point) = point.flatten() {
                let point = format!(
                    "<img src=\"{point}\" width=\"1\" height=\"1\" alt=\"\" style=\"display:block\" />"
                );
                body.append(&point, ContentType::Html);
            }
            Ok(())
        });
        let settings = RewriteStrSettings::new()
            .append_element_content_handler(link)
            .append_element_content_handler(body);
        rewrite_str(&html, settings).context("count the links of a mail")
    }

    fn visit_link(&self, ready: &Ready, what: LinkVisitAction, path: &str) -> Option<String> {
        let Ready { tenant, plan, due, .. } = ready;
        let visit = LinkVisit { tenant: tenant.clone(), plan: plan.clone(), due: *due, what };
        Some(format!("{}/{path}/{}", self.public_url, visit::sign_visit(&visit, &self.secret)?))
    }

    fn leads_out(&self, address: &str) -> bool {
        let is_ours = address.strip_prefix(&self.public_url).is_some_and(|rest| rest.starts_with('/'));
        !is_ours && (address.starts_with("https://") || address.starts_with("http://"))
    }

    pub fn secret(&self) -> &LinkSecret {
        &self.secret
    }
}

#[cfg(test)]
mod tests;
