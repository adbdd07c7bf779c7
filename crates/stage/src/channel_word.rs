//! The words of scenarios for the messages of each channel.

use model::Channel;

/// What a message of a channel is called.
pub(crate) fn channel_word(channel: Channel) -> &'static str {
    match channel {
        Channel::Email => "mail",
        Channel::Push => "push",
        Channel::Hook(hook) => hook.name(),
    }
}
