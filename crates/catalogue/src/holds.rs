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

/// Reads what holds one plan.
pub(crate) fn read(reader: &mut Reader<'_>, fields: &Fields<'_>) -> Option<Holds> {
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
    let mut counts_on = Vec::new();
    if let Some(What::List(list)) = fields.get("counts_on").map(|node| &node.what) {
        for node in list {
            counts_on.push(channel(reader, node)?);
        }
    } else if let Some(node) = fields.get("counts_on") {
        counts_on.push(channel(reader, node)?);
    }
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

/// The plan that is followed is there, and follows none itself in a circle.
pub(crate) fn resolve_follows(
    reader: &mut Reader<'_>,
    plan: &Plan,
    at: At,
    plans: &BTreeMap<String, PlanName>,
    all: &[(PlanName, Vec<PlanName>)],
) {
    let Some(follows) = &plan.follows else { return };
    for name in follows.plans.iter().filter(|name| !plans.contains_key(name.as_str())) {
        let help = did_you_mean(name.as_str(), plans.keys().map(String::as_str));
        reader.problem_with(at, format!("there is no plan `{name}`"), help);
    }
    let mut before: BTreeSet<&PlanName> = follows.plans.iter().collect();
    for _ in all {
        let next = all.iter().filter(|(of, _)| before.contains(of)).flat_map(|(_, next)| next);
        before.extend(next.collect::<Vec<_>>());
    }
    if before.contains(&plan.name) {
        reader.problem(at, format!("`{}` would follow itself", plan.name));
    }
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
