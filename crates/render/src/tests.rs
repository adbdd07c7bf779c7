//! What a layout becomes, what is refused, and that nothing from upstream gets out of its place.

use std::collections::BTreeMap;

use catalogue::{Catalogue, ReaderLanguage};
use expression::{FILTERS, FilterInput, FilterOutput};
use model::{
    AudienceMatch, EntryReason, GeoPoint, Kind, PlanName, SubjectRef, UtcMillis, Value, ValueCell,
    VersionedState, civil_time::ZoneRules,
};
use proptest::prelude::*;
use source_text::TextProblems;

use crate::{
    ItemInput, ItemWords, MailInput, MessageRenderer, RenderError, RenderedMail, SectionInput, text_cleaning,
    values::WallMoment,
};

const CATALOGUE: &str = r#"
catalogue: sample
subjects:
  work:   {title: text, image: url, page: url, author: ref author, others: refs author, starts: time,
           score: number, open: flag, at: place}
  author: {name: text, page: url}
kinds:
  work_out:
    on: work.published
    to: {followers_of: [author, subject]}
    says: '{{ author.name | default("Somebody") }} made "{{ subject.title }}"'
    plans: [daily]
plans:
  daily:
    channel: email
    close: {daily: "09:00", zone: person}
    look_back: 7d
    from: news@example.com
    headline: HEADLINE
    template: daily.mjml
    text: daily.txt
    sections:
      - {title: Works, kinds: [work_out], most: 8}
"#;

const MJML: &str = r#"<mjml><mj-head><mj-title>{{ headline }}</mj-title><mj-preview>{{ preheader }}</mj-preview></mj-head><mj-body>
{% for section in sections %}<mj-section><mj-column><mj-text>{{ name }} {{ section.title }}</mj-text></mj-column></mj-section>
{% for item in section.items %}<mj-section><mj-column>
<mj-image src="{{ item.subject.image }}" alt="{{ item.name }}" href="https://example.com/{{ item.subject.id }}?t={{ item.subject.title }}" />
<mj-text><a href="{{ item.subject.title }}" title='{{ item.why }}'>{{ item.says }}</a> {{ item.subject.author.name }}
{{ item.subject.others | list(2) }} {{ item.subject.starts }} {{ item.subject.score }} {{ item.subject.author.page }} {{ item.subject.title | short(20) }}</mj-text>
</mj-column></mj-section>{% endfor %}{% endfor %}
</mj-body></mjml>"#;

const TEXT: &str = "{{ headline }}\n{% for item in items %}- {{ item.says }} ({{ item.why }})\n  {{ item.subject.page }}\n{% endfor %}";

fn parse_catalogue(headline: &str, mjml: &str, text: &str) -> Catalogue {
    let source = CATALOGUE.replace("HEADLINE", &format!("{headline:?}"));
    let files = |name: &str| Ok(if name == "daily.mjml" { mjml } else { text }.to_string());
    Catalogue::parse(&source, "catalogue.yaml", &files).unwrap_or_else(|problems| panic!("{problems}"))
}

fn subject_ref(text: &str) -> SubjectRef {
    SubjectRef::new(text).unwrap()
}

fn text_value(text: &str) -> Option<Value> {
    Some(Value::from_text(text))
}

/// The state of the one work that is told.
fn moon_state() -> VersionedState {
    VersionedState::from_values(
        1,
        [
            ("title", text_value("Moon")),
            ("image", text_value("https://example.com/moon.jpg")),
            ("page", text_value("https://example.com/moon?a=1&b=2")),
            ("author", Some(Value::Ref(subject_ref("author:7")))),
            (
                "others",
                Some(Value::Refs(vec![
                    subject_ref("author:7"),
                    subject_ref("author:8"),
                    subject_ref("author:9"),
                ])),
            ),
            ("starts", Some(Value::Time(UtcMillis::parse("2026-11-27T17:00:00Z").unwrap()))),
            ("score", Some(Value::Number(3.0))),
            ("open", Some(Value::Flag(true))),
            ("at", Some(Value::Place(GeoPoint { lat: 1.0, lon: 2.0 }))),
        ],
    )
}

fn author_states() -> BTreeMap<SubjectRef, VersionedState> {
    let author = |name: &str| {
        VersionedState::from_values(
            1,
            [("name", text_value(name)), ("page", text_value("https://example.com/a"))],
        )
    };
    [("author:7", author("Ann Lee")), ("author:8", author("Bo"))]
        .map(|(of, state)| (subject_ref(of), state))
        .into()
}

struct MoonMailInput<'a> {
    name: Option<&'a str>,
    work: &'a SubjectRef,
    state: &'a VersionedState,
    follows: &'a [SubjectRef],
    related: &'a BTreeMap<SubjectRef, VersionedState>,
    items: usize,
}

