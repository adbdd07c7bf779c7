//! Reading a catalogue, in two stages: the shape of the file, and then what its parts say of each other.
//! All problems of a stage are reported at once; the second has no meaning while the first has some.

use std::{collections::BTreeMap, path::Path};

use model::{
    DayLife, Kind, PlanName, SubjectType,
    plan::{OnlineSurface, PlanSet},
};
use source_text::{
    SourceText, TextProblems,
    yaml::{TreeNode, TreePlace, TreeValue, parse_yaml},
};

use crate::{
    Catalogue, KindDef, ReaderLanguage,
    audience::Audience,
    choices::{self, CategoryDraft, KindCategory},
    contradictions,
    expiry::KindExpiry,
    file_text::{FileTextError, read_file_text},
    format::CATALOGUE,
    hash::{self, CanonicalText},
    holds, kinds, languages,
    limits::{FILE_BYTES_MAX, NAME_BYTES_MAX, POSTAL_BYTES_MAX},
    mails::{self, ReadFile},
    messages,
    plans::{self, WordsDraft},
    pushes, slots, sources, subjects,
    tree_reader::TreeReader,
};

/// The catalogue's own file in its folder.
const FILE: &str = "catalogue.yaml";

/// The file as it is written, its shape checked.
struct CatalogueDraft {
    name: String,
    postal: Option<String>,
    feed: bool,
    languages: Vec<ReaderLanguage>,
    /// The folder of its messages.
    words: Option<(String, TreePlace)>,
    subjects: BTreeMap<String, SubjectType>,
    kinds: Vec<kinds::KindDraft>,
    categories: BTreeMap<String, CategoryDraft>,
    plans: Vec<plans::PlanDraft>,
    surfaces: Vec<OnlineSurface>,
    caps: Vec<holds::CapDraft>,
    slots: Vec<slots::SlotListDraft>,
    sources: Vec<sources::SourceDraft>,
}

impl Catalogue {
    /// Reads `catalogue.yaml` of a folder, and the templates it names, for a house whose days live so long.
    pub fn load(dir: &Path, day_life: DayLife) -> Result<Self, TextProblems> {
        let path = dir.join(FILE);
        let name = path.display().to_string();
        let text = read_file_text(&path).map_err(|error| match &error {
            FileTextError::NotUtf8 { good } => SourceText { file: &name, text: good }
                .problem_at(good.len(), "the file is not UTF-8 here")
                .with_help("save it in the encoding UTF-8".to_string()),
            _ => {
                let (what, help) = describe_unreadable(dir, &error);
                SourceText { file: &name, text: "" }.problem(1, 1, what).with_help(help)
            }
        })?;
        let mut catalogue = Self::parse_for(day_life, &text, &name, &|template| {
            // A link may lead out of the folder even if the name does not.
            let whole =
                |path: &Path| path.canonicalize().map_err(|error| FileTextError::from(error).to_string());
            let (root, path) = (whole(dir)?, whole(&dir.join(template))?);
            if !path.starts_with(&root) {
                return Err("it is outside the catalogue's folder".to_string());
            }
            read_file_text(&path).map_err(|error| error.to_string())
        })?;
        catalogue.messages.unread_files = messages::list_unread_files(&catalogue.messages);
        Ok(catalogue)
    }

    /// Reads a catalogue from its text, for a house of which nothing is said. `file` names it in messages; `read_file` reads a
    /// template by the name that the catalogue has for it.
    pub fn parse(text: &str, file: &str, read_file: ReadFile<'_>) -> Result<Self, TextProblems> {
        Self::parse_for(DayLife::default(), text, file, read_file)
    }

    /// The same for a house whose days live so long.
    pub fn parse_for(
        day_life: DayLife,
        text: &str,
        file: &str,
        read_file: ReadFile<'_>,
    ) -> Result<Self, TextProblems> {
        let source = SourceText { file, text };
        if text.len() > FILE_BYTES_MAX {
            let help = "move long texts into templates".to_string();
            return Err(source.problem(1, 1, FileTextError::TooLong.to_string()).with_help(help).into());
        }
        let tree = parse_yaml(source)?;
        if let TreeValue::Nothing = tree.what {
            let help = "begin with `catalogue: NAME`, or let `tidings init DIR` write one".to_string();
            return Err(source.problem(1, 1, "the file is empty").with_help(help).into());
        }
        let mut reader = TreeReader::new(source, day_life);
        let written = read_shape(&mut reader, &tree);
        std::mem::take(&mut reader.problems).into_result()?;
        // A shape that is not there has a problem that says so.
        let written = written.ok_or_else(|| source.problem(1, 1, "the file is not a catalogue"))?;
        let catalogue = resolve_catalogue(&mut reader, written, read_file);
        reader.problems.into_result()?;
        Ok(catalogue)
    }
}

