//! Checks that topics and tables belong to the same house. Two houses with one `kafka.prefix` and two keyspaces would
//! share groups and transactional ids: each would fence the other, and the partitions of one would be split between two
//! stores. So topics and tables both keep the name of the house, and a house does not start if the names differ.

use anyhow::Context as _;
use house::book::HouseBook;
use model::{SubjectRef, Tenant, UtcMillis, Value, VersionedState};
use shell::datadir::random_hex;
use store::{StateKey, Store};
use topic::Topics;

use super::NotReadyError;

/// The house's own tenant, which no key of others names: it has a space.
const TENANT: &str = "of the house";
const HOUSE: &str = "house:self";
const NAME: &str = "name";
/// The answer by which two who name a house at once agree.
const ELECTION: &str = "house:name";
const NAME_BYTES: usize = 8;

/// What is to be done about two names.
#[derive(Clone, PartialEq, Eq, Debug)]
enum IdentityVerdict {
    Same,
    /// Neither has one.
    New,
    /// The topics are new; the tables are not.
    Adopt(String),
    Refuse(String),
}

/// Refuses topics and tables of two houses, and those that nobody has named.
pub async fn check_identity(
    log: &dyn Topics,
    store: &dyn Store,
    (prefix, keyspace): (&str, &str),
) -> anyhow::Result<()> {
    match judge_names(read_house_names(log, store).await?, (prefix, keyspace)) {
        IdentityVerdict::Same => Ok(()),
        IdentityVerdict::New | IdentityVerdict::Adopt(_) => Err(NotReadyError(
            "run `tidings migrate` first: topics and tables do not say yet which house they belong to"
                .to_owned(),
        )
        .into()),
        IdentityVerdict::Refuse(why) => Err(NotReadyError(why).into()),
    }
}

/// Names a house that has no name yet, or its topics after its tables.
pub async fn name_house(
    log: &dyn Topics,
    store: &dyn Store,
    (prefix, keyspace): (&str, &str),
    now: UtcMillis,
) -> anyhow::Result<Option<String>> {
    let name = match judge_names(read_house_names(log, store).await?, (prefix, keyspace)) {
        IdentityVerdict::Same => return Ok(None),
        IdentityVerdict::Refuse(why) => return Err(NotReadyError(why).into()),
        IdentityVerdict::Adopt(name) => name,
        IdentityVerdict::New => {
            let ours = random_hex(NAME_BYTES)?.into_bytes();
            let elected =
                store.answer(&house_tenant()?, ELECTION, ours, now).await.context("name the house")?;
            let name = String::from_utf8(elected).context("read the name of the house")?;
            let state = VersionedState::from_values(1, [(NAME, Some(Value::from_text(&name)))]);
            store.merge(vec![(house_key()?, state)]).await.context("name the house")?;
            name
        }
    };
    // The tables first: topics that have a name and tables that have none are of two houses.
    HouseBook::write_house_name(log, &name, now).await?;
    Ok(Some(format!("the house is named {name}")))
}

/// The names of the topics' house and of the tables'.
async fn read_house_names(
    log: &dyn Topics,
    store: &dyn Store,
) -> anyhow::Result<(Option<String>, Option<String>)> {
    let book = HouseBook::read(log).await?;
    let states = store.states(&[house_key()?]).await.context("read the name of the house")?;
    let of_store = states.first().and_then(|state| state.text(NAME)).map(str::to_owned);
    Ok((book.house().map(str::to_owned), of_store))
}

fn judge_names(
    (log, store): (Option<String>, Option<String>),
    (prefix, keyspace): (&str, &str),
) -> IdentityVerdict {
    match (log, store) {
        (None, None) => IdentityVerdict::New,
        (None, Some(store)) => IdentityVerdict::Adopt(store),
        (Some(log), Some(store)) if log == store => IdentityVerdict::Same,
        (Some(log), store) => {
            let store = store.map_or_else(|| "no house yet".to_owned(), |store| format!("house {store}"));
            IdentityVerdict::Refuse(format!(
                "the topics that begin with `{prefix}` belong to house {log}, and keyspace `{keyspace}` \
                belongs to {store}: set `cql.keyspace` to the keyspace of the topics' house, or set \
                another `kafka.prefix` for a house of its own"
            ))
        }
    }
}

fn house_tenant() -> anyhow::Result<Tenant> {
    Ok(Tenant::new(TENANT)?)
}

pub(super) fn house_key() -> anyhow::Result<StateKey> {
    Ok(StateKey::Subject(house_tenant()?, SubjectRef::new(HOUSE)?))
}

#[cfg(test)]
mod tests {
    use model::partition::PartitionCount;
    use runtime::Clock;
    use topic::embedded::EmbeddedTopics;

    use super::*;
    use house::declare_topics;

    const OF: (&str, &str) = ("srd.", "tidings");

    #[tokio::test]
    async fn two_houses_on_one_set_of_topics_are_refused() {
        let dir = tempfile::tempdir().unwrap();
        let log = async |name: &str| {
            let log = EmbeddedTopics::open(&dir.path().join(name), Clock::still(1_000_000)).unwrap();
            declare_topics(&log, PartitionCount::new(4).unwrap()).await.unwrap();
            log
        };
        let store = |name: &str| store_embedded::EmbeddedStore::open(&dir.path().join(name)).unwrap();
        let now = UtcMillis(1_000_000);
        let (first, other) = (log("log").await, store("other"));
        let own = store("own");
        let refused = async |log: &EmbeddedTopics, store: &store_embedded::EmbeddedStore| {
            let error = check_identity(log, store, OF).await.unwrap_err();
            assert!(error.is::<NotReadyError>(), "{error:#}");
            error.to_string()
        };
        assert!(refused(&first, &own).await.contains("tidings migrate"));
        assert!(name_house(&first, &own, OF, now).await.unwrap().is_some());
        assert_eq!(name_house(&first, &own, OF, now).await.unwrap(), None);
        check_identity(&first, &own, OF).await.unwrap();
        // Tables of nobody, then of another house.
        assert!(refused(&first, &other).await.contains("belongs to no house yet"));
        assert!(name_house(&first, &other, OF, now).await.unwrap_err().is::<NotReadyError>());
        let second = log("second").await;
        assert!(name_house(&second, &other, OF, now).await.unwrap().is_some());
        assert!(refused(&first, &other).await.contains("`srd.` belong to house"));
        // Topics that were lost and made anew are of the house that the tables are of.
        let anew = log("anew").await;
        assert!(name_house(&anew, &own, OF, now).await.unwrap().is_some());
        check_identity(&anew, &own, OF).await.unwrap();
    }
}
