//! Kinds: which events are told, to which audience, under which condition, and in which words.

use std::collections::BTreeMap;

use expression::{KeptTypes, KindCondition, check_expression, condition_scope, says_scope};
use model::{
    Kind, PlanName, SubjectRef, SubjectType, Value, VersionedState,
    plan::{Plan, PlanSet},
};
use preferences::PreferenceChoice;
use source_text::{
    TextProblems, did_you_mean,
    yaml::{TreeKey, TreeNode, TreePlace, TreeValue},
};

use crate::{
    audience::{self, Audience, SUBJECT},
    bundles::{BUNDLE_BY, BundleDraft, KindBundle, SAYS_MANY, read_bundle},
    expiry::KindExpiry,
    format::{
        KIND,
        words::{ACTOR, CHOICE, UNSURE},
    },
    inline_text::InlineText,
    keeps::{check_keeps, kept_types},
    limits::{KINDS_MAX, LIKE_DEPTH_MAX, PRIORITY, PRIORITY_MAX},
    tree_reader::TreeReader,
    word_choice::read_word,
};

/// A type of notification.
#[derive(Clone, PartialEq, Debug)]
pub struct KindDef {
    pub name: Kind,
    /// The event it is told on: the subject's type, a dot, and what happened to it.
    pub on: String,
    pub to: Audience,
    /// It is told only while this holds: asked when the mail closes and again before it leaves.
    pub holds: Option<KindCondition>,
    /// When its entries are past, if ever.
    pub expires: Option<KindExpiry>,
    /// The smaller, the sooner it is told, where a section goes by that.
    pub priority: u16,
    /// The template of its sentence.
    pub says: String,
    /// How several entries of it are told as one, if they are.
    pub bundle: Option<KindBundle>,
    /// The fields of the event's own words that its entries keep, in the order of the file.
    pub keeps: Vec<String>,
    /// The plans it is told under, in the order of the file. Several of one channel are alternatives: the
    /// person's preference chooses, see [`crate::Catalogue::plans_for`].
    pub plans: Vec<PlanName>,
    /// Whether who did it is told as well.
    pub actor_told: bool,
    /// Whether a message of it that may have been sent goes out again; if it does not say, where its plan is urgent.
    pub again_if_unsure: Option<bool>,
    /// The field that refers to what it hangs on, or `find_subject_type`: who mutes that is not told.
    pub thread: Option<String>,
    /// The category that it is of.
    pub category: Option<String>,
    /// How people are told who have not chosen, if it says so itself.
    pub unless_chosen: Option<PreferenceChoice>,
    /// Whether nobody can turn it off.
    pub critical: bool,
    /// Its line in the file, for messages.
    pub line: usize,
}

impl KindDef {
    /// The type of the subjects it is about.
    pub fn subject(&self) -> &str {
        self.on.split('.').next().unwrap_or_default()
    }

    /// The plans that it names, in its order.
    pub fn offered_plans<'p>(&self, plans: &'p PlanSet) -> impl Iterator<Item = &'p Plan> {
        self.plans.iter().filter_map(|name| plans.by_name.get(name))
    }

    /// What it hangs on, for a subject in this state.
    pub fn threads<'s>(
        &self,
        subject: &'s SubjectRef,
        state: Option<&'s VersionedState>,
    ) -> &'s [SubjectRef] {
        match self.thread.as_deref() {
            None => &[],
            Some(SUBJECT) => std::slice::from_ref(subject),
            Some(field) => state.and_then(|state| state.get(field)).map_or(&[], Value::refs),
        }
    }
}

