//! The HTML of a layout as it is for languages that are written from right to left: left is right, in styles and in the
//! attributes that stand for them. MJML writes `direction:ltr` and `text-align:left` into every element, which `dir`
//! alone does not change.

/// Properties whose value is a side.
const OF_SIDES: [&str; 4] = ["text-align", "float", "clear", "caption-side"];
/// Properties whose four values go round, from the top to the right.
const GO_ROUND: [&str; 5] = ["padding", "margin", "border-width", "border-color", "border-style"];

/// The HTML with left and right exchanged.
pub fn mirror_html(html: &str) -> String {
    let mut out = String::with_capacity(html.len());
    let mut rest = html;
    while let Some((at, part)) = next_part(rest) {
        let begins = at + part.opens.len();
        out.push_str(&rest[..begins]);
        rest = &rest[begins..];
        let end = rest.find(part.closes).unwrap_or(rest.len());
        out.push_str(&(part.mirror)(&rest[..end]));
        rest = &rest[end..];
    }
    out.push_str(rest);
    out
}

/// A part of HTML that names sides.
struct SidedPart {
    opens: &'static str,
    closes: &'static str,
    mirror: fn(&str) -> String,
}

const PARTS: [SidedPart; 3] = [
    SidedPart { opens: " style=\"", closes: "\"", mirror: mirror_declarations },
    SidedPart { opens: " align=\"", closes: "\"", mirror: mirror_side },
    // The rest of a tag that begins a sheet has no brackets, so it passes as a selector.
    SidedPart { opens: "<style", closes: "</style>", mirror: mirror_sheet },
];

/// The next of these parts, and where it begins.
fn next_part(html: &str) -> Option<(usize, &'static SidedPart)> {
    PARTS.iter().filter_map(|part| Some((html.find(part.opens)?, part))).min_by_key(|(at, _)| *at)
}

/// Rules: what stands before a bracket stays, be it a selector or the condition of a screen.
fn mirror_sheet(css: &str) -> String {
    let mut out = String::with_capacity(css.len());
    let mut from = 0;
    for (at, c) in css.char_indices().filter(|(_, c)| matches!(c, '{' | '}' | ';')) {
        let piece = &css[from..at];
        if c == '{' {
            out.push_str(piece);
        } else {
            out.push_str(&mirror_declaration(piece));
        }
        out.push(c);
        from = at + 1;
    }
    out.push_str(&css[from..]);
    out
}

fn mirror_declarations(style: &str) -> String {
    style.split(';').map(mirror_declaration).collect::<Vec<_>>().join(";")
}

fn mirror_declaration(declaration: &str) -> String {
    let Some((property, value)) = declaration.split_once(':') else { return declaration.to_owned() };
    let name = property.trim().to_ascii_lowercase();
    let value = match name.as_str() {
        "direction" => value.replace("ltr", "rtl"),
        name if OF_SIDES.contains(&name) => mirror_side(value),
        name if GO_ROUND.contains(&name) => mirror_round(value, [0, 3, 2, 1]),
        "border-radius" => mirror_round(value, [1, 0, 3, 2]),
        _ => value.to_owned(),
    };
    format!("{}:{value}", mirror_side(property))
}

/// Left for right and right for left.
fn mirror_side(text: &str) -> String {
    if text.contains("left") { text.replace("left", "right") } else { text.replace("right", "left") }
}

/// Four values in another order; fewer are the same on both sides.
fn mirror_round(value: &str, order: [usize; 4]) -> String {
    let words: Vec<&str> = value.split_whitespace().collect();
    let (values, rest) = words.split_at(words.iter().take_while(|word| !word.starts_with('!')).count());
    if values.len() != order.len() || value.contains('(') {
        return value.to_owned();
    }
    let ordered = order.iter().filter_map(|at| values.get(*at));
    let blank = if value.starts_with(' ') { " " } else { "" };
    format!("{blank}{}", ordered.chain(rest).copied().collect::<Vec<_>>().join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn left_is_right_and_all_else_stays() {
        let check = |html: &str, expected: &str| {
            assert_eq!(mirror_html(html), expected);
            assert_eq!(mirror_html(&mirror_html(html)).replace("rtl", "ltr"), html.replace("rtl", "ltr"));
        };
        check("<p>left</p>", "<p>left</p>");
        check(
            r#"<td style="direction:ltr;padding:1px 2px 3px 4px;text-align:left;" align="left">left"#,
            r#"<td style="direction:rtl;padding:1px 4px 3px 2px;text-align:right;" align="right">left"#,
        );
        check(
            r#"<td style="padding-left:4px;font-family:&quot;A&quot;, left">"#,
            r#"<td style="padding-right:4px;font-family:&quot;A&quot;, left">"#,
        );
        check(
            r#"<td style="padding:1px 2px 3px;border-left:0">"#,
            r#"<td style="padding:1px 2px 3px;border-right:0">"#,
        );
        check(
            r#"<style type="text/css">.left a:hover { margin: 0 1px 0 2px !important; } @media (min-width:1px) { b{float:right;} }</style>"#,
            r#"<style type="text/css">.left a:hover { margin: 0 2px 0 1px !important; } @media (min-width:1px) { b{float:left;} }</style>"#,
        );
        check(r#"<p style="border-radius:1px 2px 3px 4px""#, r#"<p style="border-radius:2px 1px 4px 3px""#);
        check(
            r#"<html dir="ltr"><a href="/left?align=left">"#,
            r#"<html dir="ltr"><a href="/left?align=left">"#,
        );
    }
}
