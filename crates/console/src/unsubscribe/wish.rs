//! What a reader wants: said by a button, by a mailbox's one click, or by what the link of a mail asks about.

use axum::{extract::Query, http::Uri};
use catalogue::Catalogue;
use model::{Person, PlanName};
use preference_sheet::MuteTarget;
use serde::Deserialize;
use serde_json::{Value as Json, json};
use wire::token::LinkToken;

/// What is said about messages of the channel of the link.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ReaderWish {
    NoMail,
    MailAgain,
    /// Mails by this plan, of those that are alternatives.
    Plan(PlanName),
    /// Nothing more of this.
    Less(MuteTarget),
    /// That after all.
    More(MuteTarget),
}

/// What a link or a form says. A parameter that is given twice does not come from our pages.
#[derive(Default, Deserialize)]
struct WishParams {
    #[serde(rename = "do")]
    act: Option<String>,
    plan: Option<String>,
    less: Option<String>,
}

impl ReaderWish {
    /// What a form asks for: one of our own buttons, or a mailbox's one click, which may come as parts.
    pub fn from_form(
        content_type: &str,
        body: &str,
        token: &LinkToken,
        catalogue: &Catalogue,
    ) -> Option<Self> {
        if content_type.to_ascii_lowercase().starts_with("multipart/form-data") {
            let (_, value) = body.split_once("name=\"List-Unsubscribe\"")?;
            let value = value.trim_start().lines().next()?;
            return (value.trim() == "One-Click").then_some(Self::NoMail);
        }
        let plain = body.trim().split('&').find_map(|pair| match pair {
            "do=off" | "List-Unsubscribe=One-Click" => Some(Self::NoMail),
            "do=on" => Some(Self::MailAgain),
            _ => None,
        });
        plain.or_else(|| {
            let said = parse_params(body.trim())?;
            match said.act.as_deref()? {
                "plan" => Some(Self::Plan(choose_plan(&said.plan?, token, catalogue)?)),
                "less" => Some(Self::Less(MuteTarget::parse_link(&said.less?, catalogue)?)),
                "more" => Some(Self::More(MuteTarget::from_flag(&said.less?)?)),
                _ => None,
            }
        })
    }

    /// Whether a form is the one click of a mailbox, which says nothing of what it is about: that stands in the link.
    pub fn is_one_click(&self, body: &str) -> bool {
        *self == Self::NoMail && !body.trim().split('&').any(|pair| pair == "do=off")
    }

    /// Whether the link of a mail asks about anything beside the end of all mails.
    pub fn is_in_link(query: &str) -> bool {
        query.split('&').any(|pair| pair.starts_with("plan=") || pair.starts_with("less="))
    }

    /// What the link of a mail asks about; nothing where the catalogue of today has no such thing.
    pub fn from_link(query: &str, token: &LinkToken, catalogue: &Catalogue) -> Option<Self> {
        match parse_params(query)? {
            WishParams { plan: Some(plan), .. } => Some(Self::Plan(choose_plan(&plan, token, catalogue)?)),
            WishParams { less: Some(less), .. } => {
                Some(Self::Less(MuteTarget::parse_link(&less, catalogue)?))
            }
            WishParams { .. } => None,
        }
    }

    /// The fact that says so: its type, and what it states of the person.
    pub fn to_fact(&self, LinkToken { person, channel, .. }: &LinkToken) -> (&'static str, Json) {
        let profile = |field: &str, value: Json| ("tidings.profile", fact_field(person, field, value));
        match self {
            Self::NoMail => profile(channel.off(), json!(true)),
            Self::MailAgain => profile(channel.off(), json!(false)),
            Self::Plan(plan) => profile(channel.plan(), json!(plan.as_str())),
            Self::Less(mute) => ("tidings.mute", mute.fact_data(person)),
            Self::More(mute) => ("tidings.unmute", mute.fact_data(person)),
        }
    }
}

fn fact_field(person: &Person, field: &str, value: Json) -> Json {
    json!({"person": person.as_str(), field: value})
}

/// A plan that the reader of this mail may have: its own, or one instead of it.
fn choose_plan(name: &str, token: &LinkToken, catalogue: &Catalogue) -> Option<PlanName> {
    choices(token, catalogue).into_iter().find(|plan| plan.as_str() == name)
}

/// All of those, where there is a choice.
pub fn choices(token: &LinkToken, catalogue: &Catalogue) -> Vec<PlanName> {
    let others = catalogue.alternatives(&token.plan);
    let is_of_channel =
        catalogue.plans.by_name.get(&token.plan).is_some_and(|plan| plan.channel == token.channel);
    if !is_of_channel || others.is_empty() {
        return Vec::new();
    }
    let others = others.into_iter().map(|plan| plan.name.clone());
    let mut all: Vec<PlanName> = std::iter::once(token.plan.clone()).chain(others).collect();
    all.sort();
    all
}