/// Why there is no catalogue in a folder, and what helps.
fn describe_unreadable(dir: &Path, error: &FileTextError) -> (String, Option<String>) {
    let help = || Some("name the folder of a catalogue, or let `tidings init DIR` make one".to_string());
    if dir.is_dir() {
        return match error {
            FileTextError::Absent => (format!("this folder has no `{FILE}`"), help()),
            FileTextError::TooLong => (error.to_string(), Some("move long texts into templates".to_string())),
            other => (other.to_string(), None),
        };
    }
    let name = dir.display();
    match dir.parent() {
        Some(folder) if dir.exists() => {
            let folder = if folder == Path::new("") { Path::new(".") } else { folder };
            let help = format!("name the folder that it is in: `{}`", folder.display());
            (format!("`{name}` is a file and not a folder"), Some(help))
        }
        _ => (format!("there is no folder `{name}`"), help()),
    }
}

/// What the catalogue is called; it stands in headers of mails.
fn read_name<'n>(reader: &mut TreeReader<'_>, node: &'n TreeNode) -> Option<&'n str> {
    let name = reader.text(node, "`catalogue`")?;
    if name.is_empty() || name.len() > NAME_BYTES_MAX || name.contains(char::is_control) {
        let what = format!("`catalogue` must be a name of one line, of 1 to {NAME_BYTES_MAX} bytes");
        reader.problem(node.at, what);
    }
    Some(name)
}

/// Where the sender can be written to, in one line or several.
fn read_postal(reader: &mut TreeReader<'_>, node: &TreeNode) -> Option<String> {
    let text = reader.text(node, "`postal`")?.trim();
    let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    if lines.is_empty()
        || text.len() > POSTAL_BYTES_MAX
        || lines.iter().any(|line| line.contains(char::is_control))
    {
        let what = format!("`postal` must be an address of 1 to {POSTAL_BYTES_MAX} bytes");
        reader.problem(node.at, what);
        return None;
    }
    Some(lines.join(", "))
}

fn read_shape(reader: &mut TreeReader<'_>, tree: &TreeNode) -> Option<CatalogueDraft> {
    let fields = reader.fields(tree, tree.at, &CATALOGUE)?;
    let name = fields.need(reader, "catalogue").and_then(|node| read_name(reader, node));
    let postal = fields.get("postal").and_then(|node| read_postal(reader, node));
    let feed = fields.get("feed").and_then(|node| reader.flag(node, "`feed`")).unwrap_or_default();
    let languages = fields.get("languages").map(|node| languages::read_languages(reader, node));
    let words = match fields.get("words") {
        Some(node) => Some(mails::read_file_name(reader, node, "`words`")?),
        None => None,
    };
    let subjects = fields.need(reader, "subjects").map(|node| subjects::read_subjects(reader, node));
    let kinds = fields.need(reader, "kinds").map(|node| kinds::read_kinds(reader, node));
    let categories = fields.get("categories").map(|node| choices::read_categories(reader, node));
    let plans = fields.need(reader, "plans").map(|node| plans::read_plans(reader, node));
    let surfaces = fields.get("surfaces").map(|node| holds::read_surfaces(reader, node)).unwrap_or_default();
    let caps = fields.get("caps").map(|node| holds::read_caps(reader, node)).unwrap_or_default();
    let slots = fields.get("slots").map(|node| slots::read_slot_lists(reader, node)).unwrap_or_default();
    let sources = fields.get("sources").map(|node| sources::read_sources(reader, node)).unwrap_or_default();
    Some(CatalogueDraft {
        name: name?.to_string(),
        postal,
        feed,
        languages: languages.unwrap_or_default(),
        words,
        subjects: subjects?,
        kinds: kinds?,
        categories: categories.unwrap_or_default(),
        plans: plans?,
        surfaces,
        caps,
        slots,
        sources,
    })
}

