//! The keys of hooks: what is said in vain or is no hook is refused, and no secret is ever shown.

use model::hook::Hook;

use super::{merge_values, show_value};

const SECRET: (&str, &str) = ("TIDINGS_HOOKS_SECRET", "correct-horse-battery-staple-again");

#[test]
fn what_is_known_of_hooks_is_what_was_said() {
    let file = "hooks: {channels: [webhook, chat], hosts: [chat.lan]}";
    let known = merge_values(file, &[SECRET], &[]).unwrap();
    let hooks = &known.config.hooks;
    assert_eq!(hooks.channels, [Hook::Webhook, Hook::Chat]);
    assert_eq!(hooks.hosts, ["chat.lan"]);
    assert_eq!(show_value(&known, "hooks.secret"), "*** (environment TIDINGS_HOOKS_SECRET)");
    assert!(!format!("{:?}", known.config).contains("correct-horse"));
    let none = merge_values("", &[], &[]).unwrap().config.hooks;
    assert!(none.channels.is_empty() && none.keys.is_empty());
    assert!(
        !merge_values("", &[SECRET], &[]).unwrap().config.hooks.keys.is_empty(),
        "a key ahead of its use"
    );
}

#[test]
fn what_is_no_hook_is_refused() {
    let check = |file: &str, environment: &[(&str, &str)], expected: &str| {
        let refused = merge_values(file, environment, &[]).unwrap_err().to_string();
        assert!(refused.contains(expected), "{refused:?} does not say {expected:?}");
        assert!(!refused.contains("correct-horse"), "{refused}");
    };
    check("hooks: {channels: [webhook, pager]}", &[], "not one of `webhook`");
    check("hooks: {channels: [email]}", &[], "not one of `webhook`");
    check("hooks: {hosts: [a.lan]}", &[], "`hooks.hosts` has no effect without `hooks.channels`");
    check("", &[("TIDINGS_HOOKS_SECRET", "correct-horse")], "at least 32 characters");
}
