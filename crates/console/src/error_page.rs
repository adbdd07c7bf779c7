//! Errors as people see them: a browser gets a page, a program the problem as JSON.

use axum::{
    body::to_bytes,
    extract::Request,
    http::{HeaderMap, StatusCode, header},
    response::{Html, IntoResponse, Response},
};
use catalogue::ReaderLanguage;
use serde_json::{Value, json};
use web::problem::PROBLEM_MEDIA_TYPE;

use super::{HttpApp, page::PageQuery};

/// Paths of programs, also where somebody looks at them with a browser.
const OF_PROGRAMS: [&str; 6] = ["/v1/", "/admin/", "/health/", "/metrics", "/problems/", "/openapi.json"];
/// Bytes of a problem.
const PROBLEM_BYTES_MAX: usize = 64 * 1024;

/// What an error says to a person.
#[derive(Debug, PartialEq, Eq)]
pub struct ErrorPage {
    pub status: StatusCode,
    pub title: &'static str,
    pub text: String,
}

/// Whether somebody with a browser asks, for a page to look at.
pub fn asks_for_page(request: &Request) -> bool {
    let path = request.uri().path();
    !OF_PROGRAMS.iter().any(|of| path.starts_with(of)) && accepts_page(request.headers())
}

/// Programs ask for JSON, or for anything at all.
fn accepts_page(headers: &HeaderMap) -> bool {
    let accepted = headers.get_all(header::ACCEPT).iter().filter_map(|value| value.to_str().ok());
    let mut sorts = accepted.flat_map(|text| text.split(','));
    sorts.any(|sort| sort.split(';').next().is_some_and(|sort| sort.trim() == "text/html"))
}

/// The face of an answer, where it is an error that has none; else the answer as it was.
pub async fn extract_error(response: Response) -> Result<ErrorPage, Response> {
    let status = response.status();
    if response.headers().get(header::CONTENT_TYPE).is_none_or(|form| form != PROBLEM_MEDIA_TYPE) {
        return Err(response);
    }
    let body = to_bytes(response.into_body(), PROBLEM_BYTES_MAX).await.unwrap_or_default();
    let problem: Value = serde_json::from_slice(&body).unwrap_or_default();
    let detail = problem["detail"].as_str().unwrap_or_default().trim();
    // What says no more than its title has nothing to say to people.
    let is_bare = detail.is_empty() || problem["title"] == detail;
    let line = if is_bare { default_text(status) } else { detail };
    Ok(ErrorPage { status, title: title(status), text: sentence(line) })
}

impl HttpApp {
    /// The same within the frame of all pages, or on a page that names only where its style is: for somebody who may see
    /// nothing else.
    pub(super) async fn with_error_page(
        &self,
        response: Response,
        alone: Option<(&str, ReaderLanguage)>,
    ) -> Response {
        let ErrorPage { status, title, text } = match extract_error(response).await {
            Ok(face) => face,
            Err(response) => return response,
        };
        let Some((style, language)) = alone else { return self.notice_page(status, title, &text) };
        let (title, text) = in_language(title, text, &language);
        let own = json!({"title": title, "text": text, "style": style});
        match self.render_alone("alone.html", &own, &language) {
            Ok(page) => (status, page).into_response(),
            Err(_) => (status, Html(text)).into_response(),
        }
    }

    /// A page that only says something, in the frame of all pages.
    pub(super) fn notice_page(&self, status: StatusCode, title: &str, text: &str) -> Response {
        match self.render_page("said.html", &PageQuery::default(), json!({"title": title, "text": text})) {
            Ok(page) => (status, page).into_response(),
            Err(oops) => oops.into_response(),
        }
    }
}

/// An error in the language of a reader. What is said to operators alone has no words in others.
fn in_language(title: &str, text: String, language: &ReaderLanguage) -> (String, String) {
    if language.tag() == "en" {
        return (title.to_owned(), text);
    }
    let say = |english: &str, other: &str| {
        language.translate_house(english).unwrap_or_else(|| language.house_sentence(other, &[]))
    };
    (say(title, "title-other"), say(&text, "error-again"))
}

pub fn title(status: StatusCode) -> &'static str {
    match status.as_u16() {
        400 | 415 | 422 => "This request cannot be handled",
        401 => "A token is needed",
        403 => "Not allowed",
        404 | 410 => "Page not found",
        405 => "Not possible here",
        408 | 503 | 504 | 507 => "Not available right now",
        413 | 414 | 431 => "Too long",
        429 => "Too many requests",
        status if status >= 500 => "Something went wrong",
        _ => "This did not work",
    }
}

/// For errors that come without a word.
pub fn default_text(status: StatusCode) -> &'static str {
    match status.as_u16() {
        404 | 410 => "there is no page at this address",
        405 => "this address cannot be used this way; go back and use the page's own buttons",
        status if status >= 500 => "try again; if it happens again, the log says more",
        _ => "go back, load the page again, and retry",
    }
}

/// A line as a sentence.
pub fn sentence(line: &str) -> String {
    let mut letters = line.chars();
    let first = letters.next().map(|first| first.to_uppercase().to_string()).unwrap_or_default();
    let end = if line.ends_with(['.', '!', '?']) { "" } else { "." };
    format!("{first}{}{end}", letters.as_str())
}

#[cfg(test)]
mod tests {
    use axum::body::Body;
    use web::{HttpProblem, error_layer::describe_error};

    use super::*;

    #[test]
    fn browsers_ask_for_pages_and_programs_do_not() {
        let check = |path: &str, accept: Option<&str>, expect: bool| {
            let mut request = Request::get(path);
            if let Some(accept) = accept {
                request = request.header(header::ACCEPT, accept);
            }
            let request = request.body(Body::empty()).unwrap();
            assert_eq!(asks_for_page(&request), expect, "{path} {accept:?}");
        };
        let browser = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8";
        check("/nowhere", Some(browser), true);
        check("/nowhere", Some("application/json, text/html;q=0.5"), true);
        check("/nowhere", Some("*/*"), false);
        check("/nowhere", Some("application/json"), false);
        check("/nowhere", None, false);
        check("/v1/changes", Some(browser), false);
        check("/metrics", Some(browser), false);
    }

    #[tokio::test]
    async fn an_error_gets_a_face_and_all_else_stays() {
        let check = async |response: Response, expect: Option<(&str, &str)>| {
            let status = response.status();
            let face = extract_error(response).await.ok().map(|face| {
                assert_eq!(face.status, status);
                (face.title, face.text)
            });
            assert_eq!(face, expect.map(|(title, text)| (title, text.to_owned())));
        };
        check("fine".into_response(), None).await;
        check((StatusCode::NOT_FOUND, Html("<h1>a page</h1>")).into_response(), None).await;
        check((StatusCode::NOT_FOUND, axum::Json(1)).into_response(), None).await;
        let nothing = HttpProblem::not_found("there is nobody here").into_response();
        check(nothing, Some(("Page not found", "There is nobody here."))).await;
        let empty = describe_error(StatusCode::METHOD_NOT_ALLOWED.into_response()).await;
        let says = "This address cannot be used this way; go back and use the page's own buttons.";
        check(empty, Some(("Not possible here", says))).await;
        let inside = HttpProblem::from(anyhow::anyhow!("a secret")).into_response();
        let says = "An engine is broken; the log of the service says more.";
        check(inside, Some(("Something went wrong", says))).await;
    }
}
