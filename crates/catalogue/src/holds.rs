//! What holds a plan that is due, and how plans hang on each other: surfaces and caps of the whole catalogue;
//! `read_online`, `badge`, `read_quiet`, `urgent`, `read_follows` and `read_counts_on` of a plan.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use model::{
    Channel, Kind, PlanName, Tenant,
    limits::DAY_MS,
    plan::{
        CapPeriod, EscalationRule, LocalHours, MessageCap, OnlineRule, OnlineSurface, Plan, QuietAction,
        QuietRule,
    },
};
use source_text::{
    did_you_mean, list_choices,
    yaml::{TreeKey, TreeNode, TreePlace, TreeValue},
};

use crate::{
    format::{
        CAP, CAPPED_MAX, FOLLOWS, ONLINE, QUIET, SURFACE_MAP,
        words::{ASK, ONLINE as ONLINE_WORDS, THEN},
    },
    limits::{AFTER_MS_MIN, CAPS_MAX, LOOK_BACK_DAYS_MAX, REST_MS_MIN, SURFACES_MAX},
    plan_choice,
    time_values::{read_duration_within, read_time_of_day, read_zone},
    tree_reader::{MapFields, TreeReader},
    word_choice::{read_channel, read_word},
};

/// What they say, with the place of the plan that is followed.
pub(crate) struct PlanHolds {
    pub urgent: bool,
    pub online: Option<OnlineRule>,
    pub badge: bool,
    pub quiet: Option<QuietRule>,
    pub follows: Option<(EscalationRule, TreePlace)>,
    pub counts_on: Vec<Channel>,
}

/// Where people may be seen: `site: 15m`, or `app: {online: 15m, ask: live}`.
pub(crate) fn read_surfaces(reader: &mut TreeReader<'_>, node: &TreeNode) -> Vec<OnlineSurface> {
    let Some(map) = reader.map(node, "surfaces") else { return Vec::new() };
    if map.len() > SURFACES_MAX {
        reader.problem(node.at, format!("{} surfaces, more than {SURFACES_MAX}", map.len()));
    }
    map.iter().filter_map(|(key, node)| read_surface(reader, key, node)).collect()
}

fn read_surface(reader: &mut TreeReader<'_>, key: &TreeKey, node: &TreeNode) -> Option<OnlineSurface> {
    reader.name(key, "a surface");
    let name: Arc<str> = key.name.as_str().into();
    let online = |reader: &mut TreeReader<'_>, node| {
        read_duration_within(
            reader,
            node,
            "the time for which a person counts as online",
            REST_MS_MIN..=DAY_MS,
        )
    };
    if let TreeValue::Text(_) = &node.what {
        return Some(OnlineSurface { name, online_ms: online(reader, node)?, asks_live: false });
    }
    let fields = reader.fields(node, node.at, &SURFACE_MAP)?;
    let length = fields.need(reader, "online")?;
    let online_ms = online(reader, length)?;
    let asks_live = match fields.get("ask") {
        None => false,
        Some(node) => read_word(reader, node, "`ask`", &ASK)?,
    };
    Some(OnlineSurface { name, online_ms, asks_live })
}

/// A cap, with the places of the kinds that it names.
pub(crate) struct CapDraft {
    pub cap: MessageCap,
    kinds: Vec<(String, TreePlace)>,
}

/// `few: {most: 3, per: day, zone: person, channel: email}`, or `{most: 1, per: 24h, kinds: [suggested]}`.
pub(crate) fn read_caps(reader: &mut TreeReader<'_>, node: &TreeNode) -> Vec<CapDraft> {
    let Some(map) = reader.map(node, "caps") else { return Vec::new() };
    if map.len() > CAPS_MAX {
        reader.problem(node.at, format!("{} caps, more than {CAPS_MAX}", map.len()));
    }
    map.iter().filter_map(|(key, node)| read_cap(reader, key, node)).collect()
}

fn read_cap(reader: &mut TreeReader<'_>, key: &TreeKey, node: &TreeNode) -> Option<CapDraft> {
    reader.name(key, "a cap");
    let fields = reader.fields(node, key.at, &CAP)?;
    let most =
        fields.need(reader, "most").and_then(|node| reader.whole_number(node, "`most`", 1, CAPPED_MAX));
    let per = fields.need(reader, "per").and_then(|node| read_cap_period(reader, node, &fields));
    let channel = match fields.get("channel") {
        Some(node) => Some(read_channel(reader, node)?),
        None => None,
    };
    let names = fields.get("kinds").map(|node| reader.texts(node, "`kinds`")).unwrap_or_default();
    let cap = MessageCap {
        name: key.name.as_str().into(),
        most: u8::try_from(most?).ok()?,
        per: per?,
        channel,
        kinds: names.iter().filter_map(|(name, _)| Kind::new(name).ok()).collect(),
        tenants: read_tenants(reader, &fields)?,
    };
    Some(CapDraft { cap, kinds: names.into_iter().map(|(name, at)| (name.to_string(), at)).collect() })
}