fn render_moon(renderer: &MessageRenderer, input: &MoonMailInput<'_>) -> Result<RenderedMail, RenderError> {
    let kind = Kind::new("work_out").unwrap();
    let because =
        |to: &SubjectRef| EntryReason { kind: kind.clone(), because: AudienceMatch::Follows(to.clone()) };
    let reasons: Vec<EntryReason> = input.follows.iter().map(because).collect();
    let item = ItemInput {
        kind: &kind,
        subject: input.work,
        state: input.state,
        reasons: &reasons,
        maybe: false,
        words: &ItemWords::default(),
    };
    let sections = [SectionInput { title: "Works", items: vec![item; input.items], more: 0 }];
    renderer.render_mail(&MailInput {
        variant: 7,
        plan: &PlanName::new("daily").unwrap(),
        name: input.name,
        language: None,
        zone: &ZoneRules::load_bundled().get_or_utc(Some("Europe/Berlin")),
        due: UtcMillis::parse("2026-11-24T08:00:00Z").unwrap(),
        sections: &sections,
        related: input.related,
        persons: &BTreeMap::new(),
        place: None,
        unsubscribe: None,
        slots: None,
    })
}

/// The text part of a mail about the moon, with this as its whole layout.
fn text_of_layout(layout: &str) -> String {
    let catalogue = parse_catalogue("x", "<mjml><mj-body></mj-body></mjml>", layout);
    let renderer = MessageRenderer::new(&catalogue).unwrap_or_else(|problems| panic!("{problems}"));
    let input = MoonMailInput {
        name: Some("Ann"),
        work: &subject_ref("work:1"),
        state: &moon_state(),
        follows: &[subject_ref("author:7"), subject_ref("work:1"), subject_ref("author:9")],
        related: &author_states(),
        items: 1,
    };
    render_moon(&renderer, &input).unwrap_or_else(|error| panic!("{error}")).text.trim_end().to_string()
}

#[test]
fn texts_say_what_they_are_given() {
    let check = |layout: &str, expected: &str| assert_eq!(text_of_layout(layout), expected, "{layout}");
    let one = |expression: &str, expected: &str| {
        check(
            &format!(
                "{{% set item = items | first %}}{{% set subject = item.subject %}}{{{{ {expression} }}}}"
            ),
            expected,
        );
    };
    one("item.says", "Ann Lee made \"Moon\"");
    one("item.why", "you follow Ann Lee, Moon and this author");
    one("item.why | capitalize", "You follow Ann Lee, Moon and this author");
    one("item", "Moon");
    one("subject", "Moon");
    one("subject.id", "1");
    one("subject.author", "Ann Lee");
    one("subject.author.name | upper", "ANN LEE");
    one("subject.others | list", "Ann Lee and Bo");
    one("subject.others | length", "3");
    one("subject.starts", "Fri 27 Nov, 18:00 CET");
    one("subject.starts | day", "Fri 27 Nov");
    one("subject.starts | time", "18:00 CET");
    one("due | day", "Tue 24 Nov");
    one("subject.score", "3");
    one("subject.score / 2", "1.5");
    one("subject.page", "https://example.com/moon?a=1&b=2");
    one("plan", "daily");
    one("count | plural('work', 'works')", "work");
    one("subject.score | plural('work', 'works')", "works");
    one("name ~ '!'", "Ann!");
    one("'a long title it is' | short(10)", "a long…");
    one("'x y' | urlencode", "x%20y");
    one("sections | first", "Works");
    check("{% for row in [1, 2, 3] | batch(2) %}{% for n in row %}{{ n }}{% endfor %};{% endfor %}", "12;3;");
    check("{{ ['a', 'b', 'c', 'd'] | list(2) }}", "a, b and 2 more");
    check("{% if (items | first).subject.open %}open{% endif %}", "open");
    check("{% for s in sections %}{{ s.title }}{{ s.more }}{{ loop.index }}{% endfor %}", "Works01");
}

#[test]
fn every_filter_that_is_checked_is_there() {
    for filter in FILTERS {
        let value = match filter.takes {
            FilterInput::Text | FilterInput::Anything => "name",
            FilterInput::Number => "count",
            FilterInput::Time => "due",
            FilterInput::List | FilterInput::TextOrList => "items",
        };
        let arguments = match filter.name {
            "plural" => "('one', 'many')",
            "default" => "('nobody')",
            "short" | "batch" | "at_most" => "(2)",
            _ => "",
        };
        let after = if filter.gives == FilterOutput::Lists { "| length" } else { "" };
        assert_ne!(
            text_of_layout(&format!("{{{{ {value} | {}{arguments} {after} }}}}", filter.name)),
            "",
            "{}",
            filter.name
        );
    }
}