fn parse_params(pairs: &str) -> Option<WishParams> {
    let address: Uri = format!("/?{pairs}").parse().ok()?;
    Query::try_from_uri(&address).ok().map(|Query(said)| said)
}

#[cfg(test)]
mod tests {
    use model::{Channel, Tenant};

    use super::*;
    use house::testing::choices_catalogue as catalogue;

    fn token() -> LinkToken {
        LinkToken {
            tenant: Tenant::new("main").unwrap(),
            person: Person::new("ann").unwrap(),
            plan: PlanName::new("daily").unwrap(),
            channel: Channel::Email,
            day: None,
        }
    }

    #[test]
    fn a_form_is_a_button_or_a_click() {
        let form = "application/x-www-form-urlencoded";
        let parts = "multipart/form-data; boundary=x";
        let click =
            "--x\r\nContent-Disposition: form-data; name=\"List-Unsubscribe\"\r\n\r\nOne-Click\r\n--x--\r\n";
        let check = |content_type: &str, body: &str, expected: Option<ReaderWish>| {
            assert_eq!(ReaderWish::from_form(content_type, body, &token(), &catalogue()), expected, "{body}");
        };
        check(form, "do=off", Some(ReaderWish::NoMail));
        check(form, "do=on", Some(ReaderWish::MailAgain));
        check(form, "List-Unsubscribe=One-Click", Some(ReaderWish::NoMail));
        check(form, "List-Unsubscribe=One-Click\r\n", Some(ReaderWish::NoMail));
        check("", "List-Unsubscribe=One-Click", Some(ReaderWish::NoMail));
        check(parts, click, Some(ReaderWish::NoMail));
        check("Multipart/Form-Data; boundary=x", click, Some(ReaderWish::NoMail));
        check(parts, &click.replace("One-Click", "No"), None);
        check(parts, "List-Unsubscribe=One-Click", None);
        check(form, click, None);
        for nothing in ["", "do", "do=", "do=offf", "List-Unsubscribe=Two-Clicks", "\u{fffd}\0", "&&&="] {
            check(form, nothing, None);
            check(parts, nothing, None);
        }
    }

    #[test]
    fn what_is_chosen_is_of_the_catalogue() {
        let plan = |name: &str| Some(ReaderWish::Plan(PlanName::new(name).unwrap()));
        let of = |flag: &str| MuteTarget::from_flag(flag).unwrap();
        let check = |query: &str, expected: Option<ReaderWish>| {
            let (token, catalogue) = (token(), catalogue());
            assert_eq!(ReaderWish::from_link(query, &token, &catalogue), expected, "{query}");
            let act = if query.starts_with("plan") { "plan" } else { "less" };
            let form = format!("do={act}&{query}");
            assert_eq!(ReaderWish::from_form("", &form, &token, &catalogue), expected, "{form}");
        };
        check("plan=weekly", plan("weekly"));
        check("plan=daily", plan("daily"));
        check("less=maker:1", Some(ReaderWish::Less(of("thread maker:1"))));
        check("less=maker%3A1", Some(ReaderWish::Less(of("thread maker:1"))));
        check("less=item:1", Some(ReaderWish::Less(of("subject item:1"))));
        check("less=item_offered", Some(ReaderWish::Less(of("kind item_offered"))));
        let long = format!("less=maker:{}", "x".repeat(10_000));
        let hostile = [
            // Of another channel, of none, and none at all.
            "plan=ping",
            "plan=hourly",
            "plan=",
            "plan=Weekly",
            "plan=weekly%0D%0ABcc%3A%20x",
            "plan=weekly&plan=daily",
            "less=",
            "less=nothing",
            "less=spoon:1",
            "less=maker:",
            "less=maker:1%0D%0Aactor%20bob",
            "less=thread%20maker:1",
            "less=%ff",
            "less=<script>",
            "lass=maker:1",
            long.as_str(),
        ];
        hostile.into_iter().for_each(|query| check(query, None));
        assert_eq!(ReaderWish::from_link("", &token(), &catalogue()), None);
        let of_push = LinkToken { channel: Channel::Push, ..token() };
        assert_eq!(ReaderWish::from_link("plan=weekly", &of_push, &catalogue()), None);
        let gone = LinkToken { plan: PlanName::new("gone").unwrap(), ..token() };
        assert_eq!(ReaderWish::from_link("plan=weekly", &gone, &catalogue()), None);
    }
}
