//! Texts that stand in the catalogue itself, and where in the file a byte of such a text is: YAML may
//! have quoted, folded or indented it.

use expression::{TextFinding, TextScope};
use source_text::{
    SourceText, TextProblem,
    yaml::{TreeNode, TreePlace},
};

use crate::{limits::INLINE_BYTES_MAX, tree_reader::TreeReader};

/// A text and where its scalar stands.
#[derive(Clone, Debug)]
pub(crate) struct InlineText {
    pub text: String,
    pub at: TreePlace,
}

impl InlineText {
    pub fn read(reader: &mut TreeReader<'_>, node: &TreeNode, what: &str) -> Option<Self> {
        let text = reader.text(node, what)?;
        if text.len() > INLINE_BYTES_MAX {
            reader.problem(node.at, format!("{what} has {} bytes, more than {INLINE_BYTES_MAX}", text.len()));
            return None;
        }
        // A file has its line break at the end; a text has none.
        Some(Self { text: text.trim_end_matches('\n').to_string(), at: node.at })
    }

    /// A sentence, which says something.
    pub fn read_sentence(reader: &mut TreeReader<'_>, node: &TreeNode, what: &str) -> Option<Self> {
        let read = Self::read(reader, node, what)?;
        if read.text.trim().is_empty() {
            reader.problem(node.at, format!("{what} is empty, so its items would say nothing"));
            return None;
        }
        Some(read)
    }

    /// Checks it as a text of the catalogue.
    pub fn check(&self, reader: &mut TreeReader<'_>, scope: &TextScope<'_>) {
        for finding in reader.check_text(&self.text, scope) {
            reader.push(self.problem(reader.source, &finding));
        }
    }

    /// A finding in this text, as a problem of the file.
    pub fn problem(&self, source: SourceText<'_>, finding: &TextFinding) -> TextProblem {
        let problem = match self.offset(source.text, finding) {
            Some(offset) => source.problem_at(offset, finding.what.clone()),
            None => source.problem(self.at.line, self.at.column, finding.what.clone()),
        };
        problem.with_help(finding.help.clone())
    }

    /// Looks the words up in the file as it is written: the second `name` of the text is the second
    /// `name` there, however YAML wrapped it. If they are not there, only the start is known.
    fn offset(&self, file: &str, finding: &TextFinding) -> Option<usize> {
        let written = file.get(self.at.start..self.at.start.checked_add(self.at.len)?)?;
        let end = finding.offset.checked_add(finding.len.max(1))?;
        let words = self.text.get(finding.offset..end).filter(|words| !words.trim().is_empty())?;
        let nth = self.text.get(..finding.offset)?.matches(words).count();
        let (at, _) = written.match_indices(words).nth(nth)?;
        Some(self.at.start + at)
    }
}