#[test]
fn what_is_not_known_is_empty() {
    let catalogue = parse_catalogue(
        "{{ items | list }} for {{ name }}",
        MJML,
        "{{ name }}{{ items | list }}{% for i in items %}{{ i.subject.starts | day }}{{ i.subject.author.name }}{{ i.why }}{{ i.says }}{% endfor %}",
    );
    let renderer = MessageRenderer::new(&catalogue).unwrap();
    let (work, nothing, nobody) = (subject_ref("work:1"), VersionedState::default(), BTreeMap::new());
    let input =
        MoonMailInput { name: None, work: &work, state: &nothing, follows: &[], related: &nobody, items: 1 };
    let mail = render_moon(&renderer, &input).unwrap();
    assert_eq!(mail.text, "Somebody made \"\"Somebody made \"\"\n");
    assert_eq!(mail.headline, "Somebody made \"\" for");
    assert_eq!(mail.preheader, "Somebody made \"\"");
}

#[test]
fn a_text_part_is_wrapped() {
    let check = |text: &str, expected: &str| assert_eq!(text_cleaning::wrap_text(text), expected);
    check("a\n\n\n\nb  \n\n", "a\n\nb\n");
    let long = "word ".repeat(20);
    check(&format!("- {long}"), &format!("- {}\n  {}\n", ["word"; 14].join(" "), ["word"; 6].join(" ")));
    check(&format!("  {long}"), &format!("  {}\n  {}\n", ["word"; 14].join(" "), ["word"; 6].join(" ")));
    let address = format!("https://example.com/{}", "x".repeat(90));
    check(&format!("see {address} there"), &format!("see\n{address}\nthere\n"));
    for line in text_of_layout("{{ 'word ' ~ 'word ' }}{{ items | list }} aa aaa a aaaaaaaaa aaaaaaaaaaaaaaaa aaaa aaaaaaaaaaa aaaa aaa aaaaaaaaaa").lines() {
        assert!(line.chars().count() <= 72);
    }
}

#[test]
fn a_cut_is_between_words() {
    let check = |text: &str, most: usize, expected: &str| {
        assert_eq!(text_cleaning::shorten_text(text, most), expected);
    };
    check("short", 5, "short");
    check("one two three", 9, "one two…");
    check("one, two", 5, "one…");
    check("unbroken", 5, "unbr…");
    check("ééééé", 3, "éé…");
    check("anything", 0, "…");
}

fn layout_problems(mjml: &str) -> String {
    let found = match MessageRenderer::new(&parse_catalogue("x", mjml, "x")) {
        Ok(_) => return "fine".to_string(),
        Err(TextProblems(found)) => found,
    };
    let lines = found.iter().map(|problem| {
        assert_eq!(problem.file, "daily.mjml");
        let help = problem.help.as_ref().map(|help| format!("; {help}")).unwrap_or_default();
        format!("{}:{}: {}{help}", problem.line, problem.column, problem.what)
    });
    lines.collect::<Vec<_>>().join("\n")
}

fn layout_with_text(content: &str) -> String {
    format!(
        "<mjml><mj-body><mj-section><mj-column>\n<mj-text>{content}</mj-text></mj-column></mj-section></mj-body></mjml>"
    )
}

#[test]
fn elements_nest_as_deep_as_a_mail_needs() {
    let nested = |open: &str, close: &str, depth: usize| {
        layout_with_text(&format!("{}x{}", open.repeat(depth), close.repeat(depth)))
    };
    let wrapped = |depth: usize| {
        format!(
            "<mjml><mj-body>{}{}</mj-body></mjml>",
            "<mj-wrapper>".repeat(depth),
            "</mj-wrapper>".repeat(depth)
        )
    };
    let too_deep = "elements are nested deeper than 64";
    assert_eq!(layout_problems(&nested("<b>", "</b>", 50)), "fine");
    for mjml in
        [nested("<b>", "</b>", 30_000), nested("<b>", "", 30_000), wrapped(9_000), nested("<b>", "</b>", 60)]
    {
        let found = layout_problems(&mjml);
        assert!(found.ends_with(too_deep) && found.lines().count() == 1, "{found}");
    }
}

