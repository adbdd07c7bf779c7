//! The keys of pushes: of each service all that it needs, or nothing.

use std::path::PathBuf;

use courier_net::push::{apns, fcm, web};

use super::{
    keys::{
        APNS_KEY, APNS_KEY_ID, APNS_PER_SECOND, APNS_TEAM_ID, APNS_TOPIC, APNS_URL, FCM_ACCOUNT,
        FCM_PER_SECOND, FCM_URL, PUSH_CA, WEBPUSH_HOSTS, WEBPUSH_KEY, WEBPUSH_PER_SECOND, WEBPUSH_SUBJECT,
    },
    merge::ConfigMerge,
    parse::{parse_path, parse_rate},
};

/// By which services pushes leave the house; devices of the others are not reached. Without any, pushes stay in the outbox.
#[derive(Clone, Debug, Default)]
pub struct PushConfig {
    pub ca: Option<PathBuf>,
    pub apns: Option<apns::Settings>,
    pub fcm: Option<fcm::Settings>,
    pub web: Option<web::Settings>,
}

/// Understands them.
pub fn resolve_push(merge: &mut ConfigMerge<'_>) -> PushConfig {
    let ca = merge.take(PUSH_CA, parse_path);
    let rates =
        [(APNS_PER_SECOND, APNS_KEY), (FCM_PER_SECOND, FCM_ACCOUNT), (WEBPUSH_PER_SECOND, WEBPUSH_KEY)];
    let [of_apns, of_fcm, of_web] = rates.map(|(name, needed)| {
        if !merge.secrets.contains_key(needed) {
            merge.refuse_without(name, needed);
        }
        merge.take(name, parse_rate)
    });
    let apns_url = merge.take_text(APNS_URL).unwrap_or_else(|| apns::ROOT.to_owned());
    let apns = take_with_needs(merge, APNS_KEY, [APNS_KEY_ID, APNS_TEAM_ID, APNS_TOPIC]).map(
        |(key, [key_id, team_id, topic])| apns::Settings {
            root: apns_url,
            key,
            key_id,
            team_id,
            topic,
            per_second: of_apns,
        },
    );
    let fcm_url = merge.take_text(FCM_URL).unwrap_or_else(|| fcm::ROOT.to_owned());
    let fcm = take_with_needs(merge, FCM_ACCOUNT, []).map(|(account, [])| fcm::Settings {
        root: fcm_url,
        account,
        per_second: of_fcm,
    });
    let hosts = merge.take_list(WEBPUSH_HOSTS);
    if !hosts.is_empty() && !merge.secrets.contains_key(WEBPUSH_KEY) {
        merge.refuse_without(WEBPUSH_HOSTS, WEBPUSH_KEY);
    }
    let web = take_with_needs(merge, WEBPUSH_KEY, [WEBPUSH_SUBJECT]).map(|(key, [subject])| web::Settings {
        key,
        subject,
        hosts,
        per_second: of_web,
    });
    PushConfig { ca, apns, fcm, web }
}

/// A secret and what it has no effect without: all of it or nothing.
fn take_with_needs<const N: usize>(
    merge: &mut ConfigMerge<'_>,
    secret: &'static str,
    names: [&'static str; N],
) -> Option<(secrecy::SecretString, [String; N])> {
    let Some((value, source)) = merge.secrets.get(secret).cloned() else {
        names.into_iter().for_each(|name| merge.refuse_without(name, secret));
        return None;
    };
    let mut found = Vec::new();
    for name in names {
        match merge.take_text(name) {
            Some(text) => found.push(text),
            None => merge.refuse(&source, format!("`{secret}` has no effect without `{name}`")),
        }
    }
    Some((value, found.try_into().ok()?))
}
