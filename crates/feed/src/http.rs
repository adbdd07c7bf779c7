//! What comes in by HTTP: pages of a feed, counts, marks, and a stream of news. A service asks for any person of its tenant,
//! a person for themselves.
//!
//! The `Host` header is checked by the code that mounts this router.

mod description;
mod entries;
mod live;

use std::sync::Arc;

use aide::{
    axum::{
        ApiRouter,
        routing::{get_with, post_with},
    },
    openapi::OpenApi,
};
use axum::{
    Json, Router,
    extract::State,
    http::{HeaderMap, StatusCode},
    middleware::from_fn_with_state,
};
use catalogue::Catalogue;
use feed_bundles::{
    BundleName, BundlePlace, FeedBundle, FeedEntry,
    counts::FeedCounts,
    page::{FeedPage, cut_first_page, cut_page},
    rule::BundleRule,
    visit::FeedVisit,
};
use house_facts::KeyScope;
use listener::http::hold_until_read;
use model::{Person, Tenant, UtcMillis};
use room::feedback::parse_entry_key;
use room::item_words::list_named_actors;
use room::saved::SavedFullError;
use runtime::clock::SteadyStopwatch;
use serde::Serialize;
use store::StoreError;
use tokio::{sync::Semaphore, time::timeout};
use web::{
    HttpProblem, JsonBody, ProblemType,
    body::limit_body,
    cross_origin::{CrossOriginRule, answer_other_origins},
    description::{OperationAccess, OperationDoc, describe_operation},
    etag::{CachedJson, TaggedBody},
    limits::REQUEST_TIME_MAX,
    pagination::{CURSOR, LIMIT, ListParams},
    permits::{TenantPermit, TenantPermits},
    person_access::{PersonCaller, PersonDoor},
};
use wire::FeedbackAction;

use crate::{
    apply::{MarkedFeed, apply_mark},
    config::{ITEM_ENTRIES_MAX, LIVE_MAX, MARK_BYTES_MAX, REQUESTS_MAX, SHELF_AGE_MS},
    deps::Deps,
    facts::BundleContext,
    kept_page::{CutPage, KeptPage},
    load::{FeedOwner, LoadedFeed, list_named, load_context, load_feed, load_shown_feed},
    mark::{MarkPlan, plan_mark},
    report::{
        ActorReport, BundleReport, CountsReport, FeedPageReport, ItemReport, MarksReport, OpenBundleReport,
    },
    request::{BUNDLE_BY, FilterContext, MarkOrder, PARTS, PageRequest, read_rule},
    texts::TextMaker,
};

use description::{BundleAddress, CountsAddress, FeedAddress, PersonAddress, RuledAddress};

/// What the HTTP way works with.
#[derive(Clone)]
pub struct HttpFeed {
    pub deps: Deps,
    /// Who may ask.
    pub door: PersonDoor,
}

struct FeedService {
    http: HttpFeed,
    requests: TenantPermits,
    live: Arc<Semaphore>,
}

type FeedState = State<Arc<FeedService>>;

/// The paths of the feed.
pub fn router(http: HttpFeed) -> Router {
    api_router(http).finish_api(&mut OpenApi::default())
}

/// The same, with their description.
pub fn api_router(http: HttpFeed) -> ApiRouter {
    let has_others = {
        let door = http.door.clone();
        move |tenant: &Tenant| door.has_others(tenant)
    };
    let requests = TenantPermits::new(REQUESTS_MAX, Box::new(has_others));
    let sites = CrossOriginRule { persons: http.door.persons.clone(), methods: "GET, HEAD, POST" };
    let service = Arc::new(FeedService { http, requests, live: Arc::new(Semaphore::new(LIVE_MAX)) });
    let doc =
        |id, summary, problems| OperationDoc { id, summary, access: OperationAccess::KeyOrPerson, problems };
    let feed = doc("getFeed", "A page of a person's feed, and its counts", &[ProblemType::Forbidden][..]);
    let missing = &[ProblemType::Forbidden, ProblemType::NotFound][..];
    let bundle = doc("getBundle", "A bundle of a person's feed, opened", missing);
    let counts = doc("getCounts", "How many bundles are new, and how many unread", &[ProblemType::Forbidden]);
    let refused = &[ProblemType::Forbidden, ProblemType::Conflict][..];
    let marks = doc("postMarks", "Says what the person did with entries", refused);
    let live =
        doc("getFeedEvents", "A stream of events that say when a feed changes", &[ProblemType::Forbidden]);
    ApiRouter::new()
        .api_route("/v1/people/{id}/feed", get_with(show_feed, describe_operation(feed)))
        .api_route("/v1/people/{id}/feed/{bundle}", get_with(show_bundle, describe_operation(bundle)))
        .api_route("/v1/people/{id}/counts", get_with(show_counts, describe_operation(counts)))
        .api_route("/v1/people/{id}/marks", post_with(post_marks, describe_operation(marks)))
        .api_route(
            "/v1/people/{id}/entries",
            get_with(entries::list_entries, describe_operation(entries::DOC)),
        )
        .api_route("/v1/people/{id}/live", get_with(live::stream_news, describe_operation(live)))
        .layer(limit_body(MARK_BYTES_MAX))
        .layer(from_fn_with_state(sites, answer_other_origins))
        .with_state(service)
}

