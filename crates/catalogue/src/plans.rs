//! Plans: when a channel's windows close, and what a message then has room for.

use std::collections::{BTreeMap, BTreeSet};

use expression::{KeptTypes, PlanSubjectTypes, TextValueType, title_scope};
use model::{
    Channel, FieldType, Kind, PlanName, SubjectType,
    limits::{DAY_MS, READY_ENTRIES_MAX},
    plan::{CloseRule, EscalationRule, KeyPart, OncePer, Plan, PlanSection, SectionOrder},
};
use source_text::{
    did_you_mean,
    yaml::{TreeKey, TreeNode, TreePlace, TreeValue},
};

use crate::{
    calendar_rule, close_rule, contradictions,
    format::{ENTRIES_MAX, KeyGroup, MAIL, ORDER, PLAN, PUSH, SECTION, SHARED, words::ONCE_PER},
    groups, hash,
    holds::{self, PlanHolds},
    inline_text::InlineText,
    kinds,
    limits::{KEY_PARTS_MAX, PLANS_MAX, SECTIONS_MAX, longest_look_back},
    mails,
    pace::{self, PlanPace},
    pushes, time_values,
    tree_reader::{MapFields, TreeReader},
    word_choice::{read_channel, read_word},
};

/// A plan as it is written, with the places of what is checked later.
pub(crate) struct PlanDraft {
    pub plan: Plan,
    sections: Vec<SectionDraft>,
    key_parts: Vec<(KeyPart, TreePlace)>,
    /// Where it says when it closes, which may name a field.
    aims: TreePlace,
    /// Where it names the plan that it follows.
    pub followed: Option<TreePlace>,
    /// Where it says how many a message needs, and what it does while the person is here.
    at_least: TreePlace,
    pub online: TreePlace,
    pub words: WordsDraft,
}

/// The words of a plan's messages.
pub(crate) enum WordsDraft {
    Mail(mails::MailDraft),
    Push(pushes::PushDraft),
}

struct SectionDraft {
    title: InlineText,
    kinds: Vec<(String, TreePlace)>,
    order: TreePlace,
    group: TreePlace,
}

/// All plans of the file.
pub(crate) fn read_plans(reader: &mut TreeReader<'_>, node: &TreeNode) -> Vec<PlanDraft> {
    let Some(map) = reader.map(node, "plans") else { return Vec::new() };
    if map.len() > PLANS_MAX {
        reader.problem(node.at, format!("{} plans, more than {PLANS_MAX}", map.len()));
    }
    let mut plans = Vec::new();
    for (key, node) in map {
        reader.name(key, "a plan");
        plans.extend(read_plan(reader, key, node));
    }
    plans
}