#[test]
fn an_address_leads_somewhere_and_runs_nothing() {
    let check = |element: &str, is_good: bool| {
        let found = layout_problems(&layout_with_text(element));
        assert_eq!(!found.contains("has a scheme that is not allowed"), is_good, "{element}: {found}");
    };
    for good in [
        "https://a.example/{{ name }}",
        "http://a.example",
        "mailto:a@b.example",
        "tel:+49{{ count }}",
        "/a:b",
        "#a:b",
        "?a=b:c",
        "{{ name }}",
        "https://a.example/?a=1&amp;b=2",
        "HTTPS://a.example",
        "cid:a",
        "a.example/b:c",
        "",
    ] {
        check(&format!("<a href=\"{good}\">x</a>"), true);
    }
    for bad in [
        "javascript:{{ name }}",
        "JavaScript:alert(1)",
        " javascript:alert(1)",
        "java\nscript:alert(1)",
        "java{{ name }}script:alert(1)",
        "{{ name }}javascript:alert(1)",
        "java&#115;cript:alert(1)",
        "javascript&colon;alert(1)",
        "&#x6a;avascript:alert(1)",
        "vbscript:x",
        "data:text/html,x",
        "file:///etc/passwd",
        "intent:x",
        "x{{ name }}:y",
    ] {
        check(&format!("<a href=\"{bad}\">x</a>"), false);
    }
    check("<img src=\"data:image/png;base64,AAAA\" />", true);
    check("<img src=\"javascript:x\" />", false);
}

#[test]
fn a_slip_in_the_name_of_an_element_is_one_problem() {
    for (content, expected) in [
        (
            "<mj-section><mj-column><mj-txt>{{ name }} {% if name %}x{% endif %}</mj-txt></mj-column></mj-section>",
            "2:24: there is no element `<mj-txt>`; did you mean `mj-text`?",
        ),
        (
            "<mj-colunm>{% if name %}<mj-text>{{ name }}</mj-text>{% endif %}</mj-colunm>",
            "2:1: there is no element `<mj-colunm>`; did you mean `mj-column`?",
        ),
        ("<mj-qqqqqqqq>{{ name }}</mj-qqqqqqqq>", "2:1: there is no element `<mj-qqqqqqqq>`"),
    ] {
        let mjml = format!("<mjml><mj-body>\n{content}</mj-body></mjml>");
        assert_eq!(layout_problems(&mjml), expected, "{content}");
    }
}

#[test]
fn a_tag_stands_only_where_it_can() {
    let check = |mjml: &str, expected: &str| assert_eq!(layout_problems(mjml), expected, "{mjml}");
    let body = |content: &str| format!("<mjml><mj-body>\n{content}</mj-body></mjml>");
    for (content, expected) in [
        ("{% for s in sections %}<mj-section></mj-section>{% endfor %}", "fine"),
        ("{% if name %}<mj-section></mj-section>{% else %}<mj-wrapper></mj-wrapper>{% endif %}", "fine"),
        ("{% set x = 1 %}{# note }} #}<!-- {{ name }} <mj-nothing> -->", "fine"),
        ("<mj-section>{% for s in sections %}<mj-column></mj-column>{% endfor %}</mj-section>", "fine"),
        ("<mj-section><mj-column>{% if name %}<mj-divider />{% endif %}</mj-column></mj-section>", "fine"),
        ("<mj-wrapper>{% if name %}<mj-section></mj-section>{% endif %}</mj-wrapper>", "fine"),
        ("{{ name }}", "2:1: a value is not allowed between elements; put it into an `<mj-text>`"),
        (
            "<mj-section>{% if name %}</mj-section>{% endif %}",
            "2:39: `{% endif %}` is not in the same element as its `{% if %}` in line 2",
        ),
        (
            "{% for s in sections %}<mj-section>{% endfor %}</mj-section>",
            "2:36: `{% endfor %}` is not in the same element as its `{% for %}` in line 2",
        ),
        (
            "{% if name %}<mj-section>{% else %}</mj-section>{% endif %}",
            "2:26: `{% else %}` is not in the same element as its `{% if %}` in line 2",
        ),
        ("<mj-sectoin></mj-sectoin>", "2:1: there is no element `<mj-sectoin>`; did you mean `mj-section`?"),
        ("<mj-include path=\"x\" />", "2:1: `<mj-include>` is not allowed in a mail"),
        ("<mj-section></mj-column></mj-section>", "2:13: `</mj-column>` closes nothing"),
        ("<mj-section>", "2:1: `<mj-section>` is not closed"),
        ("<mj-section padding=\"{{ count }}\"></mj-section>", "2:22: a tag is not allowed in `padding`"),
        (
            "<mj-section {% if name %}padding=\"1px\"{% endif %}></mj-section>",
            "2:13: a tag is allowed in the value of an attribute only\n2:39: a tag is allowed in the value of an attribute only",
        ),
        ("<mj-section css-class=\"{% if name %}a{% endif %}\"></mj-section>", "fine"),
        (
            "<mj-section css-class=\"{% if name %}a\"></mj-section>{% endif %}",
            "2:24: `{% if %}` does not end in this attribute",
        ),
        ("<mj-section padding=1px></mj-section>", "2:20: the value of `padding` needs quotes"),
        ("tidingstag", "2:1: `tidingstag` is reserved for the compiler"),
    ] {
        check(&body(content), expected);
    }
    for (content, expected) in [
        ("{{ name }} <b>{% if name %}x{% endif %}</b> a > b & c &amp; <br>", "fine"),
        (
            "{% if name %}<b>{% endif %}</b>",
            "2:26: `{% endif %}` is not in the same element as its `{% if %}` in line 2",
        ),
        ("{% if name == '</mj-text>' or count > 2 %}x{% endif %}", "fine"),
        (
            "<a href=\"{{ name }}\" style=\"{{ name }}\" onclick=\"{{ name }}\">x</a>",
            "2:38: a tag is not allowed in `style`\n2:59: a tag is not allowed in `onclick`",
        ),
        (
            "<a href=\"{% if name %}x{% endif %}\">x</a>",
            "2:19: a statement is not allowed in `href`; choose with `{{ a if condition else b }}`\n2:33: a statement is not allowed in `href`; choose with `{{ a if condition else b }}`",
        ),
        ("<style>{{ name }}</style>", "2:17: a tag is not allowed in `<style>`"),
        ("a < b", "2:12: write a `<` that does not begin an element as `&lt;`"),
        ("<p/ class='x'>a</p>", "2:12: not MJML"),
        ("<script>x</script>", "2:10: `<script>` is not allowed in a mail"),
    ] {
        check(&layout_with_text(content), expected);
    }
    check("<p>x</p>", "1:1: this is not allowed here");
    check("", "1:1: a layout begins with `<mjml>`: unable to find mjml element");
    check(
        "<mjml><mj-head><mj-style>{{ name }}</mj-style></mj-head></mjml>",
        "1:26: a tag is not allowed in `<mj-style>`",
    );
}