async fn show_feed(
    State(service): FeedState,
    address: FeedAddress,
    headers: HeaderMap,
) -> Result<CachedJson<FeedPageReport>, HttpProblem> {
    service
        .answer_body("feed", &headers, KeyScope::Read, address.person, async |caller, person| {
            let request = PageRequest::parse(&address.params?, &service.http.deps.room.catalogue)?;
            service.read_page(FeedOwner { tenant: caller.tenant(), person: &person }, request).await
        })
        .await
}

async fn show_bundle(
    State(service): FeedState,
    address: BundleAddress,
    headers: HeaderMap,
) -> Result<CachedJson<OpenBundleReport>, HttpProblem> {
    service
        .answer("bundle", &headers, KeyScope::Read, address.person, async |caller, person| {
            let catalogue = &service.http.deps.room.catalogue;
            let request = OpenRequest::parse(&address.bundle?, &address.params?, catalogue)?;
            service.read_bundle(FeedOwner { tenant: caller.tenant(), person: &person }, request).await
        })
        .await
}

async fn show_counts(
    State(service): FeedState,
    CountsAddress(RuledAddress { person, params }): CountsAddress,
    headers: HeaderMap,
) -> Result<CachedJson<CountsReport>, HttpProblem> {
    service
        .answer("counts", &headers, KeyScope::Read, person, async |caller, person| {
            let rule = read_rule(&params?)?;
            let owner = FeedOwner { tenant: caller.tenant(), person: &person };
            service.read_counts(owner, rule).await
        })
        .await
}

async fn post_marks(
    State(service): FeedState,
    PersonAddress(person): PersonAddress,
    headers: HeaderMap,
    order: Result<JsonBody<MarkOrder>, HttpProblem>,
) -> Result<Json<MarksReport>, HttpProblem> {
    let _at_work = service.http.deps.room.quiet.begin_work();
    let watch = SteadyStopwatch::start();
    let answer = async {
        let (caller, person, _permit) = service.admit(&headers, KeyScope::Feedback, person)?;
        let JsonBody(order) = order?;
        let owner = FeedOwner { tenant: caller.tenant(), person: &person };
        within_time(service.mark(owner, &order)).await
    };
    let answer = answer.await;
    service.observe("marks", answer.as_ref().map(|_| StatusCode::OK), &watch);
    answer.map(Json)
}

/// A bundle that is opened.
struct OpenRequest {
    name: BundleName,
    /// The last entry that the reader has.
    behind: Option<BundlePlace>,
    most: usize,
    rule: BundleRule,
    in_parts: bool,
}

impl OpenRequest {
    fn parse(name: &str, asked: &ListParams, catalogue: &Catalogue) -> Result<Self, HttpProblem> {
        let name = BundleName::parse(name).ok_or_else(no_such_bundle)?;
        let cursor = asked.text(CURSOR).filter(|text| !text.is_empty());
        let behind = cursor.map(|text| {
            parse_place(text)
                .ok_or_else(|| HttpProblem::bad_request(format_args!("{CURSOR}: it is not a valid cursor")))
        });
        // All that a page of the feed takes, but for filters.
        let PageRequest { most, rule, in_parts, .. } =
            PageRequest::parse(&asked.only(&[LIMIT, BUNDLE_BY, PARTS]), catalogue)?;
        Ok(Self { name, behind: behind.transpose()?, most, rule, in_parts })
    }
}

