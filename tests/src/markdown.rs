//! A page as a reader copies from it: its fenced blocks, in order, and what the author says of each where readers see nothing.

use anyhow::{Result, bail, ensure};

/// Text that is said to stand for anything.
pub const ANYTHING: &str = "…";

/// What is to be done with a block; its words stand after the language of the fence, which nobody sees who reads the page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BlockUse {
    /// `sh`: it is run to its end, which has this code: 0, or that of `sh exits 3`.
    Run(i32),
    /// `sh stays`: it is run for as long as the page is followed.
    Stay,
    /// `sh waits`: it is run until it prints what is shown, as a reader looks again.
    Wait,
    /// `text` after any of them: what it prints.
    Shown,
    /// `yaml tidings.yaml`: a file.
    File(String),
    /// `sh elsewhere: why`: it cannot be done here.
    Elsewhere(String),
}

#[derive(Clone, Debug)]
pub struct PageBlock {
    /// Of its fence.
    pub line: usize,
    pub language: String,
    pub r#use: BlockUse,
    pub text: String,
}

/// The fenced blocks of a how-to page. One that has no use is an error: nobody would notice when it becomes untrue.
pub fn parse_blocks(page: &str) -> Result<Vec<PageBlock>> {
    let mut found: Vec<PageBlock> = Vec::new();
    for (line, info, text) in parse_fences(page)? {
        let (language, words) = info.split_once(' ').unwrap_or((info, ""));
        let runs = found
            .last()
            .is_some_and(|last| matches!(last.r#use, BlockUse::Run(_) | BlockUse::Wait | BlockUse::Stay));
        let r#use = match (language, words) {
            ("sh", "") => BlockUse::Run(0),
            ("sh", "stays") => BlockUse::Stay,
            ("sh", "waits") => BlockUse::Wait,
            ("text", "") if runs => BlockUse::Shown,
            (_, words) => match (words.strip_prefix("elsewhere: "), words.strip_prefix("exits ")) {
                (Some(why), _) => BlockUse::Elsewhere(why.to_owned()),
                (_, Some(code)) => BlockUse::Run(code.parse()?),
                _ if !words.is_empty() && language != "sh" && !words.contains(' ') => {
                    ensure!(page.contains(&format!("`{words}`")), "line {line}: no word of `{words}`");
                    BlockUse::File(words.to_owned())
                }
                _ => bail!("line {line}: `{info}` does not say what becomes of the block"),
            },
        };
        found.push(PageBlock { line, language: language.to_owned(), r#use, text });
    }
    Ok(found)
}

/// Line, information and text of each fence. What stands within a list is moved out of it.
pub fn parse_fences(page: &str) -> Result<Vec<(usize, &str, String)>> {
    let mut found = Vec::new();
    let mut open: Option<(usize, usize, &str, String)> = None;
    for (number, line) in page.lines().enumerate() {
        let fence = line.trim_start().strip_prefix("```");
        match (&mut open, fence) {
            (None, Some(info)) => {
                let indent = line.len() - line.trim_start().len();
                open = Some((number + 1, indent, info.trim(), String::new()));
            }
            (Some(_), Some("")) => {
                let closed = open.take().map(|(line, _, info, text)| (line, info, text));
                found.extend(closed);
            }
            (Some((_, indent, _, text)), _) => {
                let blank = line.len() - line.trim_start().len();
                text.push_str(&line[blank.min(*indent)..]);
                text.push('\n');
            }
            (None, None) => {}
        }
    }
    ensure!(open.is_none(), "a fence is not closed");
    Ok(found)
}

/// What is wrong where a page shows this and a command printed that. `…` within a line is any text, as a line of its own any
/// lines; all else is as it stands there, however many blanks are between two words.
pub fn find_difference(shown: &str, printed: &str) -> Option<String> {
    let (shown, printed) = (squeeze_blanks(shown), squeeze_blanks(printed));
    let shown: Vec<&str> = shown.lines().collect();
    let printed: Vec<&str> = printed.lines().collect();
    // The best that was reached, for whoever has to mend it.
    let mut furthest = (0, 0);
    if lines_match(&shown, &printed, (0, 0), &mut furthest) {
        return None;
    }
    let (at, came) = furthest;
    let (shown, came) =
        (shown.get(at).unwrap_or(&"nothing more"), printed.get(came).unwrap_or(&"nothing more"));
    Some(format!("shown: {shown}\nprinted: {came}\n--- all that was printed:\n{}", printed.join("\n")))
}

/// Columns are as wide as what stands in them, which is another one each time.
fn squeeze_blanks(text: &str) -> String {
    text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ") + "\n").collect()
}

fn lines_match(shown: &[&str], printed: &[&str], at: (usize, usize), furthest: &mut (usize, usize)) -> bool {
    *furthest = at.max(*furthest);
    let Some((line, shown)) = shown.split_first() else { return printed.is_empty() };
    if *line == ANYTHING {
        return (0..=printed.len())
            .any(|skipped| lines_match(shown, &printed[skipped..], (at.0 + 1, at.1 + skipped), furthest));
    }
    let Some((next, printed)) = printed.split_first() else { return false };
    line_matches(line, next) && lines_match(shown, printed, (at.0 + 1, at.1 + 1), furthest)
}

fn line_matches(shown: &str, printed: &str) -> bool {
    let mut parts = shown.split(ANYTHING);
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = printed.strip_prefix(first) else { return false };
    let parts: Vec<&str> = parts.collect();
    let Some((last, between)) = parts.split_last() else { return rest.is_empty() };
    for part in between {
        let Some((_, after)) = rest.split_once(part) else { return false };
        rest = after;
    }
    rest.ends_with(last)
}

#[test]
fn what_is_shown_is_compared_line_by_line() {
    let check = |shown: &str, printed: &str, same: bool| {
        assert_eq!(find_difference(shown, printed).is_none(), same, "{shown:?} {printed:?}");
    };
    check("a\nb\n", "a\nb", true);
    check("a\n", "a\nb\n", false);
    check("a\nb\n", "a\n", false);
    check("a\n…\n", "a\nb\nc\n", true);
    check("…\nc\n", "a\nb\nc\n", true);
    check("…\nb\n", "a\nb\nc\n", false);
    check("a … c", "a b c", true);
    check("a … c", "a c", false);
    check("a   b\n c", "a b  \n    c", true);
    check("a … c … e", "a b c d e", true);
    check("a … c", "a b c d", false);
    check("", "", true);
}

#[test]
fn a_block_without_a_use_is_an_error() {
    let check = |info: &str, expected: Option<BlockUse>| {
        let page = format!("`a.yaml`\n\n  ```{info}\n  x\n  ```\n");
        let found = parse_blocks(&page).ok().map(|mut found| found.remove(0).r#use);
        assert_eq!(found, expected, "{info}");
    };
    check("sh", Some(BlockUse::Run(0)));
    check("sh exits 3", Some(BlockUse::Run(3)));
    check("sh stays", Some(BlockUse::Stay));
    check("sh waits", Some(BlockUse::Wait));
    check("sh elsewhere: it asks a DNS", Some(BlockUse::Elsewhere("it asks a DNS".to_owned())));
    check("yaml a.yaml", Some(BlockUse::File("a.yaml".to_owned())));
    // Readers have to be told which file it is; what is shown was printed by something.
    for info in ["yaml b.yaml", "text", "yaml", "", "sh later", "sh a.yaml"] {
        check(info, None);
    }
}