/// A kind as it is written, with the places of its parts.
pub(crate) struct KindDraft {
    pub name: Kind,
    pub on: (String, TreePlace),
    pub to: audience::AudienceDraft,
    holds: Option<InlineText>,
    expires: Option<(KindExpiry, TreePlace)>,
    priority: u16,
    says: InlineText,
    bundle: Option<BundleDraft>,
    pub keeps: Vec<(String, TreePlace)>,
    pub plans: Vec<(String, TreePlace)>,
    /// `None` if it does not say.
    actor_told: Option<bool>,
    again_if_unsure: Option<bool>,
    thread: Option<(String, TreePlace)>,
    pub category: Option<(String, TreePlace)>,
    pub unless_chosen: Option<PreferenceChoice>,
    /// With the place of its nearest word about choices, be it this one or `unless_chosen`.
    pub critical: Option<(bool, TreePlace)>,
    line: usize,
}

impl KindDraft {
    /// Whether it is told under a plan.
    pub fn is_under(&self, plan: &PlanName) -> bool {
        self.plans.iter().any(|(named, _)| named == plan.as_str())
    }

    /// The type of the subjects it is about, by its name.
    pub fn subject_name(&self) -> &str {
        self.on.0.split('.').next().unwrap_or_default()
    }

    /// What it is about, if the event it is told on names a subject.
    pub fn subject<'s>(&self, subjects: &'s BTreeMap<String, SubjectType>) -> Option<&'s SubjectType> {
        subjects.get(self.on.0.split_once('.')?.0)
    }
}

/// All kinds of the file, each with what it has from the kind it is like.
pub(crate) fn read_kinds(reader: &mut TreeReader<'_>, node: &TreeNode) -> Vec<KindDraft> {
    let Some(map) = reader.map(node, "kinds") else { return Vec::new() };
    if map.len() > KINDS_MAX {
        reader.problem(node.at, format!("{} kinds, more than {KINDS_MAX}", map.len()));
    }
    let mut kinds = Vec::new();
    for (key, node) in map {
        reader.name(key, "a kind");
        let (Some(whole), Ok(name)) = (with_likeness(reader, map, key, node), Kind::new(&key.name)) else {
            continue;
        };
        kinds.extend(read_kind(reader, name, key, &whole));
    }
    kinds
}

/// The kind's own keys, and those of the kind it is like that it does not have itself.
fn with_likeness(
    reader: &mut TreeReader<'_>,
    map: &[(TreeKey, TreeNode)],
    name: &TreeKey,
    node: &TreeNode,
) -> Option<TreeNode> {
    let mut keys = reader.map(node, "a kind")?.to_vec();
    let mut seen = vec![name.name.clone()];
    let is_like = keys.iter().any(|(key, _)| key.name == "like");
    let mut like = keys.iter().position(|(key, _)| key.name == "like").map(|at| keys.remove(at).1);
    while let Some(node) = like {
        let other = reader.text(&node, "`like`")?.to_string();
        let Some((_, found)) = map.iter().find(|(key, _)| key.name == other) else {
            let help = did_you_mean(&other, map.iter().map(|(key, _)| key.name.as_str()));
            reader.problem_with(node.at, format!("there is no kind `{other}`"), help);
            return None;
        };
        if seen.contains(&other) || seen.len() > LIKE_DEPTH_MAX {
            reader.problem(
                node.at,
                format!("`like` of `{}` goes in a circle: {}, {other}", seen[0], seen.join(", ")),
            );
            return None;
        }
        seen.push(other);
        like = None;
        // What is wrong there is said there.
        let TreeValue::Map(found) = &found.what else { return None };
        for (key, value) in found {
            if key.name == "like" {
                like = Some(value.clone());
            } else if key.name == SAYS_MANY && stands_alone(&keys) {
                // It is no bundle, whatever it is like.
            } else if !keys.iter().any(|(own, _)| own.name == key.name) {
                keys.push((key.clone(), value.clone()));
            }
        }
    }
    let has_many = keys.iter().any(|(key, _)| key.name == SAYS_MANY);
    if is_like && !has_many && stands_alone(&keys) {
        keys.retain(|(key, _)| key.name != BUNDLE_BY);
    }
    Some(TreeNode { what: TreeValue::Map(keys), at: node.at })
}