fn resolve_catalogue(
    reader: &mut TreeReader<'_>,
    written: CatalogueDraft,
    read_file: ReadFile<'_>,
) -> Catalogue {
    let CatalogueDraft { name, languages, subjects, categories, .. } = written;
    let (written_kinds, written_plans) = (written.kinds, written.plans);
    let plan_names = written_plans.iter().map(|w| (w.plan.name.to_string(), w.plan.name.clone())).collect();
    let messages = written
        .words
        .map(|(folder, at)| messages::read_messages(reader, (&folder, at), &languages, read_file));
    let mut messages = messages.unwrap_or_default();
    let categories = choices::resolve_categories(reader, categories, &subjects);
    let (kinds, by_event) = resolve_kinds(reader, &written_kinds, (&categories, &subjects), &plan_names);
    let folder = reader.source.file.rfind('/').map_or("", |at| &reader.source.file[..=at]);
    let names: Vec<&str> = written_kinds.iter().map(|kind| kind.name.as_str()).collect();
    let caps = written.caps.into_iter().map(|cap| holds::resolve_cap(reader, cap, &names)).collect();
    let (places, slots) = slots::resolve_slot_lists(reader, written.slots, &subjects);
    let mut plans = PlanSet { surfaces: written.surfaces, caps, ..PlanSet::default() };
    let (mut followed, mut mails, mut pushes) = (Vec::new(), BTreeMap::new(), BTreeMap::new());
    for written in written_plans {
        // Whose subjects are not known, of that mail's texts nothing can be said.
        let types = plans::resolve_plan(reader, &written, &written_kinds, &plan_names, &subjects);
        let name = written.plan.name.clone();
        match (&written.words, types) {
            (WordsDraft::Mail(mail), Some(types)) => {
                let mail = mails::resolve_mail(reader, mail, types, (&subjects, &places), folder, read_file);
                mails.extend(mail.map(|mail| (name, mail)));
            }
            (WordsDraft::Push(push), Some(types)) => {
                pushes.insert(name, pushes::resolve_push(reader, push, types, &subjects));
            }
            (_, None) => {}
        }
        contradictions::check_presence(reader, &written.plan, written.online, &plans.surfaces);
        followed.extend(written.followed.map(|at| (written.plan.name.clone(), at)));
        plans.by_name.insert(written.plan.name.clone(), written.plan);
    }
    for (plan, at) in followed.iter().filter_map(|(name, at)| Some((plans.by_name.get(name)?, *at))) {
        holds::resolve_follows(reader, plan, at, &plan_names, &plans.by_name);
    }
    if reader.problems.is_empty() {
        check_offers(reader, &written_kinds, &plans);
    }
    messages::check_messages(reader, &mut messages, languages.first());
    let sources =
        written.sources.into_iter().filter_map(|one| sources::resolve_source(reader, one, &subjects));
    let sources = sources.map(|source| (source.name.clone(), source)).collect();
    let mut catalogue = Catalogue {
        day_life: reader.day_life,
        name,
        hash: 0,
        file: reader.source.file.to_string(),
        subjects,
        with_digest: choices::find_kinds_with_digest(&kinds, &plans),
        kinds,
        categories,
        plans,
        mails,
        pushes,
        slots,
        feed: written.feed,
        postal: written.postal,
        languages,
        messages,
        sources,
        by_event,
        canary: None,
    };
    catalogue.hash = hash(&catalogue);
    catalogue
}

/// The kinds by their names, and their names by the event that they are told on.
fn resolve_kinds(
    reader: &mut TreeReader<'_>,
    written_kinds: &[kinds::KindDraft],
    (categories, subjects): (&BTreeMap<String, KindCategory>, &BTreeMap<String, SubjectType>),
    plan_names: &BTreeMap<String, PlanName>,
) -> (BTreeMap<Kind, KindDef>, BTreeMap<String, Vec<Kind>>) {
    let (mut kinds, mut by_event) = (BTreeMap::new(), BTreeMap::<String, Vec<Kind>>::new());
    for written in written_kinds {
        choices::check_kind(reader, categories, written);
        if let Some(kind) = kinds::resolve_kind(reader, written, subjects, plan_names) {
            by_event.entry(kind.on.clone()).or_default().push(kind.name.clone());
            kinds.insert(kind.name.clone(), kind);
        }
    }
    (kinds, by_event)
}

fn check_offers(reader: &mut TreeReader<'_>, kinds: &[kinds::KindDraft], plans: &PlanSet) {
    for kind in kinds {
        let plan = |(name, at): &(String, TreePlace)| Some((plans.by_name.get(name.as_str())?, *at));
        let offered: Vec<_> = kind.plans.iter().filter_map(plan).collect();
        holds::resolve_offers(reader, kind.name.as_str(), &offered);
    }
}

