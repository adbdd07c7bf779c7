//! What is set of tenants.

use model::Tenant;

use super::*;

#[test]
fn weights_and_places_are_maps_of_tenants() {
    let check =
        |text: &str, expected: Result<(u32, usize), &str>| match (merge_values(text, &[], &[]), expected) {
            (Ok(merged), Ok(expected)) => {
                let (shares, acme) = (&merged.config.shares, Tenant::new("acme").unwrap());
                assert_eq!((shares.weight(&acme), shares.places_max(&acme)), expected, "{text}");
            }
            (Err(refused), Err(says)) => {
                let refused = refused.to_string();
                assert!(refused.contains(says), "{text}: {refused}");
            }
            (other, _) => panic!("{text}: {other:?}"),
        };
    check("", Ok((1, usize::MAX)));
    check("tenants: {weights: {acme: 4, other: 2}, places: {acme: 32}}", Ok((4, 32)));
    check("tenants: {weights: {other: 2}}", Ok((1, usize::MAX)));
    check(
        "tenants: {weights: {acme: 0}}",
        Err("tenants.weights: has `acme: 0`, which is not a whole number from 1 to 1000"),
    );
    check("tenants: {places: {acme: many}}", Err("tenants.places: has `acme: many`"));
    check("tenants: {weights: 4}", Err("must be a map of names and values"));
    check("tenants: {weight: {acme: 4}}", Err("did you mean `tenants.weights`?"));
}
