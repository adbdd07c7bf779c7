//! Finds the list that everybody is shown: the one that stands, the same for longer, or another one in its place. Whoever writes
//! first decides; whoever comes second shows what stands then.

use std::sync::Arc;

use catalogue::SlotListDef;
use model::Person;
use slot_lists::{ListStep, SlotList, codec::encode_list};
use store::StandingAnswer;
use web::visitor::VisitorClass;

use crate::{
    config::{KEPT_BEHIND_MS, TRIES_MAX},
    decide::{choose_list, list_life},
    deps::Deps,
    load::{load_facts, load_standing, read_standing},
    read::AskedList,
};

/// A list, and whom it is for.
pub struct ListOrder<'a> {
    pub asked: &'a AskedList,
    pub def: &'a SlotListDef,
    pub reader: Option<&'a Person>,
}

/// What `find` finds, for all who ask meanwhile. Where that fails, or whoever asked first goes away, the next one looks.
pub async fn find_once(
    deps: &Deps,
    asked: &AskedList,
    find: impl Future<Output = anyhow::Result<SlotList>>,
) -> anyhow::Result<Arc<SlotList>> {
    deps.board.lists.seen().get_or_insert_async(asked, async { find.await.map(Arc::new) }).await
}

/// The list that is shown now.
pub async fn find_list(deps: &Deps, order: ListOrder<'_>) -> anyhow::Result<SlotList> {
    let life = list_life(order.def);
    // A robot is shown what stands, and what is chosen for one is not kept.
    if order.asked.visitor == VisitorClass::Robot
        && let Some(list) = find_clicked(deps, order.asked).await?
    {
        return Ok(list);
    }
    let mut standing = load_standing(deps, order.asked).await?;
    for _ in 0..TRIES_MAX {
        let now = deps.room.now();
        let step = standing.as_ref().map(|standing| standing.list.find_step(life, now));
        let (next, how) = match (&standing, step) {
            (Some(standing), Some(ListStep::Serve)) => return Ok(standing.list.clone()),
            (Some(standing), Some(ListStep::Keep(until))) => (standing.list.kept_until(until), "kept"),
            (Some(standing), _) => (make_list(deps, &order, Some(&standing.list)).await?, "followed"),
            (None, _) => {
                let beside = load_beside(deps, order.asked).await?;
                (make_list(deps, &order, beside.as_ref()).await?, "first")
            }
        };
        let Some(key) = order.asked.answer_key() else { return Ok(next) };
        let answer = StandingAnswer { body: encode_list(&next), until: next.until.plus(KEPT_BEHIND_MS) };
        let before = standing.as_ref().map(|standing| &standing.answer);
        let tenant = &order.asked.slots.tenant;
        let stands =
            deps.room.store.put_answer(tenant, &key, before, answer.clone(), deps.room.now()).await?;
        let is_ours = stands == answer;
        deps.metrics.count_list(if is_ours { how } else { "theirs" });
        // Whoever stood still until now shows nobody what may have given way meanwhile.
        if is_ours && deps.room.now() < next.known_until() {
            return Ok(next);
        }
        standing = Some(read_standing(stands)?);
    }
    anyhow::bail!("another process was first {TRIES_MAX} times")
}

/// A list that begins, or one that follows: it lives from when it is written, and not from when it was asked for.
async fn make_list(
    deps: &Deps,
    order: &ListOrder<'_>,
    before: Option<&SlotList>,
) -> anyhow::Result<SlotList> {
    let ListOrder { asked, def, reader } = *order;
    let tenant = &asked.slots.tenant;
    let facts = load_facts(deps, (tenant, reader), def).await?;
    let (now, life) = (deps.room.now(), list_life(def));
    let (things, places) = (choose_list(&facts, tenant, def, now), usize::from(def.places));
    Ok(match before {
        Some(before) => before.follow_with(things, places, life, now),
        None => SlotList::first(things, places, life, now),
    })
}

/// What a program was shown for the reader, or the reader before a program: what stays keeps its place there as well, for a reader
/// may see the one and click on the other.
async fn load_beside(deps: &Deps, asked: &AskedList) -> anyhow::Result<Option<SlotList>> {
    let other = match asked.visitor {
        VisitorClass::Reader => VisitorClass::Proxy,
        VisitorClass::Proxy => VisitorClass::Reader,
        VisitorClass::Robot => return Ok(None),
    };
    Ok(load_standing(deps, &asked.shown_to(other)).await?.map(|standing| standing.list))
}

/// The list that whoever follows a link was shown, as far as one can know: the one that was opened last. Nothing is chosen for a
/// click.
pub async fn find_clicked(deps: &Deps, asked: &AskedList) -> anyhow::Result<Option<SlotList>> {
    let (reader, proxy) = (asked.shown_to(VisitorClass::Reader), asked.shown_to(VisitorClass::Proxy));
    let (reader, proxy) = tokio::try_join!(load_standing(deps, &reader), load_standing(deps, &proxy))?;
    let lists = [proxy, reader].into_iter().flatten().map(|standing| standing.list);
    Ok(lists.max_by_key(|list| list.until))
}