fn read_plan(reader: &mut TreeReader<'_>, key: &TreeKey, node: &TreeNode) -> Option<PlanDraft> {
    let fields = read_plan_fields(reader, key, node)?;
    let channel = fields.need(reader, "channel").and_then(|node| read_channel(reader, node));
    let close = fields.need(reader, "close").and_then(|node| close_rule::read_close(reader, node));
    let look_back = fields.need(reader, "look_back").and_then(|node| read_look_back(reader, node));
    let pace = pace::read_pace(reader, &fields, pace::look_back_ms(look_back.unwrap_or(u16::MAX)));
    let once_per = fields
        .get("once_per")
        .map_or(Some(OncePer::Event), |node| read_word(reader, node, "`once_per`", &ONCE_PER));
    let sections = fields.need(reader, "sections").and_then(|node| read_sections(reader, node));
    let words = read_words(reader, &fields, channel?);
    if let (Some(close), Some(node), Some(at)) = (&close, fields.get("look_back"), fields.get("close")) {
        calendar_rule::check_look_back(reader, close, (look_back, node.at), at.at);
    }
    if let (Some(close), Some(pace)) = (&close, &pace) {
        pace::check_pace(reader, &fields, close, pace);
    }
    let key_parts = match fields.get("key") {
        Some(node) => read_key_parts(reader, node)?,
        None => Vec::new(),
    };
    let stream = mails::read_stream(reader, &fields);
    let holds = holds::read_holds(reader, &fields, channel);
    if let Some(node) = fields.get("badge").filter(|_| channel != Some(Channel::Push)) {
        let own = channel.map_or("none", Channel::name);
        reader.problem(node.at, format!("`badge` is for `push`, but this plan is on `{own}`"));
    }
    let PlanHolds { urgent, online, badge, quiet, follows, counts_on } = holds?;
    let longer = |(follows, _): &&(EscalationRule, TreePlace)| {
        look_back.is_some_and(|days| follows.wait_ms > pace::look_back_ms(days))
    };
    if let Some((_, at)) = follows.as_ref().filter(longer) {
        reader.problem(*at, "`wait` is longer than `look_back`, so waiting entries would be forgotten");
    }
    let (follows, followed) = follows.unzip();
    let PlanPace { entries, first, alone, rest, together, at_least, below } = pace?;
    let (sections, places): (Vec<PlanSection>, _) = sections?.into_iter().unzip();
    pace::check_room(reader, &fields, at_least, &sections);
    let mut plan = Plan {
        name: PlanName::new(&key.name).ok()?,
        hash: 0,
        channel: channel?,
        stream: stream?,
        key: key_parts.iter().map(|(part, _)| part.clone()).collect(),
        close: close?,
        entries,
        first,
        alone,
        rest,
        together,
        follows,
        counts_on,
        urgent,
        online,
        badge,
        quiet,
        look_back_days: look_back?,
        day_life: reader.day_life,
        at_least,
        below,
        once_per: once_per?,
        sections,
    };
    plan.hash = hash::hash_plan(&plan);
    let place = |key: &str| fields.get(key).map_or(node.at, |node| node.at);
    contradictions::check_quiet_hours(reader, &plan, place("quiet"));
    let (aims, at_least, online) = (place("close"), place("at_least"), place("online"));
    Some(PlanDraft { plan, sections: places, key_parts, aims, followed, at_least, online, words: words? })
}

/// Reads a plan. A key of another channel has its own message; for an unknown key, only the keys of this channel are
/// suggested.
fn read_plan_fields<'n>(
    reader: &mut TreeReader<'_>,
    key: &TreeKey,
    node: &'n TreeNode,
) -> Option<MapFields<'n>> {
    let shared = SHARED.iter().flat_map(KeyGroup::key_names);
    let (offers, offered): (_, Vec<&str>) = match find_channel(node) {
        Some(Channel::Email) => ("a plan of mails", shared.chain(MAIL.key_names()).collect()),
        Some(Channel::Push) => ("a plan of pushes", shared.chain(PUSH.key_names()).collect()),
        Some(Channel::Hook(_)) => ("a plan of a hook", shared.chain(PUSH.key_names()).collect()),
        None => ("a plan", PLAN.key_names().collect()),
    };
    reader.fields_of(node, key.at, &PLAN, (offers, &offered))
}

/// The channel that a plan names, if there is one of that name.
fn find_channel(node: &TreeNode) -> Option<Channel> {
    let TreeValue::Map(map) = &node.what else { return None };
    match &map.iter().find(|(key, _)| key.name == "channel")?.1.what {
        TreeValue::Text(text) => Channel::parse(text),
        _ => None,
    }
}

/// The words that a plan's channel needs, and none of another's.
fn read_words(reader: &mut TreeReader<'_>, fields: &MapFields<'_>, channel: Channel) -> Option<WordsDraft> {
    let (foreign, of) = match channel {
        Channel::Email => (&PUSH, Channel::Push),
        Channel::Push | Channel::Hook(_) => (&MAIL, Channel::Email),
    };
    let strange: Vec<_> = foreign.key_names().filter_map(|name| Some((name, fields.get(name)?.at))).collect();
    for (name, at) in &strange {
        reader.problem(*at, format!("`{name}` is for `{of}`, but this plan is on `{channel}`"));
    }
    let words = match channel {
        Channel::Email => mails::read_mail(reader, fields).map(WordsDraft::Mail),
        Channel::Push | Channel::Hook(_) => pushes::read_push(reader, fields).map(WordsDraft::Push),
    };
    words.filter(|_| strange.is_empty())
}

