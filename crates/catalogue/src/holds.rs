//! What holds a plan that is due, and how plans hang on each other: surfaces and caps of the whole catalogue;
//! `online`, `badge`, `quiet`, `urgent`, `follows` and `counts_on` of a plan.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use model::{
    Channel, Kind, PlanName, Tenant,
    limits::{COUNTED_MAX, DAY_MS},
    plan::{Cap, Follows, Hours, Online, Per, Plan, Quiet, Surface, Then},
};

use crate::{
    chosen,
    close::{duration_within, time_of_day, zone},
    limits::{AFTER_MS_MIN, CAPS_MAX, LOOK_BACK_DAYS_MAX, REST_MS_MIN, SURFACES_MAX},
    plans::channel,
    problem::{did_you_mean, one_of},
    read::{Fields, Reader},
    yaml::{At, Key, Node, What},
};

/// The keys of a plan that are read here.
pub(crate) const KEYS: [&str; 6] = ["urgent", "online", "badge", "quiet", "follows", "counts_on"];

/// What they say, with the place of the plan that is followed.
pub(crate) struct Holds {
    pub urgent: bool,
    pub online: Option<Online>,
    pub badge: bool,
    pub quiet: Option<Quiet>,
    pub follows: Option<(Follows, At)>,
    pub counts_on: Vec<Channel>,
}

/// Where people may be seen: `site: 15m`, or `app: {online: 15m, ask: live}`.
pub(crate) fn surfaces(reader: &mut Reader<'_>, node: &Node) -> Vec<Surface> {
    let Some(map) = reader.map(node, "surfaces") else { return Vec::new() };
    if map.len() > SURFACES_MAX {
        reader.problem(node.at, format!("{} surfaces, more than {SURFACES_MAX}", map.len()));
    }
    map.iter().filter_map(|(key, node)| surface(reader, key, node)).collect()
}

fn surface(reader: &mut Reader<'_>, key: &Key, node: &Node) -> Option<Surface> {
    reader.name(key, "a surface");
    let name: Arc<str> = key.name.as_str().into();
    let online = |reader: &mut Reader<'_>, node| {
        duration_within(reader, node, "the time that somebody counts as online", REST_MS_MIN..=DAY_MS)
    };
    if let What::Text(_) = &node.what {
        return Some(Surface { name, online_ms: online(reader, node)?, asks_live: false });
    }
    let fields = reader.fields(node, node.at, "a surface", &["online", "ask"])?;
    let length = fields.need(reader, "online")?;
    let online_ms = online(reader, length)?;
    let asks_live = match fields.get("ask") {
        None => false,
        Some(node) => word(reader, node, "`ask`", &[("live", true)])?,
    };
    Some(Surface { name, online_ms, asks_live })
}

/// A cap, with the places of the kinds that it names.
pub(crate) struct WrittenCap {
    pub cap: Cap,
    kinds: Vec<(String, At)>,
}

/// `few: {most: 3, per: day, zone: person, channel: email}`, or `{most: 1, per: 24h, kinds: [suggested]}`.
pub(crate) fn caps(reader: &mut Reader<'_>, node: &Node) -> Vec<WrittenCap> {
    let Some(map) = reader.map(node, "caps") else { return Vec::new() };
    if map.len() > CAPS_MAX {
        reader.problem(node.at, format!("{} caps, more than {CAPS_MAX}", map.len()));
    }
    map.iter().filter_map(|(key, node)| cap(reader, key, node)).collect()
}

fn cap(reader: &mut Reader<'_>, key: &Key, node: &Node) -> Option<WrittenCap> {
    reader.name(key, "a cap");
    let fields =
        reader.fields(node, key.at, "a cap", &["most", "per", "zone", "channel", "kinds", "tenants"])?;
    let counted = u16::try_from(COUNTED_MAX).unwrap_or(u16::MAX);
    let most = fields.need(reader, "most").and_then(|node| reader.whole(node, "`most`", 1, counted));
    let per = fields.need(reader, "per").and_then(|node| per(reader, node, &fields));
    let channel = match fields.get("channel") {
        Some(node) => Some(channel(reader, node)?),
        None => None,
    };
    let names = fields.get("kinds").map(|node| reader.texts(node, "`kinds`")).unwrap_or_default();
    let cap = Cap {
        name: key.name.as_str().into(),
        most: u8::try_from(most?).ok()?,
        per: per?,
        channel,
        kinds: names.iter().filter_map(|(name, _)| Kind::new(name).ok()).collect(),
        tenants: tenants(reader, &fields)?,
    };
    Some(WrittenCap { cap, kinds: names.into_iter().map(|(name, at)| (name.to_string(), at)).collect() })
}

