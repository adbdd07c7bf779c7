//! What an operator has paused: a plan, a channel or a tenant. The notes are on the topic `house`, so every process of a
//! house hears of them, also one that starts later; its rooms are told by the [`BookWatch`](crate::book_watch::BookWatch).

use std::collections::BTreeSet;

use catalogue::Catalogue;
use house_facts::pause::{PauseNote, PauseNotes, PauseScope};
use model::{Channel, PlanName, Tenant, UtcMillis};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use source_text::suggest_name;
use topic::Topics;

use crate::book::HouseBook;

/// Characters of a reason, and of who pauses, at most.
const WHY_CHARS_MAX: usize = 500;
const BY_CHARS_MAX: usize = 100;
/// And of a scope that is quoted in an answer.
const QUOTED_CHARS_MAX: usize = 100;

/// Something that is paused.
#[derive(Clone, PartialEq, Eq, Debug, JsonSchema, Serialize, Deserialize)]
pub struct PauseView {
    /// `plan:NAME`, `channel:NAME` or `tenant:NAME`.
    pub scope: String,
    pub since: String,
    pub by: String,
    pub why: String,
}

/// What is to be paused, or to go on.
#[derive(Clone, PartialEq, Eq, Debug, JsonSchema, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PauseOrder {
    /// `plan:NAME`, `channel:NAME` or `tenant:NAME`.
    pub scope: String,
    pub is_paused: bool,
    pub by: String,
    #[serde(default)]
    pub why: String,
}

/// What there is to be paused; nothing where that is not known.
#[derive(Clone, Copy, Default)]
pub struct KnownScopes<'a> {
    pub catalogue: Option<&'a Catalogue>,
    pub tenants: Option<&'a BTreeSet<Tenant>>,
}

/// Why it was not done: what was asked for makes no sense, or it failed.
#[derive(Debug, thiserror::Error)]
pub enum PauseError {
    #[error("{0}")]
    Refused(String),
    #[error("{0:#}")]
    Failed(anyhow::Error),
}

/// Reads what is paused now.
pub async fn list_pauses(log: &dyn Topics) -> anyhow::Result<Vec<PauseView>> {
    Ok(view_pauses(HouseBook::read(log).await?.pauses()))
}

/// Pauses something, or lets it go on; says what is paused then.
pub async fn order_pause(
    log: &dyn Topics,
    known: KnownScopes<'_>,
    order: PauseOrder,
    now: UtcMillis,
) -> Result<Vec<PauseView>, PauseError> {
    let mut book = HouseBook::read(log).await.map_err(PauseError::Failed)?;
    let scope = read_scope(&order.scope, known, &book).map_err(PauseError::Refused)?;
    let was_paused = book.pauses().get(&scope).is_some_and(|note| note.is_paused);
    if was_paused == order.is_paused {
        let how = if was_paused { "is paused already" } else { "is not paused" };
        return Err(PauseError::Refused(format!("{scope} {how}")));
    }
    let PauseOrder { is_paused, by, why, .. } = order;
    if why.chars().count() > WHY_CHARS_MAX {
        return Err(PauseError::Refused(format!("a reason has at most {WHY_CHARS_MAX} characters")));
    }
    if by.trim().is_empty() || by.chars().count() > BY_CHARS_MAX {
        return Err(PauseError::Refused(format!("`by` has 1 to {BY_CHARS_MAX} characters")));
    }
    let note = PauseNote { scope, is_paused, by, why, at: now };
    if is_paused {
        tracing::warn!(scope = %note.scope, by = note.by, why = note.why, "paused");
    } else {
        tracing::warn!(scope = %note.scope, by = note.by, "a pause is over");
    }
    book.write_pause(log, note).await.map_err(PauseError::Failed)?;
    book.update(log).await.map_err(PauseError::Failed)?;
    Ok(view_pauses(book.pauses()))
}