/// What stands in the text of the one element of a mail.
fn shown_text(content: &str) -> String {
    let renderer = MessageRenderer::new(&parse_catalogue("x", &layout_with_text(content), "x"))
        .unwrap_or_else(|problems| panic!("{problems}"));
    let state = VersionedState::from_values(
        1,
        [("title", text_value("<i>'\"&")), ("page", text_value("javascript:x"))],
    );
    let follows = [subject_ref("work:1")];
    let input = MoonMailInput {
        name: Some("javascript:alert('x')"),
        work: &subject_ref("work:1"),
        state: &state,
        follows: &follows,
        related: &BTreeMap::new(),
        items: 2,
    };
    let html = render_moon(&renderer, &input).unwrap_or_else(|error| panic!("{error}")).html;
    let (_, after) = html.split_once("color:#000000;\">").unwrap();
    after.split_once("</div></td>").unwrap().0.to_string()
}

#[test]
fn where_a_value_stands_decides_how_it_is_written() {
    let check = |content: &str, expected: &str| assert_eq!(shown_text(content), expected, "{content}");
    check("{{ name }}", "javascript:alert(&#39;x&#39;)");
    check("{{ (items | first).name }}", "&lt;i&gt;&#39;&quot;&amp;");
    check("<a href=\"{{ name }}\">x</a>", "<a href=\"\">x</a>");
    check("<a href=\"{{ (items | first).subject.page }}\">x</a>", "<a href=\"\">x</a>");
    check("<a href=\"{{ name or 'https://example.com/' }}\">x</a>", "<a href=\"\">x</a>");
    check(
        "<a href=\"{{ 'https://example.com/(a)' if name else name }}\">x</a>",
        "<a href=\"https://example.com/%28a%29\">x</a>",
    );
    check(
        "<a href=\"https://example.com/{{ (items | first).name }}\">x</a>",
        "<a href=\"https://example.com/%3Ci%3E%27%22%26\">x</a>",
    );
    check(
        "<a href=\"https://example.com/?q={{ name | urlencode }}\">x</a>",
        "<a href=\"https://example.com/?q=javascript%3Aalert%28%27x%27%29\">x</a>",
    );
    check(
        "<a href='{{ name }}' title='{{ name }}'>x</a>",
        "<a href=\"\" title=\"javascript:alert(&#39;x&#39;)\">x</a>",
    );
    check("{{ '{{ name }}' }}{{ \"}}\" }}", "{{ name }}}}");
    check("{% for item in items %}{% if not loop.first %}, {% endif %}{{ loop.index }}{% endfor %}", "1, 2");
}

