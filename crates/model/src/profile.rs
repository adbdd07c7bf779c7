//! Names of the fields of a person's profile that Tidings itself reads.

/// IANA zone, `Europe/Berlin`.
pub const ZONE: &str = "zone";
/// Address for the e-mail channel.
pub const EMAIL: &str = "email";
/// How to greet.
pub const NAME: &str = "name";
/// BCP 47 language tag.
pub const LANGUAGE: &str = "language";
/// A flag: no mail, please.
pub const EMAIL_OFF: &str = "email_off";
/// A flag: no push, please.
pub const PUSH_OFF: &str = "push_off";
/// Where the person is.
pub const PLACE: &str = "place";
/// The plan by which the person wants their mail, of those that a kind offers.
pub const EMAIL_PLAN: &str = "email_plan";
/// The same for push.
pub const PUSH_PLAN: &str = "push_plan";
/// The hours in which the person does not want to be disturbed, `22:00-08:00`.
pub const QUIET: &str = "quiet";