/// The scope that is meant, if there is such a thing. What is paused may go on although the catalogue has it no more.
fn read_scope(text: &str, known: KnownScopes<'_>, book: &HouseBook) -> Result<PauseScope, String> {
    let scope = PauseScope::parse(text).ok_or_else(|| explain_scope(text))?;
    let plans = known.catalogue.map(|catalogue| catalogue.plans_of_arms().map(|plan| &plan.name));
    let is_paused = book.pauses().get(&scope).is_some_and(|note| note.is_paused);
    match (&scope, plans) {
        (PauseScope::Tenant(tenant), _)
            if known.tenants.is_some_and(|tenants| !tenants.contains(tenant)) && !is_paused =>
        {
            let names = known.tenants.into_iter().flatten().map(Tenant::as_str);
            Err(format!("there is no tenant `{tenant}`: {}", suggest_name(tenant.as_str(), names)))
        }
        (PauseScope::Plan(plan), Some(plans)) if !plans.clone().any(|known| known == plan) && !is_paused => {
            let names = plans.map(PlanName::as_str);
            Err(format!("there is no plan `{plan}`: {}", suggest_name(plan.as_str(), names)))
        }
        _ => Ok(scope),
    }
}

fn explain_scope(text: &str) -> String {
    if let Some(("channel", name)) = text.split_once(':') {
        return format!(
            "there is no channel `{name}`: {}",
            suggest_name(name, Channel::ALL.map(Channel::name))
        );
    }
    let text: String = text.chars().take(QUOTED_CHARS_MAX).collect();
    format!("`{text}` is not `plan:NAME`, `channel:NAME` or `tenant:NAME`")
}

fn view_pauses(notes: &PauseNotes) -> Vec<PauseView> {
    let paused = notes.values().filter(|note| note.is_paused);
    let view = |note: &PauseNote| PauseView {
        scope: note.scope.to_string(),
        since: note.at.to_string(),
        by: note.by.clone(),
        why: note.why.clone(),
    };
    paused.map(view).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{START, open_fixture, test_catalogue};
    use runtime::Clock;

    fn order(scope: &str, is_paused: bool) -> PauseOrder {
        PauseOrder { scope: scope.to_owned(), is_paused, by: "ops".to_owned(), why: "why".to_owned() }
    }

    #[tokio::test]
    async fn what_makes_no_sense_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let clock = Clock::still(UtcMillis::parse(START).unwrap().0);
        let ground = open_fixture(dir.path(), &clock).await;
        let (log, catalogue) = (ground.house.engines().topics.clone(), test_catalogue());
        let tenants = BTreeSet::from([Tenant::new("main").unwrap()]);
        let known = KnownScopes { catalogue: Some(&catalogue), tenants: Some(&tenants) };
        let check = async |scope: &str, is_paused: bool, expected: Result<&[&str], &str>| {
            let done = order_pause(&*log, known, order(scope, is_paused), UtcMillis(7)).await;
            let done = done.map(|paused| paused.into_iter().map(|one| one.scope).collect::<Vec<_>>());
            let done = done.map_err(|error| error.to_string());
            let expected = expected.map(|scopes| scopes.iter().map(|scope| (*scope).to_owned()).collect());
            assert_eq!(done, expected.map_err(str::to_owned), "{scope}");
        };
        check("plan:daly", true, Err("there is no plan `daly`: did you mean `daily`?")).await;
        check("channel:mail", true, Err("there is no channel `mail`: did you mean `email`?")).await;
        check("daily", true, Err("`daily` is not `plan:NAME`, `channel:NAME` or `tenant:NAME`")).await;
        check("tenant:mian", true, Err("there is no tenant `mian`: did you mean `main`?")).await;
        check("plan:daily", false, Err("plan:daily is not paused")).await;
        check("plan:daily", true, Ok(&["plan:daily"])).await;
        check("plan:daily", true, Err("plan:daily is paused already")).await;
        check("tenant:main", true, Ok(&["plan:daily", "tenant:main"])).await;
        check("plan:daily", false, Ok(&["tenant:main"])).await;
        assert_eq!(list_pauses(&*log).await.unwrap()[0].why, "why");
        let long = PauseOrder { why: "x".repeat(501), ..order("plan:daily", true) };
        let refused = order_pause(&*log, known, long, UtcMillis(7)).await.unwrap_err();
        assert_eq!(refused.to_string(), "a reason has at most 500 characters");
        let nobody = PauseOrder { by: " ".to_owned(), ..order("plan:daily", true) };
        let refused = order_pause(&*log, known, nobody, UtcMillis(7)).await.unwrap_err();
        assert_eq!(refused.to_string(), "`by` has 1 to 100 characters");
        ground.house.stop().await.unwrap();
    }
}