#[test]
fn repeated_sections_are_repeated_whole() {
    let mjml = "<mjml><mj-body>{% for row in [1, 2, 3, 4, 5] | batch(2) %}<mj-wrapper>{% if row %}<mj-section>{% for n in row %}<mj-column width=\"50%\">{% if n != 2 %}<mj-text>n{{ n }}</mj-text>{% endif %}</mj-column>{% endfor %}</mj-section>{% endif %}</mj-wrapper>{% endfor %}</mj-body></mjml>";
    let renderer = MessageRenderer::new(&parse_catalogue("x", mjml, "x"))
        .unwrap_or_else(|problems| panic!("{problems}"));
    let (work, state, nobody) = (subject_ref("work:1"), moon_state(), author_states());
    let input =
        MoonMailInput { name: None, work: &work, state: &state, follows: &[], related: &nobody, items: 1 };
    let html = render_moon(&renderer, &input).unwrap().html;
    assert_eq!(html.matches("max-width:600px;\"><table").count(), 6, "three wrappers with a section each");
    assert_eq!(html.matches("class=\"mj-outlook-group-fix mj-column-per-50\"").count(), 5);
    let said: Vec<usize> = (1..=5).filter_map(|n| html.find(&format!(">n{n}<"))).collect();
    assert!(said.len() == 4 && said.is_sorted());
    let (_, body) = html.split_once("<body").unwrap();
    assert_eq!(check_balance(body), Ok(()));
    // Outlook sees what is in its comments too.
    assert_eq!(check_balance(&body.replace("<!--[if mso | IE]>", "").replace("<![endif]-->", "")), Ok(()));
}

/// Every table, row and cell is closed where it was opened.
fn check_balance(html: &str) -> Result<(), String> {
    const KNOWN: [&str; 6] = ["table", "tbody", "tr", "td", "div", "a"];
    let mut html = html.to_string();
    while let Some(at) = html.find("<!--") {
        let end = html[at..].find("-->").ok_or("an open comment")? + at + 3;
        html.replace_range(at..end, "");
    }
    let mut open = Vec::new();
    for piece in html.split('<').skip(1) {
        let name =
            piece.split(|c: char| c.is_whitespace() || c == '>' || c == '/').next().unwrap_or_default();
        if let Some(name) = KNOWN.into_iter().find(|known| *known == name) {
            open.push(name);
        } else if let Some(end) = piece.strip_prefix('/') {
            let end = end.split('>').next().unwrap_or_default();
            if KNOWN.contains(&end) {
                match open.pop() {
                    Some(last) if last == end => {}
                    last => return Err(format!("</{end}> after {last:?}")),
                }
            }
        }
    }
    if open.is_empty() { Ok(()) } else { Err(format!("open: {open:?}")) }
}

#[test]
fn a_check_finds_what_only_some_items_have() {
    assert!(MessageRenderer::check(&parse_catalogue("{{ items | list }}", MJML, TEXT)).is_empty());
    let slow = "{% for a in items %}{% for b in items %}{% for c in items %}{% for d in items %}{% for e in items %}{% for f in items %}{% for g in items %}{% for h in items %}{% for i in items %}{% for j in items %}{% for k in items %}x{% endfor %}{% endfor %}{% endfor %}{% endfor %}{% endfor %}{% endfor %}{% endfor %}{% endfor %}{% endfor %}{% endfor %}{% endfor %}";
    let found = MessageRenderer::check(&parse_catalogue("x", MJML, slow));
    assert!(found.to_string().contains("this text needs too many steps"), "{found}");
    let found = MessageRenderer::check(&parse_catalogue(
        "x",
        "<mjml><mj-body>\n<mj-section>\n<mj-column>\n<mj-text>{{ name }} {{ [1] | batch(count - 3) | length }}</mj-text></mj-column></mj-section></mj-body></mjml>",
        "x",
    ));
    assert!(found.to_string().starts_with("daily.mjml:4:21: rows of nothing"), "{found}");
}

/// What a check finds where a plan tells of works and of authors.
fn check_findings(mjml: &str, text: &str) -> Vec<String> {
    const KINDS: &str = "
  author_in: {on: author.joined, to: {followers_of: subject}, says: x, plans: [daily]}
  author_out: {on: author.left, to: {followers_of: subject}, says: x, plans: [daily]}
plans:";
    let source = CATALOGUE.replace("\nplans:", KINDS).replace("HEADLINE", "x");
    let source = source.replace("[work_out]", "[work_out, author_in, author_out]");
    let files = |name: &str| Ok(if name == "daily.mjml" { mjml } else { text }.to_string());
    let catalogue =
        Catalogue::parse(&source, "catalogue.yaml", &files).unwrap_or_else(|problems| panic!("{problems}"));
    let said = MessageRenderer::check(&catalogue).0.into_iter().map(|found| {
        assert_eq!(found.help.as_deref(), Some("test it with `{% if %}` first"));
        format!("{}:{}:{}: {}", found.file, found.line, found.column, found.what)
    });
    said.collect()
}