/// Whether `bundle_by: []` is among these keys.
fn stands_alone(keys: &[(TreeKey, TreeNode)]) -> bool {
    keys.iter().any(|(key, value)| key.name == BUNDLE_BY && value.is_empty())
}

fn read_kind(reader: &mut TreeReader<'_>, name: Kind, key: &TreeKey, node: &TreeNode) -> Option<KindDraft> {
    let fields = reader.fields(node, key.at, &KIND)?;
    let on =
        fields.need(reader, "on").and_then(|node| Some((reader.text(node, "`on`")?.to_string(), node.at)));
    let to = fields.need(reader, "to").and_then(|node| audience::read_audience(reader, node));
    let holds = fields.get("while").map(|node| InlineText::read(reader, node, "`while`"));
    let expires = fields.get("expires").map(|node| KindExpiry::read(reader, node));
    let priority = match fields.get("priority") {
        Some(node) => reader.whole_number(node, "`priority`", 1, PRIORITY_MAX)?,
        None => PRIORITY,
    };
    let says = fields.need(reader, "says").and_then(|node| InlineText::read_sentence(reader, node, "`says`"));
    let bundle = read_bundle(reader, fields.get(BUNDLE_BY), fields.get(SAYS_MANY));
    let keeps = fields.get("keeps").map(|node| own_texts(reader.texts(node, "`keeps`"))).unwrap_or_default();
    let plans = fields.need(reader, "plans").map(|node| own_texts(reader.texts(node, "`plans`")));
    let actor_told = fields.get("actor").and_then(|node| read_word(reader, node, "`actor`", &ACTOR));
    let again_if_unsure = fields.get("unsure").and_then(|node| read_word(reader, node, "`unsure`", &UNSURE));
    let thread = fields.get("thread");
    let thread = thread.and_then(|node| Some((reader.text(node, "`thread`")?.to_string(), node.at)));
    let category = fields.get("category");
    let category = category.and_then(|node| Some((reader.text(node, "`category`")?.to_string(), node.at)));
    let unless_chosen =
        fields.get("unless_chosen").and_then(|node| read_word(reader, node, "`unless_chosen`", &CHOICE));
    let critical = fields.get("critical");
    let critical = critical.and_then(|flag| {
        let at = find_first(node, &["critical", "unless_chosen"]).unwrap_or(flag.at);
        Some((reader.flag(flag, "`critical`")?, at))
    });
    // What could not be read is no kind without it.
    let (holds, expires) =
        (holds.map(|read| read.ok_or(())).transpose(), expires.map(|read| read.ok_or(())).transpose());
    Some(KindDraft {
        name,
        on: on?,
        to: to?,
        holds: holds.ok()?,
        expires: expires.ok()?,
        priority,
        says: says?,
        bundle: bundle.ok()?,
        keeps,
        plans: plans?,
        actor_told,
        again_if_unsure,
        thread,
        category,
        unless_chosen,
        critical,
        line: key.at.line,
    })
}

/// The place of the first of these keys: the kind's own come before those of the kind that it is like.
fn find_first(node: &TreeNode, names: &[&str]) -> Option<TreePlace> {
    let TreeValue::Map(keys) = &node.what else { return None };
    keys.iter().find(|(key, _)| names.contains(&&*key.name)).map(|(_, value)| value.at)
}

fn own_texts(texts: Vec<(&str, TreePlace)>) -> Vec<(String, TreePlace)> {
    texts.into_iter().map(|(text, at)| (text.to_string(), at)).collect()
}