/// What windows are told apart by: `kind`, `subject`, `actor`, `subject.FIELD`.
fn read_key_parts(reader: &mut TreeReader<'_>, node: &TreeNode) -> Option<Vec<(KeyPart, TreePlace)>> {
    const RULE: &str = "the parts of a key are `kind`, `subject`, `actor` and fields, such as \
        `subject.author`";
    let texts = reader.texts(node, "`key`");
    if texts.is_empty() || texts.len() > KEY_PARTS_MAX {
        reader.problem(node.at, format!("a key has 1 to {KEY_PARTS_MAX} parts"));
        return None;
    }
    let part = |(text, at): (&str, TreePlace)| match (text, text.strip_prefix("subject.")) {
        ("kind", _) => Some((KeyPart::Kind, at)),
        ("subject", _) => Some((KeyPart::Subject, at)),
        ("actor", _) => Some((KeyPart::Actor, at)),
        (_, Some(field)) => Some((KeyPart::Field(field.to_string()), at)),
        _ => {
            let help = did_you_mean(text, ["kind", "subject", "actor"]).unwrap_or_else(|| RULE.to_string());
            reader.problem_with(at, format!("`{text}` is not a part of a key"), Some(help));
            None
        }
    };
    let parts: Vec<(KeyPart, TreePlace)> = texts.iter().copied().map(part).collect::<Option<_>>()?;
    for (number, (text, at)) in texts.iter().enumerate() {
        if texts[..number].iter().any(|(before, _)| before == text) {
            reader.problem(*at, format!("`{text}` is given twice"));
        }
    }
    Some(parts)
}

fn read_look_back(reader: &mut TreeReader<'_>, node: &TreeNode) -> Option<u16> {
    let ms = time_values::read_duration(reader, node, "`look_back`")?;
    let days = ms / DAY_MS;
    let most = longest_look_back(reader.day_life);
    if ms % DAY_MS != 0 || !(1..=most).contains(&days) {
        let help =
            format!("days live for {} here, and a digest must still find their entries", reader.day_life);
        let what = format!("`look_back` must be whole days, from 1d to {most}d");
        reader.problem_with(node.at, what, Some(help));
        return None;
    }
    u16::try_from(days).ok()
}

fn read_sections(reader: &mut TreeReader<'_>, node: &TreeNode) -> Option<Vec<(PlanSection, SectionDraft)>> {
    let TreeValue::List(list) = &node.what else {
        reader.problem(node.at, format!("`sections` must be a list, not {}", node.what.sort_name()));
        return None;
    };
    if list.is_empty() || list.len() > SECTIONS_MAX {
        reader.problem(node.at, format!("a plan has 1 to {SECTIONS_MAX} sections"));
    }
    let sections: Vec<_> = list.iter().filter_map(|node| read_section(reader, node)).collect();
    let room: usize = sections.iter().map(|(section, _)| usize::from(section.most)).sum();
    if room > READY_ENTRIES_MAX {
        let what =
            format!("the sections have room for {room} entries, but a mail for {READY_ENTRIES_MAX} only");
        reader.problem(node.at, what);
    }
    (sections.len() == list.len()).then_some(sections)
}

fn read_section(reader: &mut TreeReader<'_>, node: &TreeNode) -> Option<(PlanSection, SectionDraft)> {
    let fields = reader.fields(node, node.at, &SECTION)?;
    let title = fields
        .need(reader, "title")
        .and_then(|node| Some(InlineText { text: reader.text(node, "`title`")?.to_string(), at: node.at }));
    let most =
        fields.need(reader, "most").and_then(|node| reader.whole_number(node, "`most`", 1, ENTRIES_MAX));
    let order = fields.get("order").map_or(Some(SectionOrder::Newest), |node| read_order(reader, node));
    let place = |key: &str| fields.get(key).map_or(node.at, |node| node.at);
    let (order_at, group_at) = (place("order"), place("group"));
    let group = match fields.get("group") {
        Some(node) => Some(reader.text(node, "`group`")?.to_string()),
        None => None,
    };
    let names = fields.need(reader, "kinds").map(|node| reader.texts(node, "`kinds`"))?;
    let named = names.iter().map(|(name, at)| ((*name).to_string(), *at)).collect();
    let kinds = names.iter().filter_map(|(name, _)| Kind::new(name).ok()).collect();
    let title = title?;
    let section = PlanSection { title: title.text.clone(), kinds, most: most?, order: order?, group };
    Some((section, SectionDraft { title, kinds: named, order: order_at, group: group_at }))
}

