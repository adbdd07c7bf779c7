//! From which page a request comes: browsers say it, services do not.

use axum::http::{HeaderMap, header};

use crate::problem::{HttpProblem, ProblemType};

/// Without keys whoever reaches the port may enter, but not a page of another site through somebody's browser.
pub fn check_same_origin(headers: &HeaderMap) -> Result<(), HttpProblem> {
    let text = |name| headers.get(name).map(|value| value.to_str().unwrap_or("?"));
    let same = match (text(header::ORIGIN), text(header::HOST)) {
        (None, _) => true,
        (Some(origin), Some(host)) => is_origin_of(origin, host),
        (Some(_), None) => false,
    };
    if same {
        return Ok(());
    }
    Err(HttpProblem::from_text(ProblemType::ForeignOrigin, "pages of other sites may not do this"))
}

/// Whether an origin is the one of a host.
pub fn is_origin_of(origin: &str, host: &str) -> bool {
    origin.split_once("://").is_some_and(|(_, from)| from == host)
}