/// Which tenants there are is not the catalogue's to say, but a name that none can have is a slip.
fn read_tenants(reader: &mut TreeReader<'_>, fields: &MapFields<'_>) -> Option<Vec<Tenant>> {
    let Some(node) = fields.get("tenants") else { return Some(Vec::new()) };
    let mut tenants = Vec::new();
    for (name, at) in reader.texts(node, "`tenants`") {
        match Tenant::new(name) {
            Ok(tenant) => tenants.push(tenant),
            Err(error) => reader.problem(at, format!("`{name}` is not a tenant: {error}")),
        }
    }
    if node.is_empty() {
        reader.problem(node.at, "`tenants` names no tenant");
        return None;
    }
    Some(tenants)
}

fn read_cap_period(
    reader: &mut TreeReader<'_>,
    node: &TreeNode,
    fields: &MapFields<'_>,
) -> Option<CapPeriod> {
    let of_day = matches!(&node.what, TreeValue::Text(text) if text == "day");
    match (of_day, fields.get("zone")) {
        (true, Some(node)) => read_zone(reader, node).map(CapPeriod::Day),
        (true, None) => {
            reader.problem(
                node.at,
                "a cap per `day` needs `zone`: `person`, or a name such as `Europe/Berlin`",
            );
            None
        }
        (false, Some(zone)) => {
            reader.problem(zone.at, "`zone` has no effect without `per: day`");
            None
        }
        (false, None) => {
            let bounds = AFTER_MS_MIN..=LOOK_BACK_DAYS_MAX * DAY_MS;
            read_duration_within(reader, node, "`per`", bounds).map(|ms| CapPeriod::Rolling { ms })
        }
    }
}

/// Caps name kinds that there are.
pub(crate) fn resolve_cap(reader: &mut TreeReader<'_>, written: CapDraft, kinds: &[&str]) -> MessageCap {
    for (name, at) in &written.kinds {
        if !kinds.contains(&name.as_str()) {
            let help = did_you_mean(name, kinds.iter().copied());
            reader.problem_with(*at, format!("there is no kind `{name}`"), help);
        }
    }
    written.cap
}

/// Reads what holds one plan, of this channel.
pub(crate) fn read_holds(
    reader: &mut TreeReader<'_>,
    fields: &MapFields<'_>,
    own: Option<Channel>,
) -> Option<PlanHolds> {
    let urgent = match fields.get("urgent") {
        Some(node) => reader.flag(node, "`urgent`")?,
        None => false,
    };
    let online = match fields.get("online") {
        Some(node) => Some(read_online(reader, node)?),
        None => None,
    };
    let badge = match fields.get("badge") {
        Some(node) => reader.flag(node, "`badge`")?,
        None => false,
    };
    let quiet = match fields.get("quiet") {
        Some(node) => Some(read_quiet(reader, node)?),
        None => None,
    };
    let follows = match fields.get("follows") {
        Some(node) => Some(read_follows(reader, node)?),
        None => None,
    };
    let counts_on = match fields.get("counts_on") {
        Some(node) => read_counts_on(reader, node, own)?,
        None => Vec::new(),
    };
    for key in ["online", "quiet"].iter().filter(|_| urgent) {
        if let Some(node) = fields.get(key) {
            reader.problem(
                node.at,
                format!("`{key}` has no effect if `urgent` is set: nothing holds the window"),
            );
        }
    }
    Some(PlanHolds { urgent, online, badge, quiet, follows, counts_on })
}

fn read_online(reader: &mut TreeReader<'_>, node: &TreeNode) -> Option<OnlineRule> {
    if let TreeValue::Text(_) = &node.what {
        return read_word(reader, node, "`online`", &ONLINE_WORDS);
    }
    let fields = reader.fields(node, node.at, &ONLINE)?;
    let node = fields.need(reader, "postpone")?;
    let ms = read_duration_within(reader, node, "`postpone`", AFTER_MS_MIN..=DAY_MS)?;
    Some(OnlineRule::Postpone { ms })
}

