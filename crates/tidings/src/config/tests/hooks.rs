//! The keys of hooks: what is said in vain or is no hook is refused, and no secret is ever shown.

use model::hook::Hook;

use super::{merged, shown};

const SECRET: (&str, &str) = ("TIDINGS_HOOKS_SECRET", "correct-horse-battery-staple-again");

#[test]
fn what_is_known_of_hooks_is_what_was_said() {
    let file = "hooks: {channels: [webhook, chat], hosts: [chat.lan]}";
    let known = merged(file, &[SECRET], &[]).unwrap();
    let hooks = &known.config.hooks;
    assert_eq!(hooks.channels, [Hook::Webhook, Hook::Chat]);
    assert_eq!(hooks.hosts, ["chat.lan"]);
    assert_eq!(shown(&known, "hooks.secret"), "*** (environment TIDINGS_HOOKS_SECRET)");
    assert!(!format!("{:?}", known.config).contains("correct-horse"));
    let none = merged("", &[], &[]).unwrap().config.hooks;
    assert!(none.channels.is_empty() && none.keys.is_empty());
    assert!(!merged("", &[SECRET], &[]).unwrap().config.hooks.keys.is_empty(), "a key ahead of its use");
}

#[test]
fn what_is_no_hook_is_refused() {
    let check = |file: &str, environment: &[(&str, &str)], expected: &str| {
        let refused = merged(file, environment, &[]).unwrap_err().to_string();
        assert!(refused.contains(expected), "{refused:?} does not say {expected:?}");
        assert!(!refused.contains("correct-horse"), "{refused}");
    };
    check("hooks: {channels: [webhook, pager]}", &[], "none of `webhook`");
    check("hooks: {channels: [email]}", &[], "none of `webhook`");
    check("hooks: {hosts: [a.lan]}", &[], "`hooks.hosts` is of no use without `hooks.channels`");
    check("", &[("TIDINGS_HOOKS_SECRET", "correct-horse")], "at least 32 characters");
}