/// Where an entry stands, as a cursor has it.
fn place_text(place: BundlePlace) -> String {
    format!("{:x}-{}", place.since.0, place.key)
}

fn parse_place(text: &str) -> Option<BundlePlace> {
    let (since, key) = text.split_once('-')?;
    let since = u64::from_str_radix(since, 16).ok()?;
    Some(BundlePlace { since: UtcMillis(since.cast_signed()), key: parse_entry_key(key).ok()? })
}

fn no_such_bundle() -> HttpProblem {
    HttpProblem::not_found("there is no such bundle in this feed (any more)")
}

impl FeedService {
    fn now(&self) -> UtcMillis {
        self.http.deps.room.now()
    }

    /// Who asks, for whom; the same is said whether or not there is such a person.
    fn admit(
        &self,
        headers: &HeaderMap,
        scope: KeyScope,
        person: Result<String, HttpProblem>,
    ) -> Result<(PersonCaller, Person, TenantPermit), HttpProblem> {
        let caller = self.http.door.authenticate(headers, scope, self.now())?;
        let person = Person::new(&person?).map_err(HttpProblem::bad_request)?;
        caller.check_person(&person)?;
        let permit = self.requests.take(caller.tenant(), 1);
        let permit = permit.ok_or_else(|| HttpProblem::busy("too many requests at once"))?;
        Ok((caller, person, permit))
    }

    /// Answers a question, unless the client has the answer.
    async fn answer<T: Serialize>(
        &self,
        path: &str,
        headers: &HeaderMap,
        scope: KeyScope,
        person: Result<String, HttpProblem>,
        read: impl AsyncFnOnce(PersonCaller, Person) -> Result<T, HttpProblem>,
    ) -> Result<CachedJson<T>, HttpProblem> {
        let body = async |caller, person| write_body(&read(caller, person).await?);
        self.answer_body(path, headers, scope, person, body).await
    }

    /// The same with what is JSON already.
    async fn answer_body<T: Serialize>(
        &self,
        path: &str,
        headers: &HeaderMap,
        scope: KeyScope,
        person: Result<String, HttpProblem>,
        read: impl AsyncFnOnce(PersonCaller, Person) -> Result<TaggedBody, HttpProblem>,
    ) -> Result<CachedJson<T>, HttpProblem> {
        let watch = SteadyStopwatch::start();
        let answer = async {
            let (caller, person, permit) = self.admit(headers, scope, person)?;
            let body = within_time(read(caller, person)).await?;
            Ok(CachedJson::from_body(&body, headers).map(|response| hold_until_read(response, permit)))
        };
        let answer = answer.await;
        self.observe(path, answer.as_ref().map(|_| StatusCode::OK), &watch);
        answer
    }

    fn observe(&self, path: &str, answer: Result<StatusCode, &HttpProblem>, watch: &SteadyStopwatch) {
        let status = answer.unwrap_or_else(HttpProblem::status);
        self.http.deps.metrics.observe_request(path, status.as_str(), watch.elapsed());
    }

    /// The counts as they are now, bundled by a rule.
    async fn read_counts(&self, owner: FeedOwner<'_>, rule: BundleRule) -> Result<CountsReport, HttpProblem> {
        let deps = &self.http.deps;
        let feed = load_shown_feed(deps, owner, self.now()).await.map_err(describe_failure)?;
        Ok(CountsReport::from(&feed.sheet.count_by(rule, deps.room.catalogue.for_person(owner.person))))
    }