#[test]
fn a_check_names_the_field_that_is_missing_and_the_kinds_that_lack_it() {
    const WORKS: &str = "is not there for items of kind `work_out`";
    const AUTHORS: &str = "is not there for items of kind `author_in` and `author_out`";
    let each = |what: &str| format!("{{% for item in items %}}{what}{{% endfor %}}");
    let check = |what: &str, expected: &[(usize, &str, &str)]| {
        let expected: Vec<String> =
            expected.iter().map(|(at, what, of)| format!("daily.txt:1:{at}: {what} {of}")).collect();
        assert_eq!(check_findings("<mjml><mj-body></mj-body></mjml>", &each(what)), expected, "{what}");
    };
    check("{% if item.subject.title %}{{ item.subject.title }}{% endif %}", &[]);
    check("{{ item.subject.name }}", &[(27, "`item.subject.name`", WORKS)]);
    check("{{ item.subject.title }}", &[(27, "`item.subject.title`", AUTHORS)]);
    check("{{ item.subject.author.name }}", &[(27, "`item.subject.author.name`", AUTHORS)]);
    check("{{ item.subject.title | upper }}", &[(27, "`item.subject.title`", AUTHORS)]);
    check("{{ (item.subject.title) | upper }}", &[(47, "a value", AUTHORS)]);
    check(
        "{{ item.subject.title }}{{ item.subject.name }}",
        &[(27, "`item.subject.title`", AUTHORS), (51, "`item.subject.name`", WORKS)],
    );
    assert_eq!(
        check_findings(&layout_with_text(&each("<b>{{ item.subject.score }}</b>")), "x"),
        [format!("daily.mjml:2:36: `item.subject.score` {AUTHORS}")]
    );
}

#[test]
fn a_time_says_whose_it_is() {
    let check = |zone: &str, expected: &str| {
        let zone = ZoneRules::load_bundled().get_or_utc(Some(zone));
        let at = |text: &str| UtcMillis::parse(text).unwrap();
        let (due, english) = (at("2026-11-24T08:00:00Z"), ReaderLanguage::plain_english());
        let moment = WallMoment::new(at("2026-11-27T17:00:00Z"), &zone, due, &english).unwrap();
        assert_eq!(moment.time_text(), expected);
    };
    check("UTC", "17:00 UTC");
    check("Europe/Berlin", "18:00 CET");
    check("America/New_York", "12:00 EST");
    check("Asia/Tokyo", "02:00 JST");
    check("America/Sao_Paulo", "14:00 UTC-03");
    check("Asia/Kathmandu", "22:45 UTC+0545");
}

const HOSTILE: [&str; 24] = [
    "<script>alert(1)</script>",
    "\"><img src=x onerror=alert(1)>",
    "'onmouseover='x",
    "a\r\nBcc: x@example.com",
    "a\nb",
    "{{ 7 * 7 }}",
    "{% for x in y %}",
    "{# x #}",
    "javascript:alert(1)",
    "JaVaScRiPt:alert(1)",
    "data:text/html,<script>",
    "https://example.com/\"><b>",
    "https://example.com/');x:url(",
    "\u{202E}gnihton",
    "\u{2066}x",
    "\0",
    "\u{0085}\u{2028}\u{2029}x",
    "&lt;script&gt;",
    "</title><b>",
    "--><b>",
    "<![endif]-->",
    "]]>",
    "tidingstag0x",
    "\u{1F468}\u{200D}\u{1F469}\u{200D}\u{1F467}",
];

fn hostile_text() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        proptest::sample::select(HOSTILE.to_vec()).prop_map(str::to_string),
        "\\PC{0,8}",
        any::<String>(),
        Just("x".repeat(4_000)),
        Just("<".repeat(1_000)),
    ];
    let text = proptest::collection::vec(piece, 0..4).prop_map(|pieces| pieces.concat());
    text.prop_map(|text| text.chars().take(1_020).collect())
}