/// Follows every reference of a kind and compiles its condition.
pub(crate) fn resolve_kind(
    reader: &mut TreeReader<'_>,
    written: &KindDraft,
    subjects: &BTreeMap<String, SubjectType>,
    plans: &BTreeMap<String, PlanName>,
) -> Option<KindDef> {
    let named = named_plans(reader, written, plans);
    let subject = find_subject_type(reader, written, subjects)?;
    let to = written.to.resolve(reader, subject);
    if let Some((field, at)) = &written.thread {
        audience::check_reference(
            reader,
            subject,
            field,
            *at,
            "a thread must be a subject that a field refers to",
        );
    }
    if let Some((expires, at)) = &written.expires {
        expires.check(reader, *at, subject);
    }
    let keeps = check_keeps(reader, &written.keeps, subject);
    let kept: KeptTypes = kept_types(&keeps, subject);
    let bundle = written.bundle.as_ref().map(|bundle| {
        bundle.resolve(reader, (subject, subjects), written.thread.is_some(), (to.is_mutual(), &kept))
    });
    let scope = says_scope(subjects, &subject.name, to.is_mutual(), &kept);
    let holds = match &written.holds {
        None => Ok(None),
        Some(inline) => compile_condition(reader, inline, &subject.name, subjects).map(Some),
    };
    let findings = reader.check_text(&written.says.text, &scope);
    for finding in &findings {
        reader.push(written.says.problem(reader.source, finding));
    }
    Some(KindDef {
        name: written.name.clone(),
        on: written.on.0.clone(),
        // Two who found each other are both told, whoever was second.
        actor_told: written.actor_told.unwrap_or(to.is_mutual()),
        again_if_unsure: written.again_if_unsure,
        thread: written.thread.as_ref().map(|(field, _)| field.clone()),
        category: written.category.as_ref().map(|(name, _)| name.clone()),
        unless_chosen: written.unless_chosen,
        critical: written.critical.is_some_and(|(critical, _)| critical),
        to,
        holds: holds.ok()?,
        priority: written.priority,
        expires: written.expires.as_ref().map(|(expires, _)| expires.clone()),
        says: written.says.text.clone(),
        bundle,
        keeps,
        plans: named,
        line: written.line,
    })
}

pub(crate) fn compile_condition(
    reader: &mut TreeReader<'_>,
    inline: &InlineText,
    subject: &str,
    subjects: &BTreeMap<String, SubjectType>,
) -> Result<KindCondition, ()> {
    let compiled = match check_expression(&inline.text, &condition_scope(subjects, subject)) {
        Ok(reads) => KindCondition::compile(&inline.text, reads),
        Err(findings) => {
            let problems: TextProblems =
                TextProblems(findings.iter().map(|f| inline.problem(reader.source, f)).collect());
            reader.problems.extend(problems.0);
            return Err(());
        }
    };
    compiled.map_err(|error| reader.problem(inline.at, error))
}

fn find_subject_type<'s>(
    reader: &mut TreeReader<'_>,
    written: &KindDraft,
    subjects: &'s BTreeMap<String, SubjectType>,
) -> Option<&'s SubjectType> {
    let (on, at) = &written.on;
    let Some((subject, _)) = on.split_once('.').filter(|(_, what)| !what.is_empty()) else {
        let help = "write an event as `SUBJECT.WHAT`, such as `work.published`".to_string();
        reader.problem_with(*at, format!("`{on}` is not an event"), Some(help));
        return None;
    };
    let found = written.subject(subjects);
    if found.is_none() {
        let help = did_you_mean(subject, subjects.keys().map(String::as_str));
        reader.problem_with(*at, format!("there is no subject `{subject}`"), help);
    }
    found
}

fn named_plans(
    reader: &mut TreeReader<'_>,
    written: &KindDraft,
    plans: &BTreeMap<String, PlanName>,
) -> Vec<PlanName> {
    let mut named: Vec<PlanName> = Vec::new();
    for (name, at) in &written.plans {
        match plans.get(name) {
            Some(plan) if named.contains(plan) => reader.problem(*at, format!("`{name}` is given twice")),
            Some(plan) => named.push(plan.clone()),
            None => {
                let help = did_you_mean(name, plans.keys().map(String::as_str));
                reader.problem_with(*at, format!("there is no plan `{name}`"), help);
            }
        }
    }
    if written.plans.is_empty() {
        let what = format!("`{}` names no plan, so nobody is told", written.name);
        reader.problem(written.on.1, what);
    }
    named
}