/// Which tenants there are is not the catalogue's to say, but a name that none can have is a slip.
fn tenants(reader: &mut Reader<'_>, fields: &Fields<'_>) -> Option<Vec<Tenant>> {
    let Some(node) = fields.get("tenants") else { return Some(Vec::new()) };
    let mut tenants = Vec::new();
    for (name, at) in reader.texts(node, "`tenants`") {
        match Tenant::new(name) {
            Ok(tenant) => tenants.push(tenant),
            Err(error) => reader.problem(at, format!("`{name}` is no tenant: {error}")),
        }
    }
    if node.is_empty() {
        reader.problem(node.at, "`tenants` names no tenant");
        return None;
    }
    Some(tenants)
}

fn per(reader: &mut Reader<'_>, node: &Node, fields: &Fields<'_>) -> Option<Per> {
    let of_day = matches!(&node.what, What::Text(text) if text == "day");
    match (of_day, fields.get("zone")) {
        (true, Some(node)) => zone(reader, node).map(Per::Day),
        (true, None) => {
            reader.problem(
                node.at,
                "a cap per `day` needs `zone`: `person`, or a name such as `Europe/Berlin`",
            );
            None
        }
        (false, Some(zone)) => {
            reader.problem(zone.at, "`zone` has no meaning without `per: day`");
            None
        }
        (false, None) => {
            let bounds = AFTER_MS_MIN..=LOOK_BACK_DAYS_MAX * DAY_MS;
            duration_within(reader, node, "`per`", bounds).map(|ms| Per::Rolling { ms })
        }
    }
}

/// Caps name kinds that there are.
pub(crate) fn resolve_cap(reader: &mut Reader<'_>, written: WrittenCap, kinds: &[&str]) -> Cap {
    for (name, at) in &written.kinds {
        if !kinds.contains(&name.as_str()) {
            let help = did_you_mean(name, kinds.iter().copied());
            reader.problem_with(*at, format!("there is no kind `{name}`"), help);
        }
    }
    written.cap
}

/// Reads what holds one plan, of this channel.
pub(crate) fn read(reader: &mut Reader<'_>, fields: &Fields<'_>, own: Option<Channel>) -> Option<Holds> {
    let urgent = match fields.get("urgent") {
        Some(node) => reader.flag(node, "`urgent`")?,
        None => false,
    };
    let online = match fields.get("online") {
        Some(node) => Some(online(reader, node)?),
        None => None,
    };
    let badge = match fields.get("badge") {
        Some(node) => reader.flag(node, "`badge`")?,
        None => false,
    };
    let quiet = match fields.get("quiet") {
        Some(node) => Some(quiet(reader, node)?),
        None => None,
    };
    let follows = match fields.get("follows") {
        Some(node) => Some(follows(reader, node)?),
        None => None,
    };
    let counts_on = match fields.get("counts_on") {
        Some(node) => counts_on(reader, node, own)?,
        None => Vec::new(),
    };
    for key in ["online", "quiet"].iter().filter(|_| urgent) {
        if let Some(node) = fields.get(key) {
            reader
                .problem(node.at, format!("`{key}` has no meaning where `urgent` is set: nothing holds it"));
        }
    }
    Some(Holds { urgent, online, badge, quiet, follows, counts_on })
}

fn online(reader: &mut Reader<'_>, node: &Node) -> Option<Online> {
    if let What::Text(_) = &node.what {
        return word(reader, node, "`online`", &[("hold", Online::Hold), ("ended", Online::End)]);
    }
    let fields = reader.fields(node, node.at, "`online`", &["postpone"])?;
    let node = fields.need(reader, "postpone")?;
    let ms = duration_within(reader, node, "`postpone`", AFTER_MS_MIN..=DAY_MS)?;
    Some(Online::Postpone { ms })
}

fn quiet(reader: &mut Reader<'_>, node: &Node) -> Option<Quiet> {
    let fields = reader.fields(node, node.at, "`quiet`", &["from", "to", "zone", "then"])?;
    let from = fields.need(reader, "from").and_then(|node| time_of_day(reader, node, "`from`"));
    let to = fields.need(reader, "to").and_then(|node| time_of_day(reader, node, "`to`"));
    let zone = fields.need(reader, "zone").and_then(|node| zone(reader, node));
    let words = [("hold", Then::Hold), ("silent", Then::Silent), ("ended", Then::End)];
    let then = match fields.get("then") {
        Some(node) => word(reader, node, "`then`", &words)?,
        None => Then::Hold,
    };
    let hours = Hours { from: from?, to: to? };
    if hours.from == hours.to {
        reader.problem(node.at, "quiet hours from one time to the same would be all day");
        return None;
    }
    Some(Quiet { hours, zone: zone?, then })
}

/// The other channels on which what a plan tells counts as told.
fn counts_on(reader: &mut Reader<'_>, node: &Node, own: Option<Channel>) -> Option<Vec<Channel>> {
    let nodes = if let What::List(list) = &node.what { list } else { std::slice::from_ref(node) };
    let mut channels = Vec::new();
    for node in nodes {
        let channel = channel(reader, node)?;
        if Some(channel) == own {
            let what = format!("`counts_on` is for other channels: this plan is of `{channel}` itself");
            reader.problem(node.at, what);
        } else if channels.contains(&channel) {
            reader.problem(node.at, format!("`{channel}` is there twice"));
        }
        channels.push(channel);
    }
    if channels.is_empty() {
        reader.problem(node.at, "`counts_on` names no channel");
    }
    Some(channels)
}

