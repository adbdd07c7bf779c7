//! What the codes of a failed delivery mean (RFC 3463): whether the address is dead, or something else was wrong.

use model::returns::ReturnSort;

/// A failed delivery: by its status, and by what the other server said where that says too little.
pub fn sort_of_status(status: &str, said: &str) -> ReturnSort {
    let mut parts = status.split('.').map(|part| part.trim().parse::<u16>().ok());
    let (class, subject, detail) =
        (parts.next().flatten(), parts.next().flatten().unwrap_or(0), parts.next().flatten().unwrap_or(0));
    match (class.or_else(|| class_of(said)), subject, detail) {
        // Our own address was not liked, which says nothing of theirs; or it is somebody else's turn to deliver.
        (Some(5), 1, 5 | 7 | 8 | 9) => ReturnSort::Soft,
        // No such box, no such domain, no domain that takes mails.
        (Some(5), 1, 1..) => ReturnSort::Hard,
        // The box is there and closed for good.
        (Some(5), 2, 1) => ReturnSort::Hard,
        // What says nothing more, and what is used for everything: the words decide.
        (Some(5), 0 | 1, _) | (Some(5), 4, 1) | (Some(5), 2, 0) if is_unknown(said) => ReturnSort::Hard,
        // A full box, a mail that is too long, a server in trouble, a policy: of another mail it need not be true.
        _ => ReturnSort::Soft,
    }
}

/// The class of the other server's own code.
fn class_of(said: &str) -> Option<u16> {
    let digits = said.split(|c: char| !c.is_ascii_digit()).find(|digits| digits.len() == 3)?;
    digits[..1].parse().ok()
}

/// The words that servers have for somebody whom they do not know.
const UNKNOWN: [&str; 10] = [
    "user unknown",
    "unknown user",
    "unknown recipient",
    "no such user",
    "no such recipient",
    "no mailbox here",
    "mailbox not found",
    "recipient not found",
    "does not exist",
    "address rejected: access denied",
];

fn is_unknown(said: &str) -> bool {
    let said = said.to_lowercase();
    UNKNOWN.iter().any(|words| said.contains(words))
}