    async fn read_page(&self, owner: FeedOwner<'_>, request: PageRequest) -> Result<TaggedBody, HttpProblem> {
        let (deps, now) = (&self.http.deps, self.now());
        let feed = load_shown_feed(deps, owner, now).await.map_err(describe_failure)?;
        let kept = feed.shelf.find_page(&feed.sheet, &request, now);
        let cut = match &kept {
            Some(kept) => kept.cut.clone(),
            None => Arc::new(cut_wanted(deps, owner, &feed, &request)),
        };
        let FeedPage { bundles, next } = &cut.page;
        let leads = bundles.iter().map(|bundle| bundle.lead().key);
        let context = load_context(deps, owner, &feed.shelf, leads, &cut.named).await;
        let context = context.map_err(describe_failure)?;
        if let Some(kept) = kept.filter(|kept| kept.context == context) {
            return Ok(kept.body.clone());
        }
        let texts = text_maker(deps, owner, (&feed, &context), now, request.in_parts);
        let words = texts.say_bundles(bundles);
        let item = |(bundle, words)| BundleReport {
            words,
            ..describe_bundle(deps, owner, (bundle, cut.as_of), &context)
        };
        let body = write_body(&FeedPageReport {
            bundles: bundles.iter().zip(words).map(item).collect(),
            counts: (&cut.counts).into(),
            shown: FeedVisit::from_bundles(bundles, cut.as_of).to_string(),
            next: next.as_ref().map(ToString::to_string),
        })?;
        let LoadedFeed { shelf, sheet, .. } = feed;
        shelf.keep_page(KeptPage { sheet, request, made_at: now, cut, context, body: body.clone() });
        Ok(body)
    }

    async fn read_bundle(
        &self,
        owner: FeedOwner<'_>,
        request: OpenRequest,
    ) -> Result<OpenBundleReport, HttpProblem> {
        let OpenRequest { name, behind, most, rule, in_parts } = request;
        let (deps, now) = (&self.http.deps, self.now());
        let feed = load_shown_feed(deps, owner, now).await.map_err(describe_failure)?;
        let catalogue = deps.room.catalogue.for_person(owner.person);
        let bundles = feed.sheet.bundles_as_of(rule, name.as_of, catalogue);
        let bundle = bundles.into_iter().find(|bundle| bundle.id == name.id).ok_or_else(no_such_bundle)?;
        let is_next = |entry: &&Arc<FeedEntry>| behind.is_none_or(|behind| entry.place() < behind);
        let mut rest = bundle.entries().iter().filter(is_next).cloned();
        let entries: Vec<Arc<FeedEntry>> = rest.by_ref().take(most).collect();
        let next = rest.next().and(entries.last()).map(|last| place_text(last.place()));
        let leads = entries.iter().map(|entry| entry.key).chain([bundle.lead().key]);
        let mut named = list_named(std::slice::from_ref(&bundle), in_parts);
        named.extend(list_named_actors(entries.iter().filter_map(|entry| entry.actor.as_ref())));
        let context =
            load_context(deps, owner, &feed.shelf, leads, &named).await.map_err(describe_failure)?;
        let texts = text_maker(deps, owner, (&feed, &context), now, in_parts);
        let words = texts.say_bundles(std::slice::from_ref(&bundle)).pop().unwrap_or_default();
        let items = entries
            .iter()
            .zip(texts.say_entries(&entries))
            .map(|(entry, words)| ItemReport { words, ..describe_item(entry, &context) });
        let items = items.collect();
        let bundle = BundleReport { words, ..describe_bundle(deps, owner, (&bundle, name.as_of), &context) };
        Ok(OpenBundleReport { bundle, items, next })
    }

    async fn mark(&self, owner: FeedOwner<'_>, order: &MarkOrder) -> Result<MarksReport, HttpProblem> {
        let (deps, now) = (&self.http.deps, self.now());
        let request = order.parse(&deps.room.catalogue, now)?;
        let partition = deps.room.partitions.of_person(owner.tenant, owner.person);
        let turn = deps.board.shelves.find_turn(&owner.key(), partition).unwrap_or_default();
        let _turn = turn.lock().await;
        let feed = load_feed(deps, owner, SHELF_AGE_MS, now).await.map_err(describe_failure)?;
        if feed.facts.is_erased() {
            return Err(HttpProblem::conflict("this person was erased"));
        }
        let life = deps.room.store.day_life();
        let plan = plan_mark(&request, &feed, filter_context(deps, owner, &feed), (life, now))?;
        let of = MarkedFeed { facts: &feed.facts, feed: Some(&feed) };
        apply_mark(deps, owner, (request.did, &plan), of, now).await.map_err(describe_failure)?;
        deps.metrics.count_mark(mark_name(request.did));
        let marked = match plan {
            MarkPlan::Note { .. } => None,
            MarkPlan::Entries(keys) => Some(keys.len()),
        };
        Ok(MarksReport { marked, counts: self.read_counts(owner, request.rule).await? })
    }
}