fn hash(catalogue: &Catalogue) -> u64 {
    let mut text = CanonicalText::default();
    text.line("catalogue", &catalogue.name);
    for subject in catalogue.subjects.values() {
        text.line("subject", &subject.name);
        text.line("called", subject.called.as_deref().unwrap_or_default());
        for (name, field) in &subject.fields {
            text.line(name, &field.to_string());
        }
    }
    for kind in catalogue.kinds.values() {
        text.line("kind", kind.name.as_str());
        text.line("on", &kind.on);
        write_audience(&mut text, &kind.to);
        text.line("actor", if kind.actor_told { "told" } else { "left_out" });
        text.line("thread", kind.thread.as_deref().unwrap_or_default());
        text.line("while", kind.holds.as_ref().map(|holds| holds.text.as_str()).unwrap_or_default());
        text.line("expires", &kind.expires.as_ref().map(KindExpiry::text).unwrap_or_default());
        text.line("priority", &kind.priority.to_string());
        text.line("says", &kind.says);
        write_words(&mut text, kind);
        choices::write_kind(&mut text, kind);
        for plan in &kind.plans {
            text.line("told under", plan.as_str());
        }
    }
    choices::write_categories(&mut text, &catalogue.categories);
    for plan in catalogue.plans.by_name.values() {
        text.line("plan", &plan.hash.to_string());
    }
    for surface in &catalogue.plans.surfaces {
        let asks = if surface.asks_live { "live" } else { "" };
        text.line(&surface.name, &format!("{} {asks}", surface.online_ms));
    }
    for cap in &catalogue.plans.caps {
        hash::write_cap(&mut text, cap);
    }
    for mail in catalogue.mails.values() {
        for part in [&mail.headline, &mail.preheader, &mail.from, &mail.template, &mail.text] {
            text.line("mail", part);
        }
    }
    write_looks(&mut text, catalogue);
    slots::write_slot_lists(&mut text, &catalogue.slots);
    for push in catalogue.pushes.values() {
        for part in [&push.headline, &push.body, &push.longer, &push.image, &push.opens] {
            text.line("push", part);
        }
    }
    for source in catalogue.sources.values() {
        source.parts().iter().for_each(|(name, part)| text.line(name, part));
    }
    text.hash()
}

/// What a kind keeps of its events and how it bundles them. What is not set has no line.
fn write_words(text: &mut CanonicalText, kind: &kinds::KindDef) {
    for field in &kind.keeps {
        text.line("keeps", field);
    }
    if let Some(bundle) = &kind.bundle {
        for part in &bundle.by {
            text.line("bundle by", part.text());
        }
        text.line("says many", &bundle.says_many);
    }
}

/// What mails look like beside their templates. What is not set has no line.
fn write_looks(text: &mut CanonicalText, catalogue: &Catalogue) {
    for (plan, mail) in &catalogue.mails {
        let title = Some(&mail.title).filter(|title| !title.is_empty());
        let looks = [("title", title), ("lead", mail.lead.as_ref()), ("slots of", mail.slots.as_ref())];
        for (name, value) in looks.into_iter().filter_map(|(name, value)| Some((name, value?))) {
            text.line(name, &format!("{plan} {value}"));
        }
    }
    for plan in catalogue.plans.by_name.values() {
        for (number, section) in plan.sections.iter().enumerate() {
            if let Some(group) = &section.group {
                text.line("group", &format!("{} {number} {group}", plan.name));
            }
        }
    }
    if let Some(postal) = &catalogue.postal {
        text.line("postal", postal);
    }
    if catalogue.feed {
        text.line("feed", "true");
    }
    for language in &catalogue.languages {
        text.line("language", language.tag());
    }
    for (_, messages) in &catalogue.messages.by_language {
        text.line("messages", &messages.text);
    }
}

fn write_audience(text: &mut CanonicalText, to: &Audience) {
    match to {
        Audience::FollowersOf(fields) => text.line("followers_of", &fields.join(",")),
        Audience::SubscribersOf(fields) => text.line("subscribers_of", &fields.join(",")),
        Audience::Near { field, within_km } => {
            text.line("near", field);
            text.line("within", &within_km.to_string());
        }
        Audience::Person(field) => text.line("person", field),
        Audience::Mutual(one, other) => {
            text.line("mutual", one);
            text.line("with", other);
        }
        Audience::Listed => text.line("to", "listed"),
        Audience::Everyone => text.line("to", "everyone"),
    }
}
