//! To a chat, in the form of Slack's incoming webhooks, which Mattermost, Rocket.Chat and others take too.
//!
//! What upstream services say is text there and nothing else: it calls nobody (`<!channel>`, `@here`), leads nowhere but to
//! where it says (`<url|text>`, `[text](url)`), and loads nothing. The links by which the person marks it and chooses what they
//! get are left out: everybody in a chat could use them.

use courier::{CallPayload, Message};
use hyper::{
    HeaderMap,
    body::Bytes,
    header::{CONTENT_TYPE, HeaderValue},
};
use serde_json::{Value, json};
use url::Url;

use super::{HookDispatch, HookForm, judge_status};
use crate::{http::OutboundReply, send_outcome::SendOutcome};

/// Characters of a text in a block, at most: 3,000 by Slack's documentation, and some are for what goes around it.
const CHARS_MAX: usize = 2_000;
/// Of its headline.
const HEADLINE_CHARS_MAX: usize = 300;
/// And of where it leads; one that is longer leads nowhere.
const LINK_CHARS_MAX: usize = 600;
/// What takes no room and parts what would mean something together.
const NOTHING: char = '\u{200b}';

pub(super) struct ChatForm;

impl HookForm for ChatForm {
    fn build_request(&self, letter: &HookDispatch<'_>) -> Result<(HeaderMap, Bytes), String> {
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        Ok((headers, encode_chat(letter.message, letter.call).to_string().into()))
    }

    /// Each address is a channel of somebody's, which takes so much and no more; the others are not left alone for it.
    fn limiter_key(&self, address: &Url) -> String {
        format!("{}{}", address.origin().ascii_serialization(), address.path())
    }

    /// An address that is unknown there was taken away by hand.
    fn judge(&self, reply: &OutboundReply, now: i64) -> SendOutcome {
        match reply.status {
            404 => SendOutcome::gone("404"),
            _ => judge_status(reply, now),
        }
    }
}

fn encode_chat(message: &Message, call: &CallPayload) -> Value {
    let headline = escape_text(&message.headline, HEADLINE_CHARS_MAX);
    let headline = match call.opens.as_deref().map(escape_link).filter(|link| link.len() <= LINK_CHARS_MAX) {
        Some(link) => format!("<{link}|{headline}>"),
        None => headline,
    };
    let words = if call.longer.is_empty() { &message.text } else { &call.longer };
    let text = format!("*{headline}*\n{}", escape_text(words, CHARS_MAX));
    let mut said = json!({
        // For whoever shows no blocks, and for the notice on a phone.
        "text": text,
        "blocks": [{"type": "section", "text": {"type": "mrkdwn", "text": text}}],
        "unfurl_links": false,
        "unfurl_media": false,
    });
    if let Some(image) = &call.image {
        // No block: one with a picture that is not there has the whole message refused.
        said["attachments"] = json!([{"fallback": "", "image_url": image}]);
    }
    said
}

/// Text that means nothing but itself, in so many characters at most.
fn escape_text(text: &str, most: usize) -> String {
    let mut plain = String::new();
    let (mut chars, mut before) = (0, None);
    let mut rest = text.chars().filter(|c| !c.is_control() || *c == '\n').peekable();
    while let Some(c) = rest.next() {
        let escaped = match c {
            '&' => "&amp;",
            '<' => "&lt;",
            '>' => "&gt;",
            _ => "",
        };
        let parted = needs_break(before, c, rest.peek().copied());
        chars += escaped.len().max(1) + usize::from(parted);
        if chars >= most {
            plain.push('…');
            break;
        }
        match escaped {
            "" => plain.push(c),
            _ => plain.push_str(escaped),
        }
        if parted {
            plain.push(NOTHING);
        }
        before = Some(c);
    }
    plain
}

/// Whether a character and the next mean something together: `@here`, `](url)`, `![picture]`.
fn needs_break(before: Option<char>, c: char, next: Option<char>) -> bool {
    match (c, next) {
        ('@', Some(next)) => !before.is_some_and(char::is_alphanumeric) && !next.is_whitespace(),
        (']', Some('(' | '[' | ':')) | ('!', Some('[')) => true,
        _ => false,
    }
}

/// An address within `<` and `|`.
fn escape_link(url: &str) -> String {
    url.replace('&', "&amp;").replace('<', "%3C").replace('>', "%3E").replace('|', "%7C")
}

#[cfg(test)]
mod tests {
    use model::{Person, PlanName, ReadyId, Tenant, UtcMillis, hook::Hook};
    use proptest::prelude::*;

    use super::*;

