//! What a reader sees of a message, block by block: lines of a text, paragraphs and cells of HTML, and what stands for a
//! picture that is not shown.

/// Elements that stand within a line.
const INLINE: [&str; 16] = [
    "a", "abbr", "b", "code", "em", "font", "i", "mark", "small", "span", "strong", "sub", "sup", "u", "wbr",
    "s",
];
/// Elements of which nothing is read.
const SILENT: [&str; 2] = ["style", "script"];
/// Attributes that are read out.
const READ_OUT: [&str; 3] = ["alt", "title", "aria-label"];

/// Each line of a text.
pub fn text_blocks(text: &str) -> Vec<String> {
    text.lines().map(str::to_string).collect()
}

/// Each block of HTML, in its order, without tags and entities.
pub fn html_blocks(html: &str) -> Vec<String> {
    let mut blocks = Vec::new();
    let mut block = String::new();
    let mut rest = html;
    while let Some(at) = rest.find('<') {
        block.push_str(&decode_entities(rest.get(..at).unwrap_or_default()));
        rest = rest.get(at..).unwrap_or_default();
        if let Some(comment) = rest.strip_prefix("<!--") {
            rest = comment.find("-->").and_then(|end| comment.get(end + 3..)).unwrap_or_default();
            continue;
        }
        let end = find_tag_end(rest);
        let tag = rest.get(..end).unwrap_or(rest);
        let name: String =
            tag.chars().skip(1).skip_while(|c| *c == '/').take_while(char::is_ascii_alphanumeric).collect();
        let name = name.to_ascii_lowercase();
        if !INLINE.contains(&name.as_str()) {
            blocks.push(std::mem::take(&mut block));
        }
        blocks.extend(READ_OUT.iter().filter_map(|wanted| find_attribute(tag, wanted)));
        rest = rest.get(end..).unwrap_or_default();
        if SILENT.contains(&name.as_str()) && !tag.starts_with("</") {
            let close = format!("</{name}");
            rest = rest.find(&close).and_then(|at| rest.get(at..)).unwrap_or_default();
        }
    }
    block.push_str(&decode_entities(rest));
    blocks.push(block);
    blocks.retain(|block| !block.trim().is_empty());
    blocks
}

/// Where a tag ends; its `>` may also stand in a value.
fn find_tag_end(tag: &str) -> usize {
    let mut quote = None;
    for (at, c) in tag.char_indices() {
        match quote {
            Some(open) if c == open => quote = None,
            Some(_) => {}
            None if c == '"' || c == '\'' => quote = Some(c),
            None if c == '>' => return at + 1,
            None => {}
        }
    }
    tag.len()
}

fn find_attribute(tag: &str, name: &str) -> Option<String> {
    let at = tag.match_indices(name).map(|(at, _)| at).find(|at| {
        let before = at.checked_sub(1).and_then(|at| tag.as_bytes().get(at));
        before.is_some_and(u8::is_ascii_whitespace) && tag.as_bytes().get(at + name.len()) == Some(&b'=')
    })?;
    let value = tag.get(at + name.len() + 1..)?;
    let quote = value.chars().next().filter(|c| matches!(c, '"' | '\''))?;
    Some(decode_entities(value.get(1..)?.split(quote).next()?))
}

/// With the entities that mails have.
fn decode_entities(text: &str) -> String {
    if !text.contains('&') {
        return text.to_string();
    }
    let pairs = [
        ("&nbsp;", " "),
        ("&lt;", "<"),
        ("&gt;", ">"),
        ("&quot;", "\""),
        ("&#39;", "'"),
        ("&middot;", "·"),
        ("&bull;", "•"),
        ("&ndash;", "–"),
        ("&mdash;", "—"),
        ("&ldquo;", "“"),
        ("&rdquo;", "”"),
        ("&euro;", "€"),
        ("&zwnj;", ""),
        ("&amp;", "&"),
    ];
    pairs.iter().fold(text.to_string(), |text, (entity, by)| text.replace(entity, by))
}
