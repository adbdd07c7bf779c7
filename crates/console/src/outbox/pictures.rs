//! Pictures in the preview of a mail. Nothing is loaded from elsewhere; but a catalogue may have drawings of
//! its own, by the names of the pictures that its mails show (`images/moon.svg` for `https://.../moon.jpg`),
//! and they are put into the preview itself. So its policy stays as it is: it can neither run nor load anything.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use tokio::fs;

/// Where they are, in the catalogue's folder.
const FOLDER: &str = "images";
/// One that is bigger is not shown.
const PICTURE_BYTES_MAX: u64 = 65_536;
/// So many different ones in one mail.
const PICTURES_MAX: usize = 100;
const NAME_CHARS_MAX: usize = 64;

const SOURCE: &str = " src=\"";

/// A mail with the pictures that its catalogue has, all others as they were.
pub async fn fill_pictures(html: &str, catalogue_file: &str) -> String {
    let folder = Path::new(catalogue_file).with_file_name(FOLDER);
    let mut pictures = BTreeMap::new();
    for name in names(html) {
        if let Some(picture) = read_picture(&folder.join(format!("{name}.svg"))).await {
            pictures.insert(name, format!("data:image/svg+xml;base64,{}", STANDARD.encode(picture)));
        }
    }
    replace_sources(html, &pictures)
}

async fn read_picture(file: &Path) -> Option<Vec<u8>> {
    // A name may be that of a device, which never ends.
    let found = fs::metadata(file).await.ok()?;
    if !found.is_file() || found.len() > PICTURE_BYTES_MAX {
        return None;
    }
    fs::read(file).await.ok()
}

/// What the pictures of a mail are called.
fn names(html: &str) -> BTreeSet<&str> {
    let sources = html.split(SOURCE).skip(1).filter_map(|rest| rest.split('"').next());
    sources.filter_map(name).take(PICTURES_MAX).collect()
}

/// `moon` of `https://example.com/art/moon.jpg?big`. Only what is surely the name of a file and nothing else.
fn name(address: &str) -> Option<&str> {
    let path = address.strip_prefix("https://").or_else(|| address.strip_prefix("http://"))?;
    let path = path.split(['?', '#']).next()?;
    let (_, last) = path.rsplit_once('/')?;
    let (name, ending) = last.split_once('.')?;
    let plain = |part: &str| {
        (1..=NAME_CHARS_MAX).contains(&part.len())
            && part.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_'))
    };
    (plain(name) && plain(ending)).then_some(name)
}

fn replace_sources(html: &str, pictures: &BTreeMap<&str, String>) -> String {
    let mut pieces = html.split(SOURCE);
    let mut filled = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        filled.push_str(SOURCE);
        let (address, rest) = piece.split_at(piece.find('"').unwrap_or(0));
        let picture = name(address).and_then(|name| pictures.get(name));
        filled.push_str(picture.map_or(address, String::as_str));
        filled.push_str(rest);
    }
    filled
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_plain_name_of_a_file_is_a_name() {
        let check = |address: &str, expected: Option<&str>| assert_eq!(name(address), expected, "{address}");
        check("https://example.com/art/moon-1.jpg", Some("moon-1"));
        check("http://example.com/moon.jpg?big=1#x", Some("moon"));
        for address in [
            "",
            "moon.jpg",
            "https://moon.jpg",
            "https://example.com/moon",
            "https://example.com/moon.",
            "https://example.com/.jpg",
            "https://example.com/moon.tar.gz",
            "https://example.com/../.ssh",
            "https://example.com/..%2Fmoon.jpg",
            "https://example.com/..\\moon.jpg",
            "https://example.com/mo on.jpg",
            "https://example.com/møøn.jpg",
            "https://example.com/?moon.jpg",
            "file:///art/moon.jpg",
            "data:image/png;base64,/moon.jpg",
        ] {
            check(address, None);
        }
        check(&format!("https://example.com/{}.jpg", "x".repeat(65)), None);
    }

    #[tokio::test]
    async fn a_mail_shows_what_its_catalogue_has_and_nothing_else() {
        let dir = tempfile::tempdir().unwrap();
        let images = dir.path().join(FOLDER);
        std::fs::create_dir_all(images.join("folder.svg")).unwrap();
        std::fs::write(images.join("moon.svg"), "<svg/>").unwrap();
        let size = usize::try_from(PICTURE_BYTES_MAX).unwrap() + 1;
        std::fs::write(images.join("big.svg"), "x".repeat(size)).unwrap();
        std::fs::write(dir.path().join("secret.svg"), "<svg/>").unwrap();
        let file = dir.path().join("catalogue.yaml").display().to_string();
        let picture = |address: &str| format!("<p>a</p><img alt=\"x\" src=\"{address}\" /><b src=\"\">\n");
        let moon = "https://example.com/moon.jpg";
        let others = ["sun.jpg", "folder.jpg", "big.jpg", "../secret.jpg", "%2e%2e%2fsecret.jpg", "moon.a.b"]
            .map(|name| picture(&format!("https://example.com/{name}")))
            .concat();
        let all = format!("{}{others}{}", picture(moon), picture(moon));
        let shown = picture("data:image/svg+xml;base64,PHN2Zy8+");
        assert_eq!(fill_pictures(&all, &file).await, format!("{shown}{others}{shown}"));
        for html in ["", " src=\"", " src=\"https://example.com/moon.jpg", "é src=\"é"] {
            assert_eq!(fill_pictures(html, &file).await, html);
        }
        assert_eq!(fill_pictures(&all, "/nowhere/catalogue.yaml").await, all);
    }
}