fn follows(reader: &mut Reader<'_>, node: &Node) -> Option<(Follows, At)> {
    let fields = reader.fields(node, node.at, "`follows`", &["plan", "wait"])?;
    let plan = fields.need(reader, "plan")?;
    let names = reader.texts(plan, "`plan`");
    let plans: Vec<PlanName> = names.iter().filter_map(|(name, _)| PlanName::new(name).ok()).collect();
    if plans.is_empty() {
        reader.problem(plan.at, "`plan` names no plan");
        return None;
    }
    let wait = fields.need(reader, "wait")?;
    let wait_ms = duration_within(reader, wait, "`wait`", AFTER_MS_MIN..=7 * DAY_MS)?;
    Some((Follows { plans, wait_ms }, plan.at))
}

/// The plans that are followed are there and follow none themselves in a circle; and what they told can be told again.
pub(crate) fn resolve_follows(
    reader: &mut Reader<'_>,
    plan: &Plan,
    at: At,
    names: &BTreeMap<String, PlanName>,
    all: &BTreeMap<PlanName, Plan>,
) {
    let Some(follows) = &plan.follows else { return };
    for name in follows.plans.iter().filter(|name| !names.contains_key(name.as_str())) {
        let help = did_you_mean(name.as_str(), names.keys().map(String::as_str));
        reader.problem_with(at, format!("there is no plan `{name}`"), help);
    }
    let of =
        |name: &PlanName| all.get(name).and_then(|plan| plan.follows.as_ref()).map(|follows| &follows.plans);
    let mut before: BTreeSet<&PlanName> = follows.plans.iter().collect();
    for _ in all {
        let next: Vec<&PlanName> = before.iter().filter_map(|name| of(name)).flatten().collect();
        before.extend(next);
    }
    if before.contains(&plan.name) {
        reader.problem(at, format!("`{}` would follow itself", plan.name));
        return;
    }
    if let Some(same) =
        before.iter().find_map(|name| all.get(*name).filter(|one| one.channel == plan.channel))
    {
        let what =
            format!("`{}` tells on `{}` what `{}` told there before", plan.name, plan.channel, same.name);
        let help = "what was told on a channel is not told there again: follow a plan of another one";
        reader.problem_with(at, what, Some(help.to_string()));
    }
    let mut earlier = before.iter().filter_map(|name| all.get(*name));
    if let Some(other) = earlier.find(|other| other.counts_on.contains(&plan.channel)) {
        let what = format!(
            "what `{}` tells counts on `{}` too, so `{}` would have nothing to tell after it",
            other.name, plan.channel, plan.name
        );
        let help = format!("take `{}` out of `counts_on` of `{}`", plan.channel, other.name);
        reader.problem_with(at, what, Some(help));
    }
    let followed = follows.plans.iter().filter_map(|name| all.get(name));
    if let Some(other) = followed.into_iter().find(|other| !plan.key.is_empty() && other.key != plan.key) {
        let what = format!("the `key` of `{}` is not that of `{}`, which it follows", plan.name, other.name);
        let help =
            "a plan that follows has one window for each of the other's, or without a `key` one for all";
        reader.problem_with(at, what, Some(help.to_string()));
    }
}

/// A kind is told on each channel that it names, whatever plans the person prefers.
pub(crate) fn resolve_offers(reader: &mut Reader<'_>, kind: &str, offered: &[(&Plan, At)]) {
    let plans: Vec<&Plan> = offered.iter().map(|(plan, _)| *plan).collect();
    let Some((lost, preferred)) = chosen::unreachable(&plans) else { return };
    let Some((_, at)) = offered.iter().find(|(plan, _)| plan.name == lost.name) else { return };
    let followed = lost.follows.as_ref().map(|follows| one_of(follows.plans.iter().map(PlanName::as_str)));
    let what = format!(
        "who prefers `{}` is never told `{kind}` by `{}`, which follows {}",
        preferred.name,
        lost.name,
        followed.unwrap_or_default()
    );
    let help = format!("have a plan of `{}` follow `{}` too", lost.channel, preferred.name);
    reader.problem_with(*at, what, Some(help));
}

/// One of some words.
pub(crate) fn word<T: Copy>(
    reader: &mut Reader<'_>,
    node: &Node,
    what: &str,
    words: &[(&'static str, T)],
) -> Option<T> {
    let text = reader.text(node, what)?;
    let found = words.iter().find(|(name, _)| *name == text);
    if found.is_none() {
        let names: Vec<&str> = words.iter().map(|(name, _)| *name).collect();
        let help = did_you_mean(text, names.iter().copied());
        reader.problem_with(node.at, format!("{what} is {}", one_of(names)), help);
    }
    found.map(|(_, value)| *value)
}