    fn chat_of(headline: &str, text: &str, opens: Option<&str>) -> Value {
        let call = CallPayload {
            hook: Hook::Chat,
            address: "https://hooks.example/T0/B0/s3cret".to_owned(),
            person: Person::new("ann").unwrap(),
            plan: PlanName::new("chats").unwrap(),
            longer: String::new(),
            image: None,
            opens: opens.map(str::to_owned),
            links: courier::MessageLinks::default(),
            silent: false,
            told: Vec::new(),
            expires: UtcMillis(1_800_000_000_000),
        };
        let message = Message {
            tenant: Tenant::new("main").unwrap(),
            ready: ReadyId([1; 16]),
            message_id: "1@localhost".to_owned(),
            headline: headline.to_owned(),
            text: text.to_owned(),
            date: UtcMillis(1_700_000_000_000),
            way: courier::MessagePayload::Call(call.clone()),
        };
        encode_chat(&message, &call)
    }

    #[test]
    fn what_upstream_says_is_text_and_calls_nobody() {
        let check = |text: &str, expected: &str| assert_eq!(escape_text(text, 100), expected, "{text}");
        check("Moon & Sun", "Moon &amp; Sun");
        check("<!channel> <!here|here> <@U012>", "&lt;!channel&gt; &lt;!here|here&gt; &lt;@\u{200b}U012&gt;");
        check("<https://evil.example|your bank>", "&lt;https://evil.example|your bank&gt;");
        check("@here, @all", "@\u{200b}here, @\u{200b}all");
        check("(@channel) @@here", "(@\u{200b}channel) @\u{200b}@\u{200b}here");
        check("ann@example.com at 5 @ 3", "ann@example.com at 5 @ 3");
        check("[your bank](https://evil.example)", "[your bank]\u{200b}(https://evil.example)");
        check("![](https://evil.example/seen.png)", "!\u{200b}[]\u{200b}(https://evil.example/seen.png)");
        check("[a][1]\n[1]: https://evil.example", "[a]\u{200b}[1]\n[1]\u{200b}: https://evil.example");
        check("&lt;!channel&gt;", "&amp;lt;!channel&amp;gt;");
        check("a\u{0}b\u{7}c\r\nd", "abc\nd");
        assert_eq!(escape_text(&"&".repeat(10), 12), "&amp;&amp;…", "nothing is cut in the middle");
    }

    #[test]
    fn a_headline_leads_to_what_it_is_about() {
        let said = chat_of("Moon <b>", "by ann", Some("https://gallery.example/a?b=c&d=<|>"));
        let expected = "*<https://gallery.example/a?b=c&amp;d=%3C%7C%3E|Moon &lt;b&gt;>*\nby ann";
        assert_eq!(said["text"], expected);
        assert_eq!(said["blocks"][0]["text"], json!({"type": "mrkdwn", "text": expected}));
        assert_eq!(chat_of("Moon", "by ann", None)["text"], "*Moon*\nby ann");
    }

    /// Text as whoever reads the chat sees it.
    fn unescape_text(text: &str) -> String {
        let text = text.replace(NOTHING, "");
        text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")
    }

    proptest! {
        #[test]
        fn no_text_means_anything(text in r"([<>&@!|\[\]():#*`~_ \n]|here|channel|https://e\.example|\PC|\x00){0,60}") {
            let escaped = escape_text(&text, usize::MAX);
            prop_assert!(!escaped.contains(['<', '>']));
            for (at, _) in escaped.match_indices('&') {
                let entities = ["&amp;", "&lt;", "&gt;"];
                prop_assert!(entities.iter().any(|entity| escaped[at..].starts_with(entity)), "{}", escaped);
            }
            for name in ["@here", "@channel", "](", "![", "]["] {
                for (at, _) in escaped.match_indices(name) {
                    // Only within a word, where it is an address.
                    let before = escaped[..at].chars().next_back();
                    prop_assert!(name.starts_with('@') && before.is_some_and(char::is_alphanumeric), "{}", escaped);
                }
            }
            let kept: String = text.chars().filter(|c| !c.is_control() || *c == '\n').collect();
            prop_assert_eq!(unescape_text(&escaped), kept.replace(NOTHING, ""), "nothing else is altered");
        }

        #[test]
        fn whatever_is_said_fits(headline in r"[&<a\n]{0,4000}", text in r"\PC{0,4000}") {
            let said = chat_of(&headline, &text, Some(&format!("https://e.example/{text}")));
            prop_assert!(said["text"].as_str().unwrap().chars().count() <= 3_000);
        }
    }
}