/// The orders that need no field.
const ORDER_WORDS: [&str; 5] = ["newest", "oldest", "score", "priority", "diverse"];

fn read_order(reader: &mut TreeReader<'_>, node: &TreeNode) -> Option<SectionOrder> {
    const RULE: &str = "an order is `newest`, `oldest`, `score`, `priority`, `diverse`, `{soonest: FIELD}`, `{best: FIELD}` or `{nearest: FIELD}`";
    if let TreeValue::Text(text) = &node.what {
        match text.as_str() {
            "newest" => return Some(SectionOrder::Newest),
            "oldest" => return Some(SectionOrder::Oldest),
            "score" => return Some(SectionOrder::Score),
            "priority" => return Some(SectionOrder::Priority),
            "diverse" => return Some(SectionOrder::Diverse),
            other => {
                // What only lacks its field is no slip for another word.
                let near = did_you_mean(other, ORDER_WORDS);
                let near = near.filter(|_| !ORDER.has(other)).unwrap_or_else(|| RULE.to_string());
                reader.problem_with(node.at, format!("there is no order `{other}`"), Some(near));
            }
        }
        return None;
    }
    let fields = reader.fields(node, node.at, &ORDER)?;
    match (fields.get("soonest"), fields.get("best"), fields.get("nearest")) {
        (Some(node), None, None) => Some(SectionOrder::Soonest(reader.text(node, "`soonest`")?.to_string())),
        (None, Some(node), None) => Some(SectionOrder::Best(reader.text(node, "`best`")?.to_string())),
        (None, None, Some(node)) => Some(SectionOrder::Nearest(reader.text(node, "`nearest`")?.to_string())),
        // What is there instead has its message.
        (None, None, None) if fields.strange => None,
        _ => {
            reader.problem_with(node.at, "a section takes one order", Some(RULE.to_string()));
            None
        }
    }
}

/// Follows every reference of a plan: its kinds know it, and what they are about has the fields by which
/// its sections are ordered and grouped. Gives what its messages are about, if all of that is known.
pub(crate) fn resolve_plan(
    reader: &mut TreeReader<'_>,
    written: &PlanDraft,
    kinds: &[kinds::KindDraft],
    plans: &BTreeMap<String, PlanName>,
    subjects: &BTreeMap<String, SubjectType>,
) -> Option<PlanSubjectTypes> {
    let plan = &written.plan;
    let mut types = BTreeSet::new();
    let mut kept = KeptTypes::new();
    let mut told = BTreeSet::new();
    let mut complete = true;
    for (section, places) in plan.sections.iter().zip(&written.sections) {
        check_score_order(reader, section, places, kinds);
        places.title.check(reader, &title_scope(subjects));
        for (name, at) in &places.kinds {
            let Some(kind) = kinds.iter().find(|kind| kind.name.as_str() == name) else {
                let help = did_you_mean(name, kinds.iter().map(|kind| kind.name.as_str()));
                reader.problem_with(*at, format!("there is no kind `{name}`"), help);
                complete = false;
                continue;
            };
            // A plan that is not there could be a slip for this one, and has its message.
            if !kind.plans.iter().any(|(named, _)| named == plan.name.as_str() || !plans.contains_key(named))
            {
                let what = format!("kind `{name}` is not told under `{}`", plan.name);
                reader.problem_with(*at, what, Some(format!("add `{}` to its `plans`", plan.name)));
            }
            let known = |name: &&PlanName| plans.contains_key(name.as_str());
            let mut followed =
                plan.follows.iter().flat_map(|follows| &follows.plans).filter(known).peekable();
            let first = followed.peek().copied();
            if let Some(followed) = first.filter(|_| !followed.any(|name| kind.is_under(name))) {
                let what =
                    format!("`{}` follows `{followed}`, under which `{name}` is never told", plan.name);
                reader.problem_with(*at, what, Some(format!("add `{followed}` to the `plans` of `{name}`")));
            }
            if !told.insert(name.as_str()) {
                reader.problem(*at, format!("kind `{name}` is in two sections"));
            }
            let Some(subject) = kind.subject(subjects) else {
                complete = false;
                continue;
            };
            types.insert(subject.name.clone());
            add_kept_types(&mut kept, kind, subject);
            check_plan_fields(reader, written, subject);
            check_order_field(reader, &section.order, places.order, subject);
            if let Some(field) = &section.group {
                groups::check_group_field(reader, field, places.group, subject);
            }
        }
    }
    if complete {
        contradictions::check_entry_count(reader, plan, written.at_least, kinds);
    }
    for kind in kinds.iter().filter(|kind| complete && !told.contains(kind.name.as_str())) {
        for (_, at) in kind.plans.iter().filter(|(name, _)| name == plan.name.as_str()) {
            reader.problem(*at, format!("`{}` has no section for kind `{}`", plan.name, kind.name));
        }
    }
    complete.then(|| PlanSubjectTypes { types, kept, heads: groups::head_types(plan, kinds, subjects) })
}

