//! The slots of a mail that a page of the house shows: what a reader would see there. To look at a mail is to open it.

use std::collections::BTreeSet;

use futures::future::join_all;
use wire::mail_slots::PATH;

const SOURCE: &str = " src=\"";
/// Slots of one mail that are filled.
const PLACES_MAX: usize = 40;

/// A mail with the pictures that stand at its slots by now, each by its own address.
pub async fn fill_slots(html: &str, deps: &::slots::Deps) -> String {
    let addresses = html.split(SOURCE).skip(1).filter_map(|rest| rest.split('"').next());
    let addresses: BTreeSet<&str> = addresses.filter(|address| split_address(address).is_some()).collect();
    let find = |address| async move {
        let (slots, place) = split_address(address)?;
        Some((address, ::slots::find_picture(deps, slots, place).await?))
    };
    let pictures = join_all(addresses.into_iter().take(PLACES_MAX).map(find)).await;
    let mut filled = html.to_owned();
    for (address, picture) in pictures.into_iter().flatten() {
        let stands = |address: &str| format!("{SOURCE}{address}\"");
        // It is an address on the web, so no quote is in it.
        filled = filled.replace(&stands(address), &stands(&picture.replace('&', "&amp;")));
    }
    filled
}

/// The slots and the place of an address of ours.
fn split_address(address: &str) -> Option<(&str, &str)> {
    let (before, place) = address.rsplit_once('/')?;
    let (before, slots) = before.rsplit_once('/')?;
    (before.rsplit('/').next() == Some(PATH)).then_some((slots, place))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_of_a_slot_has_its_parts() {
        let check = |address: &str, expected: Option<(&str, &str)>| {
            assert_eq!(split_address(address), expected, "{address}");
        };
        check("https://mail.example.org/s/AQ/1", Some(("AQ", "1")));
        check("http://127.0.0.1:7280/below/s/AQ/12", Some(("AQ", "12")));
        check("https://mail.example.org/s/AQ/1/go", None);
        check("https://mail.example.org/u/o/AQ", None);
        check("https://mail.example.org/a.png", None);
        check("", None);
    }
}