fn mark_name(did: FeedbackAction) -> &'static str {
    match did {
        FeedbackAction::Read => "read",
        FeedbackAction::Cleared => "cleared",
        FeedbackAction::Seen => "seen",
        FeedbackAction::Unread => "unread",
        FeedbackAction::Restored => "restored",
        FeedbackAction::Saved => "saved",
        FeedbackAction::Unsaved => "unsaved",
        FeedbackAction::Snoozed(_) => "snoozed",
    }
}

fn filter_context<'a>(deps: &'a Deps, owner: FeedOwner<'a>, feed: &'a LoadedFeed) -> FilterContext<'a> {
    let catalogue = deps.room.catalogue.for_person(owner.person);
    FilterContext { catalogue, tenant: owner.tenant, world: &feed.shelf.world }
}

fn text_maker<'a>(
    deps: &'a Deps,
    owner: FeedOwner<'a>,
    (feed, context): (&'a LoadedFeed, &'a BundleContext),
    now: UtcMillis,
    in_parts: bool,
) -> TextMaker<'a> {
    TextMaker { deps, owner, facts: &feed.facts, shelf: &feed.shelf, context, now, in_parts }
}

fn cut_wanted(
    deps: &Deps,
    owner: FeedOwner<'_>,
    feed: &LoadedFeed,
    PageRequest { cursor, most, filter, rule, in_parts }: &PageRequest,
) -> CutPage {
    let (sheet, context) = (&feed.sheet, filter_context(deps, owner, feed));
    let wants = |bundle: &FeedBundle| filter.wants(bundle, context);
    let as_of = cursor.as_ref().map_or(sheet.feed.as_of, |cursor| cursor.as_of);
    let is_ruled = *rule != BundleRule::Catalogue;
    let ruled = is_ruled.then(|| sheet.bundles_as_of(*rule, sheet.feed.as_of, context.catalogue));
    let counts = match &ruled {
        None => sheet.counts.clone(),
        Some(bundles) => FeedCounts::from_bundles(bundles, context.catalogue),
    };
    let page = match cursor {
        None => cut_first_page(ruled.as_deref().unwrap_or(&sheet.feed.bundles), *most, wants, as_of),
        Some(_) => cut_page(sheet.list_ruled(*rule, context.catalogue), cursor.clone(), *most, wants, as_of),
    };
    let named = list_named(&page.bundles, *in_parts);
    CutPage { page, counts, as_of, named }
}

fn describe_bundle(
    deps: &Deps,
    owner: FeedOwner<'_>,
    bundle: (&FeedBundle, UtcMillis),
    context: &BundleContext,
) -> BundleReport {
    let kinds = &deps.room.catalogue.for_person(owner.person).kinds;
    let category = kinds.get(&bundle.0.lead().kind).and_then(|kind| kind.category.as_deref());
    BundleReport::new(bundle, category, &context.erased, ITEM_ENTRIES_MAX)
}

fn describe_item(entry: &FeedEntry, context: &BundleContext) -> ItemReport {
    ItemReport {
        entry: entry.key.to_string(),
        kind: entry.kind.to_string(),
        subject: entry.subject.to_string(),
        words: Default::default(),
        occurred: entry.key.occurred.to_string(),
        new: entry.attention.seen.is_none(),
        unread: !entry.attention.is_read,
        saved: entry.attention.is_saved,
        actor: entry.actor.as_ref().map(|actor| ActorReport::new(actor, &context.erased)),
    }
}

fn write_body(report: &impl Serialize) -> Result<TaggedBody, HttpProblem> {
    let body = serde_json::to_string(report).map_err(|error| HttpProblem::internal(&error.into()))?;
    Ok(TaggedBody::new(body))
}

async fn within_time<T>(answer: impl Future<Output = Result<T, HttpProblem>>) -> Result<T, HttpProblem> {
    let late = || HttpProblem::busy("the request took too long");
    timeout(REQUEST_TIME_MAX, answer).await.unwrap_or_else(|_| Err(late()))
}

fn describe_failure(error: anyhow::Error) -> HttpProblem {
    if let Some(full) = error.downcast_ref::<SavedFullError>() {
        return HttpProblem::conflict(full);
    }
    match error.downcast_ref() {
        Some(StoreError::Busy(_)) => HttpProblem::busy("the store is busy"),
        Some(StoreError::Full(_)) => HttpProblem::from_text(ProblemType::DiskFull, "the disk is full"),
        _ => HttpProblem::internal(&error),
    }
}