/// What texts of the plan read of a kind's events. Kinds may keep fields of one name and several types.
fn add_kept_types(kept: &mut KeptTypes, kind: &kinds::KindDraft, subject: &SubjectType) {
    for (name, _) in &kind.keeps {
        let Some(field) = subject.fields.get(name) else { continue };
        let of = TextValueType::from_field(field);
        let before = kept.remove(name);
        kept.insert(name.clone(), before.map_or(of.clone(), |before| before.union_with(of)));
    }
}

/// The fields by which a plan tells its windows apart, or for whose time it waits.
fn check_plan_fields(reader: &mut TreeReader<'_>, written: &PlanDraft, subject: &SubjectType) {
    for (part, at) in &written.key_parts {
        match part {
            KeyPart::Field(field) if !subject.fields.contains_key(field) => {
                reader.report_no_field(*at, subject, field);
            }
            _ => {}
        }
    }
    if let CloseRule::Before { field, .. } = &written.plan.close {
        match subject.fields.get(field) {
            None => reader.report_no_field(written.aims, subject, field),
            Some(FieldType::Time) => {}
            Some(found) => {
                let what = format!("`{field}` is {found}, but a plan closes before a {}", FieldType::Time);
                reader.problem(written.aims, what);
            }
        }
    }
}

/// Only listed persons have a score, so ordering other kinds by it would have no effect.
fn check_score_order(
    reader: &mut TreeReader<'_>,
    section: &PlanSection,
    places: &SectionDraft,
    kinds: &[kinds::KindDraft],
) {
    let mut told = kinds.iter().filter(|kind| section.kinds.contains(&kind.name)).peekable();
    if section.order == SectionOrder::Score && told.peek().is_some() && !told.any(|kind| kind.to.is_listed())
    {
        let help = "only a kind with `to: listed` has scores".to_string();
        reader.problem_with(places.order, "no kind of this section has a score", Some(help));
    }
}

fn check_order_field(
    reader: &mut TreeReader<'_>,
    order: &SectionOrder,
    at: TreePlace,
    subject: &SubjectType,
) {
    let (field, wanted) = match order {
        SectionOrder::Newest
        | SectionOrder::Oldest
        | SectionOrder::Priority
        | SectionOrder::Diverse
        | SectionOrder::Score => return,
        SectionOrder::Soonest(field) => (field, FieldType::Time),
        SectionOrder::Best(field) => (field, FieldType::Number),
        SectionOrder::Nearest(field) => (field, FieldType::Place),
    };
    match subject.fields.get(field) {
        Some(found) if *found == wanted => {}
        Some(found) => reader.problem(at, format!("`{field}` is {found}, but this order needs a {wanted}")),
        None => {
            let fitting =
                subject.fields.iter().filter(|(_, found)| **found == wanted).map(|(name, _)| name.as_str());
            let help = did_you_mean(field, fitting).or_else(|| {
                (field == "score").then(|| "`order: score` sorts by the score of listed persons".to_string())
            });
            reader.problem_with(at, format!("`{}` has no field `{field}` to order by", subject.name), help);
        }
    }
}
