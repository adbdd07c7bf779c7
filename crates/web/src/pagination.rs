//! What is asked of a list, in the address: each parameter once, none that there is not, and so many at most.

use std::ops::RangeInclusive;

use axum::extract::{Query, rejection::QueryRejection};

use crate::{limits::QUOTED_CHARS_MAX, problem::HttpProblem};

/// The parameter by which a client goes on behind what it has.
pub const CURSOR: &str = "since";
/// The parameter that says how many may come at once.
pub const LIMIT: &str = "limit";

/// The parameters of an address.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct ListParams(Vec<(String, String)>);

impl ListParams {
    /// Reads an address; `known` are the parameters that there are.
    pub fn parse(
        given: Result<Query<Vec<(String, String)>>, QueryRejection>,
        known: &[&str],
    ) -> Result<Self, HttpProblem> {
        let Query(given) =
            given.map_err(|_| HttpProblem::bad_request("the parameters of the address cannot be read"))?;
        for (at, (name, _)) in given.iter().enumerate() {
            if !known.contains(&name.as_str()) {
                let name: String = name.chars().take(QUOTED_CHARS_MAX).collect();
                let known = match known {
                    [] => "there are none here".to_owned(),
                    [one] => format!("the only parameter is {one}"),
                    known => format!("the parameters are {}", known.join(", ")),
                };
                return Err(HttpProblem::bad_request(format_args!(
                    "there is no parameter `{name}`: {known}"
                )));
            }
            if given[..at].iter().any(|(before, _)| before == name) {
                return Err(HttpProblem::bad_request(format_args!("{name}: it is given twice")));
            }
        }
        Ok(Self(given))
    }

    /// Of these parameters those that were given.
    pub fn only(&self, names: &[&str]) -> Self {
        Self(self.0.iter().filter(|(given, _)| names.contains(&given.as_str())).cloned().collect())
    }

    pub fn text(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(given, _)| given == name).map(|(_, value)| value.as_str())
    }

    /// Where to go on. Left empty, it is as if it was left out: a client without a cursor has an empty text.
    pub fn cursor<C: Default, E: std::fmt::Display>(
        &self,
        parse: impl Fn(&str) -> Result<C, E>,
    ) -> Result<C, HttpProblem> {
        match self.text(CURSOR) {
            None | Some("") => Ok(C::default()),
            Some(text) => {
                parse(text).map_err(|error| HttpProblem::bad_request(format_args!("{CURSOR}: {error}")))
            }
        }
    }

    /// How many may come at once.
    pub fn limit(&self, range: RangeInclusive<usize>, usual: usize) -> Result<usize, HttpProblem> {
        let Some(text) = self.text(LIMIT) else { return Ok(usual) };
        text.parse().ok().filter(|most| range.contains(most)).ok_or_else(|| {
            let (least, most) = (range.start(), range.end());
            HttpProblem::bad_request(format_args!("{LIMIT}: it must be a number from {least} to {most}"))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list_params(pairs: &[(&str, &str)]) -> Result<ListParams, HttpProblem> {
        let pairs = pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        ListParams::parse(Ok(Query(pairs.collect())), &[CURSOR, LIMIT])
    }

    #[test]
    fn each_parameter_is_known_and_given_once() {
        let check = |pairs: &[(&str, &str)], reason: &str| {
            let problem = list_params(pairs).unwrap_err();
            assert!(problem.detail.contains(reason), "{pairs:?}: {problem:?}");
        };
        check(&[("after", "x")], "there is no parameter `after`: the parameters are since, limit");
        check(&[("limit", "1"), ("since", ""), ("limit", "1")], "limit: it is given twice");
        check(&[(&"a".repeat(1_000), "")], &format!("`{}`", "a".repeat(QUOTED_CHARS_MAX)));
        let given = Ok(Query(vec![("x".to_owned(), String::new())]));
        let problem = ListParams::parse(given, &[]).unwrap_err();
        assert_eq!(problem.detail, "there is no parameter `x`: there are none here");
    }

    #[test]
    fn a_limit_is_within_its_range() {
        let limit = |text: &str| list_params(&[("limit", text)]).unwrap().limit(1..=500, 100);
        assert_eq!(list_params(&[]).unwrap().limit(1..=500, 100), Ok(100));
        assert_eq!((limit("1"), limit("500")), (Ok(1), Ok(500)));
        for text in ["0", "501", "-1", "many", "", "99999999999999999999"] {
            assert_eq!(limit(text).unwrap_err().detail, "limit: it must be a number from 1 to 500", "{text}");
        }
    }

    #[test]
    fn an_empty_cursor_is_the_beginning() {
        let cursor = |text: &str| list_params(&[("since", text)]).unwrap().cursor(str::parse::<u8>);
        assert_eq!((cursor(""), cursor("7")), (Ok(0), Ok(7)));
        assert!(cursor("x").unwrap_err().detail.starts_with("since: "));
    }
}
