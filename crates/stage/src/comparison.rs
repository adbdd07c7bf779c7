//! Expected against actual, side by side.

/// The widest that a column gets; what is longer goes on in the next line.
const WIDTH_MAX: usize = 60;

/// Rows of what was expected and what was found.
#[derive(Default)]
pub(crate) struct ExpectationTable {
    rows: Vec<ExpectationRow>,
}

struct ExpectationRow {
    label: String,
    expected: String,
    actual: String,
    same: bool,
}

impl ExpectationTable {
    /// Adds a row that is right if both are the same.
    pub fn compare_texts(&mut self, label: &str, expected: &str, actual: &str) {
        self.add_row(label, expected, actual, expected == actual);
    }

    pub fn add_row(&mut self, label: &str, expected: &str, actual: &str, same: bool) {
        let text = |text: &str| if text.is_empty() { "(none)".to_owned() } else { text.replace('\n', "⏎") };
        self.rows.push(ExpectationRow {
            label: label.to_owned(),
            expected: text(expected),
            actual: text(actual),
            same,
        });
    }

    /// Lists in order; whichever is longer has rows without a counterpart.
    pub fn compare_lists(&mut self, label: &str, expected: &[String], actual: &[String]) {
        for i in 0..expected.len().max(actual.len()) {
            let at = |list: &[String]| list.get(i).cloned().unwrap_or_default();
            let label = format!("{label} {}", i + 1);
            self.add_row(&label, &at(expected), &at(actual), expected.get(i) == actual.get(i));
        }
    }

    /// Drops the rows of these labels that are right: they would only hide the others.
    pub fn only_wrong_of(&mut self, labels: &[&str]) {
        self.rows.retain(|row| !row.same || !labels.contains(&row.label.as_str()));
    }

    pub fn is_good(&self) -> bool {
        self.rows.iter().all(|row| row.same)
    }

    /// The table; rows that differ begin with `≠`.
    pub fn table(&self) -> String {
        let width = |text: &String| text.chars().count();
        let labels = self.rows.iter().map(|row| width(&row.label)).max().unwrap_or(0);
        let wide = self.rows.iter().map(|row| width(&row.expected)).max().unwrap_or(0).clamp(8, WIDTH_MAX);
        let mut out = vec![format!("    {:labels$}  {:wide$}  actual", "", "expected")];
        for row in &self.rows {
            let (left, right) = (wrap_text(&row.expected), wrap_text(&row.actual));
            for i in 0..left.len().max(right.len()) {
                let (mark, label) = match i {
                    0 => (if row.same { ' ' } else { '≠' }, row.label.as_str()),
                    _ => (' ', ""),
                };
                let at = |lines: &[String]| lines.get(i).cloned().unwrap_or_default();
                let line = format!("  {mark} {label:labels$}  {:wide$}  {}", at(&left), at(&right));
                out.push(line.trim_end().to_owned());
            }
        }
        out.join("\n")
    }
}

fn wrap_text(text: &str) -> Vec<String> {
    let chars: Vec<char> = text.chars().collect();
    chars.chunks(WIDTH_MAX).map(|chunk| chunk.iter().collect()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_differs_stands_beside_what_was_expected() {
        let mut comparison = ExpectationTable::default();
        comparison.compare_texts("headline", "New", "New");
        assert!(comparison.is_good());
        let texts = |texts: &[&str]| texts.iter().map(ToString::to_string).collect::<Vec<_>>();
        comparison.compare_lists("section", &texts(&["New: Moon"]), &texts(&["New: Moon, Sun", "Old: Sea"]));
        assert!(!comparison.is_good());
        let expected = "               expected   actual
    headline   New        New
  ≠ section 1  New: Moon  New: Moon, Sun
  ≠ section 2  (none)     Old: Sea";
        assert_eq!(comparison.table(), expected);
    }
}
