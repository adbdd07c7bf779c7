//! Lists of slots as data: one good catalogue, and what is said of it after each slip.

use super::describe_result;
use crate::{Catalogue, SlotTable};

const SLOTS: &str = "
catalogue: shop
subjects:
  item:  {name: text, maker: ref maker, picture: url, page: url, there: flag}
  maker: {name: text}
  picks: {items: refs item, makers: refs maker}
slots:
  chosen:
    of: item
    places: 4
    image: picture
    link: page
    alt: Chosen for you
    while: subject.there and maker.name is defined
    maker: maker
    from:
      - {table: picks.items, share: 2}
      - {table: picks.items, row: all}
    hosts: ['*.shop.example']
    instead: {image: 'https://shop.example/b.png', link: 'https://shop.example/'}
    kept: 10m
kinds:
  told: {on: item.told, to: listed, says: x, plans: [daily]}
plans:
  daily:
    channel: email
    close: at_once
    look_back: 2d
    headline: x
    from: a@b.example
    template: a.mjml
    text: a.txt
    slots: chosen
    sections: [{title: x, kinds: [told], most: 9}]
";

const MJML: &str = "<mjml><mj-body><mj-section><mj-column>{% set s = slot(1) %}<mj-image src=\"{{ s.image }}\" href=\"{{ s.link }}\" alt=\"{{ s.alt }}\" /></mj-column></mj-section></mj-body></mjml>";
const TEXT: &str = "{% for s in slots %}{{ s.alt }}: {{ s.link }}\n{% endfor %}";

fn parse_slots(text: &str, template: &str) -> Result<Catalogue, source_text::TextProblems> {
    Catalogue::parse(text, "dir/catalogue.yaml", &|name| match name {
        "a.mjml" => Ok(template.to_owned()),
        _ => Ok(TEXT.to_owned()),
    })
}

#[test]
fn a_list_of_slots_is_read() {
    let catalogue = parse_slots(SLOTS, MJML).unwrap_or_else(|problems| panic!("{problems}"));
    let list = &catalogue.slots["chosen"];
    assert_eq!((list.places, list.kept_ms, list.at_most_ms), (4, 600_000, 86_400_000));
    let table = |row: Option<&str>, share| SlotTable {
        subject: "picks".to_owned(),
        field: "items".to_owned(),
        row: row.map(str::to_owned),
        share,
    };
    assert_eq!(list.tables, [table(None, 2), table(Some("all"), 0)]);
    let other = |piece: &str, by: &str| parse_slots(&SLOTS.replace(piece, by), MJML).unwrap().hash;
    for (piece, by) in [
        ("places: 4", "places: 5"),
        ("alt: Chosen for you", "alt: Chosen"),
        ("while: subject.there and", "while: not subject.there and"),
        ("share: 2", "share: 1"),
        ("'*.shop.example'", "'*.shops.example'"),
        ("kept: 10m", "kept: 11m"),
        ("    slots: chosen\n", "    slots: chosen\n    title: x\n"),
    ] {
        assert_ne!(other(piece, by), catalogue.hash, "{by}");
    }
}

#[test]
fn slips_in_slots_are_found_where_they_are() {
    let check = |piece: &str, by: &str, expected: &str| {
        assert!(SLOTS.contains(piece), "{piece}");
        let found = describe_result(parse_slots(&SLOTS.replacen(piece, by, 1), MJML));
        assert_eq!(found, expected, "{by}");
    };
    check("    of: item\n", "    of: itm\n", "9:9: there is no subject `itm`; did you mean `item`?");
    check("places: 4", "places: 21", "10:13: `places` must be a whole number from 1 to 20, not 21");
    check("image: picture", "image: pictur", "11:12: `item` has no field `pictur`; did you mean `picture`?");
    check("link: page", "link: name", "12:11: `name` is text, but an address is a url");
    check(
        "alt: Chosen for you",
        "alt: ''",
        "13:10: `alt` is empty; say what stands where pictures are not shown",
    );
    check(
        "alt: Chosen for you",
        "alt: '{{ subject.name }}'",
        "13:14: there is no `subject`; a text here reads `direction` or `language`",
    );
    check("subject.there and", "subject.there", "14:26: unexpected input after expression");
    check("maker: maker\n    from", "maker: brand\n    from", "15:12: `item` has no field `brand`");
    check(
        "{table: picks.items, share: 2}",
        "{table: picks, share: 2}",
        "17:17: `picks` is not a table; write the subject and its field: `picks.items`",
    );
    check(
        "{table: picks.items, share: 2}",
        "{table: pick.items}",
        "17:17: there is no subject `pick`; did you mean `picks`?",
    );
    check(
        "{table: picks.items, share: 2}",
        "{table: picks.makers}",
        "17:17: `makers` is refs maker, but a table is `refs item`",
    );
    check(
        "['*.shop.example']",
        "['https://shop.example']",
        "19:13: `https://shop.example` is not a host; write a host without its scheme: `img.example.com`, or `*.example.com`",
    );
    check("['*.shop.example']", "[]", "19:12: `hosts` names 1 to 20 hosts");
    check(
        "'https://shop.example/'",
        "shop",
        "20:58: `shop` is not an address on the web; write the whole address: `https://example.com/all`",
    );
    check("kept: 10m", "kept: 30s", "21:11: `kept` must be from 1m to 31d");
    check("kept: 10m", "kept: 2d", "21:11: `kept` is longer than `at_most`");
    check(
        "    slots: chosen",
        "    slots: choosen",
        "33:12: there is no list of slots `choosen`; did you mean `chosen`?",
    );
}

#[test]
fn a_place_is_one_that_the_list_has() {
    let check = |call: &str, expected: &str| {
        let template = MJML.replace("slot(1)", call);
        assert_eq!(describe_result(parse_slots(SLOTS, &template)), expected, "{call}");
    };
    check("slot(4)", "fine");
    check("slot(count)", "fine");
    check("slot(0)", "a.mjml:1:55: there is no such slot; the list has the places 1 to 4");
    check("slot(5)", "a.mjml:1:55: there is no such slot; the list has the places 1 to 4");
    check("slot('x')", "a.mjml:1:55: there is no such slot; the list has the places 1 to 4");
    check("slot(name)", "a.mjml:1:55: a place is a number, this is text");
    check("slot()", "a.mjml:1:50: `slot` takes one number, its place; write `slot(1)`");
    check("slot(1, 2)", "a.mjml:1:50: `slot` takes one number, its place; write `slot(1)`");
    check("slat(1)", "a.mjml:1:50: there are no functions to call in texts");
}
