//! The editions of the catalogue that a house took up.

use clap::Subcommand;

pub const CATALOGUE: &str = "\
A house takes up a new catalogue when a process starts with it, on SIGHUP, or by itself with `catalogue_watch`. Each \
gets a number. `back` makes the one before the newest again: every process that had it goes back to it within seconds. \
Then put its files back, for processes that start later.

Examples:
  tidings catalogue list
  tidings catalogue back";

#[derive(Debug, Subcommand)]
pub enum CatalogueCommand {
    /// List the editions that were taken up, the newest first
    List,
    /// Go back to the catalogue before the newest
    Back,
}
