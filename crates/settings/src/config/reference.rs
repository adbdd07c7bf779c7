//! The page that lists every setting: made of the table of keys.

use std::fmt::Write as _;

use source_text::list_choices;

use super::{
    FILE,
    keys::{API_KEY_FILE_VARIABLE, API_KEY_VARIABLE, ConfigKey, FIRST_VERSION, KEYS, KeyForm},
};

/// The page, in Markdown.
pub fn reference_page() -> String {
    let mut page = format!(
        "# Reference: the configuration

This page is generated from the table by which the program reads its configuration. `tidings config` prints the same
keys with the values that hold and the source of each. [Operating](../operating.md) says what to set when.

The file is `{FILE}`, or the one that `--config` or `TIDINGS_CONFIG` names. Defaults come first, then the file, then the
environment, then flags; the later one wins. A dot in a key goes one level down in the file: `log.format` is
`log: {{format: json}}`.

- **The environment**: the variable of a key is `TIDINGS_` and the key in capitals, with `_` for a dot:
  `TIDINGS_LOG_FORMAT`. Only `api_keys` has another: `{API_KEY_VARIABLE}`, or `{API_KEY_FILE_VARIABLE}` with a file, gives
  the one key of `tenant`. A list has commas between its items; a map is written as in the file: `{{dc1: 3}}`, and so
  are `access_tokens`, `[{{role: read, token_file: read-token}}]`, and `person_tokens`.
- **Secrets** are never shown. Each may stand in a file of its own, which its key with `_file` names, and in the
  environment its variable with `_FILE`: `secret_file`, `TIDINGS_SECRET_FILE`.
- **Paths** of the file are meant from the folder of the file.
- Every key came with version {FIRST_VERSION} unless its row says otherwise. A key that is not known is refused.
"
    );
    let mut sections: Vec<&str> = Vec::new();
    for key in KEYS {
        if !sections.contains(&section_name(key)) {
            sections.push(section_name(key));
        }
    }
    for section in sections {
        let title = if section.is_empty() { "The house" } else { section };
        let of_production = KEYS.iter().any(|key| section_name(key) == section && key.is_of_production());
        let only = if of_production { "\nOnly with `engine: production`.\n" } else { "" };
        // Writing to a string cannot fail.
        let _never =
            writeln!(page, "\n## {title}\n{only}\n| key | value | unless set | |\n| --- | --- | --- | --- |");
        for key in KEYS.iter().filter(|key| section_name(key) == section) {
            let _never = writeln!(page, "{}", key_row(key));
        }
    }
    page
}

/// What stands before the dot.
fn section_name(key: &ConfigKey) -> &'static str {
    key.name.split_once('.').map_or("", |(section, _)| section)
}

fn key_row(key: &ConfigKey) -> String {
    let ConfigKey { name, form, default, help, since } = key;
    let default = match default {
        None | Some("") => String::new(),
        Some(default) => format!(" `{default}`"),
    };
    let since = if *since == FIRST_VERSION { String::new() } else { format!("; since {since}") };
    format!("| `{name}` | {} |{default} | {help}{since} |", describe(*form))
}

/// How a value is written, in words.
fn describe(form: KeyForm) -> String {
    let words = match form {
        KeyForm::Text => "text",
        KeyForm::Flag => "`true` or `false`",
        KeyForm::Count => "whole number",
        KeyForm::Duration => "time such as `45s`, `500ms` or `2m`",
        KeyForm::Bytes => "size such as `256 MiB`",
        KeyForm::Rate => "number above 0",
        KeyForm::Share => "share such as `0.5%`, or `off`",
        KeyForm::Address => "IP address and port",
        KeyForm::Url => "address",
        KeyForm::Words(words) => return list_choices(words.iter().copied()),
        KeyForm::Path => "path",
        KeyForm::PathOrNone => "path, or `none`; write a folder of that name `./none`",
        KeyForm::List => "list",
        KeyForm::Map => "map",
        KeyForm::Secret => "secret",
        KeyForm::ApiKeys => {
            "list of `{tenant: …, key: …}`, `{tenant: …, key_file: …}` or `{tenant: …, hash: sha256:…, scopes: […]}`"
        }
        KeyForm::AccessTokens => "list of `{role: …, token: …}` or `{role: …, token_file: …}`",
        KeyForm::PersonTokens => {
            "list of `{tenant: …, issuer: …, audience: …, keys_url: …, origins: […]}`, or with `keys_file`"
        }
    };
    words.to_owned()
}