fn read_quiet(reader: &mut TreeReader<'_>, node: &TreeNode) -> Option<QuietRule> {
    let fields = reader.fields(node, node.at, &QUIET)?;
    let from = fields.need(reader, "from").and_then(|node| read_time_of_day(reader, node, "`from`"));
    let to = fields.need(reader, "to").and_then(|node| read_time_of_day(reader, node, "`to`"));
    let zone = fields.need(reader, "zone").and_then(|node| read_zone(reader, node));
    let then = match fields.get("then") {
        Some(node) => read_word(reader, node, "`then`", &THEN)?,
        None => QuietAction::Hold,
    };
    let hours = LocalHours { from: from?, to: to? };
    if hours.from == hours.to {
        reader.problem(node.at, "quiet hours that begin and end at the same time would last all day");
        return None;
    }
    Some(QuietRule { hours, zone: zone?, then })
}

/// The other channels on which what a plan tells counts as told.
fn read_counts_on(
    reader: &mut TreeReader<'_>,
    node: &TreeNode,
    own: Option<Channel>,
) -> Option<Vec<Channel>> {
    let nodes = if let TreeValue::List(list) = &node.what { list } else { std::slice::from_ref(node) };
    let mut channels = Vec::new();
    for node in nodes {
        let channel = read_channel(reader, node)?;
        if Some(channel) == own {
            let what = format!("`counts_on` is for other channels: this plan is on `{channel}` itself");
            reader.problem(node.at, what);
        } else if channels.contains(&channel) {
            reader.problem(node.at, format!("`{channel}` is given twice"));
        }
        channels.push(channel);
    }
    if channels.is_empty() {
        reader.problem(node.at, "`counts_on` names no channel");
    }
    Some(channels)
}

fn read_follows(reader: &mut TreeReader<'_>, node: &TreeNode) -> Option<(EscalationRule, TreePlace)> {
    let fields = reader.fields(node, node.at, &FOLLOWS)?;
    let plan = fields.need(reader, "plan")?;
    let names = reader.texts(plan, "`plan`");
    let plans: Vec<PlanName> = names.iter().filter_map(|(name, _)| PlanName::new(name).ok()).collect();
    if plans.is_empty() {
        reader.problem(plan.at, "`plan` names no plan");
        return None;
    }
    let wait = fields.need(reader, "wait")?;
    let wait_ms = read_duration_within(reader, wait, "`wait`", AFTER_MS_MIN..=7 * DAY_MS)?;
    Some((EscalationRule { plans, wait_ms }, plan.at))
}

/// The plans that are followed are there and follow none themselves in a circle; and what they told can be told again.
pub(crate) fn resolve_follows(
    reader: &mut TreeReader<'_>,
    plan: &Plan,
    at: TreePlace,
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
        let what = format!(
            "`{}` would tell on `{}` what `{}` has told there already",
            plan.name, plan.channel, same.name
        );
        let help = "an entry is told once on each channel: follow a plan of another channel";
        reader.problem_with(at, what, Some(help.to_string()));
    }
    let mut earlier = before.iter().filter_map(|name| all.get(*name));
    if let Some(other) = earlier.find(|other| other.counts_on.contains(&plan.channel)) {
        let what = format!(
            "entries told by `{}` count on `{}`, too, so `{}` would have nothing to tell after it",
            other.name, plan.channel, plan.name
        );
        let help = format!("remove `{}` from `counts_on` of `{}`", plan.channel, other.name);
        reader.problem_with(at, what, Some(help));
    }
    let followed = follows.plans.iter().filter_map(|name| all.get(name));
    if let Some(other) = followed.into_iter().find(|other| !plan.key.is_empty() && other.key != plan.key) {
        let what = format!("`{}` has another `key` than `{}`, which it follows", plan.name, other.name);
        let help = "a plan that follows needs the same `key`, or none and one window for all";
        reader.problem_with(at, what, Some(help.to_string()));
    }
}

/// A kind is told on each channel that it names, whatever plans the person prefers.
pub(crate) fn resolve_offers(reader: &mut TreeReader<'_>, kind: &str, offered: &[(&Plan, TreePlace)]) {
    let plans: Vec<&Plan> = offered.iter().map(|(plan, _)| *plan).collect();
    let Some((lost, preferred)) = plan_choice::find_unreachable(&plans) else { return };
    let Some((_, at)) = offered.iter().find(|(plan, _)| plan.name == lost.name) else { return };
    let followed =
        lost.follows.as_ref().map(|follows| list_choices(follows.plans.iter().map(PlanName::as_str)));
    let what = format!(
        "a person who prefers `{}` is never told `{kind}` by `{}`, which follows {}",
        preferred.name,
        lost.name,
        followed.unwrap_or_default()
    );
    let help = format!("let a plan of `{}` follow `{}`, too", lost.channel, preferred.name);
    reader.problem_with(*at, what, Some(help));
}