fn renderer() -> &'static MessageRenderer {
    static RENDERER: std::sync::OnceLock<MessageRenderer> = std::sync::OnceLock::new();
    RENDERER.get_or_init(|| {
        MessageRenderer::new(&parse_catalogue("{{ items | list(2) }} {{ name }}", MJML, TEXT)).unwrap()
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn nothing_gets_out_of_its_place(
        name in hostile_text(), title in hostile_text(), image in hostile_text(), page in hostile_text(), author in hostile_text(),
        id in hostile_text(), time: i64, number: f64, items in 1_usize..4,
    ) {
        let state = VersionedState::from_values(1, [
            ("title", text_value(&title)), ("image", text_value(&image)), ("page", text_value(&page)),
            ("author", Some(Value::Ref(subject_ref("author:7")))),
            ("others", Some(Value::Refs(vec![subject_ref("author:7"); 3]))),
            ("starts", Some(Value::Time(UtcMillis(time)))),
            ("score", Some(Value::Number(number))),
        ]);
        let author = VersionedState::from_values(1, [("name", text_value(&author)), ("page", text_value(&page))]);
        let related = BTreeMap::from([(subject_ref("author:7"), author)]);
        let id: String = id.chars().filter(|c| !c.is_control()).take(20).collect();
        let work = SubjectRef::new(&format!("work:{id}")).unwrap_or_else(|_| subject_ref("work:1"));
        let follows = [subject_ref("author:7"), work.clone()];
        let input = MoonMailInput { name: Some(&name), work: &work, state: &state, follows: &follows, related: &related, items };
        let found = render_moon(renderer(), &input).unwrap();
        prop_assert_eq!(&found, &render_moon(renderer(), &input).unwrap(), "the same bytes again");

        for line in [&found.headline, &found.preheader] {
            prop_assert!(line.chars().count() <= 200 && !line.contains(is_odd_char), "{line:?}");
        }
        prop_assert!(!found.text.contains(|c| c != '\n' && is_odd_char(c)), "{:?}", found.text);
        prop_assert!(!found.html.contains(|c| c != '\n' && is_odd_char(c)), "{:?}", found.html);
        prop_assert_eq!(html_skeleton(&found.html), html_skeleton(&plain_mail(items).html), "{}", found.html);
        for address in html_addresses(&found.html) {
            prop_assert!(address.is_empty() || address.starts_with("https://") || address.starts_with("http://")
                || address.to_lowercase().starts_with("http"), "{address}");
            prop_assert!(!address.contains(['(', ')', ' ', '\\']), "{address}");
        }
    }

    #[test]
    fn a_value_of_another_type_than_its_field_does_no_harm(title in any::<f64>(), score in hostile_text()) {
        let mut state = moon_state();
        let wrong = |value| ValueCell { version: 2, value: Some(value) };
        state.set("title", wrong(Value::Number(title)));
        state.set("score", wrong(Value::from_text(&score)));
        state.set("starts", wrong(Value::Flag(true)));
        state.set("author", wrong(Value::from_text("x")));
        state.set("others", wrong(Value::Ref(subject_ref("author:7"))));
        let (work, nobody) = (subject_ref("work:1"), BTreeMap::new());
        let input = MoonMailInput { name: None, work: &work, state: &state, follows: &[], related: &nobody, items: 1 };
        prop_assert!(render_moon(renderer(), &input).is_ok());
    }
}

fn is_odd_char(c: char) -> bool {
    c.is_control() || matches!(c, '\u{2028}' | '\u{2029}' | '\u{202A}'..='\u{202E}' | '\u{2066}'..='\u{2069}')
}

/// The mail of harmless values.
fn plain_mail(items: usize) -> RenderedMail {
    let (work, state, related) = (subject_ref("work:1"), moon_state(), author_states());
    let follows = [subject_ref("author:7"), work.clone()];
    let input = MoonMailInput {
        name: Some("Ann"),
        work: &work,
        state: &state,
        follows: &follows,
        related: &related,
        items,
    };
    render_moon(renderer(), &input).unwrap()
}

/// The elements and the names of their attributes, in order: all that a value must not change.
fn html_skeleton(html: &str) -> Vec<String> {
    let mut shape = Vec::new();
    let mut rest = html;
    while let Some(at) = rest.find('<') {
        rest = &rest[at + 1..];
        let mut quote = None;
        let end = rest.find(|c| match quote {
            None if c == '"' || c == '\'' => {
                quote = Some(c);
                false
            }
            Some(open) if c == open => {
                quote = None;
                false
            }
            None => c == '>',
            Some(_) => false,
        });
        let end = end.unwrap_or(rest.len());
        let mut tag = String::new();
        let mut value = false;
        for c in rest[..end].chars() {
            match c {
                '"' => {
                    value = !value;
                    tag.push('"');
                }
                c if !value => tag.push(c),
                _ => {}
            }
        }
        shape.push(tag);
        rest = &rest[end..];
    }
    shape
}

fn html_addresses(html: &str) -> Vec<String> {
    let starts = [" href=\"", " src=\""];
    let found = starts
        .iter()
        .flat_map(|start| html.split(start).skip(1).map(|rest| rest.split('"').next().unwrap_or_default()));
    found.map(|address| address.replace("&amp;", "&").replace("&#39;", "'")).collect()
}
