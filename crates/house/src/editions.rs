//! The editions of the catalogue, for operators: which were taken up, and the way back to the one before.

use model::UtcMillis;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use topic::Topics;

use crate::book::HouseBook;

/// An edition of the catalogue.
#[derive(Clone, PartialEq, Eq, Debug, JsonSchema, Serialize, Deserialize)]
pub struct EditionView {
    pub number: u64,
    pub hash: String,
    pub name: String,
    /// When it was taken up last.
    pub at: String,
    /// Whether the house uses it.
    pub is_newest: bool,
}

/// Reads all of them, the newest first.
pub async fn list_editions(log: &dyn Topics) -> anyhow::Result<Vec<EditionView>> {
    Ok(view_editions(&HouseBook::read(log).await?))
}

/// Goes back to the catalogue before the newest. Every process that has it in memory uses it within seconds; the others
/// need its files. `None` if there is none.
pub async fn step_back(log: &dyn Topics, now: UtcMillis) -> anyhow::Result<Option<EditionView>> {
    let mut book = HouseBook::read(log).await?;
    if book.step_back(log, now).await?.is_none() {
        return Ok(None);
    }
    book.update(log).await?;
    Ok(view_editions(&book).into_iter().next())
}

fn view_editions(book: &HouseBook) -> Vec<EditionView> {
    let editions = book.list_editions();
    let newest = editions.first().map(|(edition, ..)| *edition);
    let view = |(edition, name, at): &(house_facts::edition::Edition, &str, UtcMillis)| EditionView {
        number: edition.number,
        hash: format!("{:016x}", edition.hash),
        name: (*name).to_owned(),
        at: at.to_string(),
        is_newest: newest == Some(*edition),
    };
    editions.iter().map(view).collect()
}
