//! The common parts of every HTTP interface, so that rooms and pages do not depend on one another.
//!
//! # Tour
//!
//! [`problem`] is what is said when something goes wrong, and the one table of its types, which [`problem_lookup`] shows
//! to whoever asks; [`error_layer`] says it for the framework too. [`api_key`] is who asks, [`origin`] from which page, and
//! [`guard`] what a process with pages lets in. [`person_token`] is what a tenant's login signs for a person, [`person_access`] who
//! may ask for what is of one, [`cross_origin`] from which other sites. [`permits`] is how much is in hand at once, [`body`] how much of a request is
//! read, [`json_body`] what is read of it, and [`body_slip`] what is wrong with it; [`limits`] has the numbers. [`answer`] has answers whose type says their status.
//! [`idempotency`] gives the first answer again, [`pagination`] reads what is asked of a list, and [`etag`] saves an answer
//! that a client has. [`visitor`] tells readers of mails from programs. [`description`] makes OpenAPI of the types of handlers.

pub mod answer;
pub mod api_key;
pub mod body;
pub mod body_slip;
pub mod cross_origin;
pub mod description;
pub mod error_layer;
pub mod etag;
pub mod guard;
pub mod idempotency;
pub mod json_body;
pub mod limits;
pub mod origin;
pub mod pagination;
pub mod permits;
pub mod person_access;
pub mod person_token;
pub mod problem;
pub mod problem_lookup;
pub mod visitor;

#[cfg(any(test, feature = "testing"))]
#[allow(clippy::unwrap_used, reason = "only tests are built with it")]
pub mod testing;

pub use api_key::ApiKey;
pub use guard::RequestGuard;
pub use json_body::JsonBody;
pub use problem::{HttpProblem, ProblemType};
