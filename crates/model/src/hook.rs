//! Channels that are a request to an address, and no more than that: all there is of one here is its name. A line of the
//! table below is what a new one needs in this crate, and the compiler then asks for its form (`courier_net::hooks`).

macro_rules! hooks {
    ($($(#[$doc:meta])* $hook:ident $name:literal;)*) => {
        /// A channel that is a request to an address of the person's own.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        pub enum Hook {
            $($(#[$doc])* $hook,)*
        }

        impl Hook {
            pub const ALL: [Self; [$($name),*].len()] = [$(Self::$hook),*];

            /// Its name, by which the catalogue calls the channel, and the profile its address.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$hook => $name),* }
            }

            /// The profile's flag: nothing on this channel, please.
            pub const fn off(self) -> &'static str {
                match self { $(Self::$hook => concat!($name, "_off")),* }
            }

            /// The profile's field of the plan by which the person wants it.
            pub const fn plan(self) -> &'static str {
                match self { $(Self::$hook => concat!($name, "_plan")),* }
            }
        }
    };
}

hooks! {
    /// To a program, which can see who sent it.
    Webhook "webhook";
    /// To a chat, in the form that most of them take.
    Chat "chat";
}

impl Hook {
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|hook| hook.name() == text)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::{mark::Channel, profile};

    #[test]
    fn every_channel_has_names_of_its_own() {
        let other =
            [profile::ZONE, profile::EMAIL, profile::NAME, profile::LANGUAGE, profile::QUIET, profile::PLACE];
        let other =
            other.into_iter().chain([profile::PLACE_BY_ADDRESS, profile::IP_ADDRESS, profile::QUIET_UNTIL]);
        let hooks = Hook::ALL.map(Hook::name);
        let wished = Channel::ALL.iter().flat_map(|channel| [channel.off(), channel.plan()]);
        let fields: Vec<&str> = other.chain(hooks).chain(wished).collect();
        assert_eq!(fields.iter().collect::<BTreeSet<_>>().len(), fields.len(), "{fields:?}");
        assert_eq!(Channel::ALL.map(Channel::name).iter().collect::<BTreeSet<_>>().len(), Channel::ALL.len());
        for channel in Channel::ALL {
            assert_eq!(Channel::parse(channel.name()), Some(channel));
            assert!(channel.name().bytes().all(|byte| byte.is_ascii_lowercase()), "{channel}");
        }
        assert_eq!((Channel::parse("emial"), Hook::parse("email")), (None, None));
    }
}
