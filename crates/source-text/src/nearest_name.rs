//! Names: the one that was probably meant, and several in a row.

/// `did you mean ...?`, if one of the names is near.
pub fn did_you_mean<'a>(word: &str, names: impl IntoIterator<Item = &'a str>) -> Option<String> {
    nearest_name(word, names).map(|name| format!("did you mean `{name}`?"))
}

/// Advice beside an unknown name: the nearest one, or else all that there are.
pub fn suggest_name<'a>(word: &str, names: impl IntoIterator<Item = &'a str> + Clone) -> String {
    if names.clone().into_iter().next().is_none() {
        return "there are none".to_string();
    }
    did_you_mean(word, names.clone()).unwrap_or_else(|| format!("use {}", list_choices(names)))
}

/// The nearest name, unless all of them are far.
pub fn nearest_name<'a>(word: &str, names: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let word = word.to_lowercase();
    // Swapped letters are one slip; a third of the word may be wrong.
    let far = word.chars().count() / 3 + 1;
    names
        .into_iter()
        .map(|name| (strsim::osa_distance(&word, &name.to_lowercase()), name))
        .filter(|(distance, _)| *distance <= far)
        .min()
        .map(|(_, name)| name)
}

/// Names in a row for a message: `a, b or c`.
pub fn list_choices<'a>(names: impl IntoIterator<Item = &'a str>) -> String {
    let mut names: Vec<String> = names.into_iter().map(|name| format!("`{name}`")).collect();
    match names.pop() {
        None => "nothing".to_string(),
        Some(last) if names.is_empty() => last,
        Some(last) => format!("{} or {last}", names.join(", ")),
    }
}
