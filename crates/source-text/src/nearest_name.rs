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
    // Swapped letters are one slip; about a third of the word may be wrong, and not two letters of three.
    let far = (word.chars().count() + 1) / 3;
    names
        .into_iter()
        .map(|name| (strsim::osa_distance(&word, &name.to_lowercase()), name))
        .filter(|(distance, name)| *distance <= far || begins(&word, name))
        .min()
        .map(|(_, name)| name)
}

/// Whether a name only goes on behind the word, and not for long.
fn begins(word: &str, name: &str) -> bool {
    let rest = name.to_lowercase().strip_prefix(word).map(|rest| rest.chars().count());
    word.chars().count() > GOES_ON_MAX && rest.is_some_and(|rest| rest <= GOES_ON_MAX)
}

/// Letters that may be missing at the end of a word that is longer than they are.
const GOES_ON_MAX: usize = 2;

/// Names that are listed at most, where there are more.
const CHOICES_MAX: usize = 40;

/// Names in a row for a message: `a, b or c`.
pub fn list_choices<'a>(names: impl IntoIterator<Item = &'a str>) -> String {
    let mut names: Vec<String> = names.into_iter().map(|name| format!("`{name}`")).collect();
    if let Some(more) = names.len().checked_sub(CHOICES_MAX).filter(|more| *more > 1) {
        names.truncate(CHOICES_MAX);
        return format!("{} or one of {more} more", names.join(", "));
    }
    match names.pop() {
        None => "nothing".to_string(),
        Some(last) if names.is_empty() => last,
        Some(last) => format!("{} or {last}", names.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_near_name_is_suggested() {
        let check = |word: &str, name: &str, is_near: bool| {
            assert_eq!(nearest_name(word, [name]).is_some(), is_near, "{word}, {name}");
        };
        check("zoe", "eve", false);
        check("ben", "ann", false);
        check("a", "b", false);
        check("no", "on", true);
        check("eva", "eve", true);
        check("too", "to", true);
        check("wrok", "work", true);
        check("uper", "upper", true);
        check("mail", "email", true);
        check("mail", "push", false);
        check("list", "listed", true);
        check("li", "listed", false);
        check("autho", "author", true);
        check("catalog", "catalogue", true);
        check("Europe/Belrin", "Europe/Berlin", true);
    }

    #[test]
    fn many_names_are_not_all_listed() {
        let names: Vec<String> = (0..100).map(|n| format!("k{n}")).collect();
        let check = |count: usize, begins: &str, ends: &str| {
            let said = list_choices(names[..count].iter().map(String::as_str));
            assert!(said.starts_with(begins) && said.ends_with(ends), "{said}");
        };
        check(0, "nothing", "nothing");
        check(2, "`k0` or", "`k1`");
        check(41, "`k0`, `k1`", "`k39` or `k40`");
        check(42, "`k0`, `k1`", "`k39` or one of 2 more");
        check(100, "`k0`, `k1`", "`k39` or one of 60 more");
    }
}
