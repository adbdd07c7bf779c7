//! IP addresses in profiles.

use serde_json::json;

use super::check_admission;

/// Of an address there is the place, roughly, and never the address.
#[test]
fn an_ip_address_becomes_a_place_or_is_refused_with_a_reason() {
    let profile = |fields: &str, expected: &str| {
        let rest = format!(r#""version":3,"data":{{"person":"ann",{fields}}}"#);
        check_admission("tidings.profile", &rest, expected);
    };
    let address = |address: &str, expected: &str| profile(&format!(r#""ip_address":{address}"#), expected);
    for known in [r#""203.0.113.7""#, r#""::ffff:203.0.113.7""#, r#""2001:db8:0:0::7""#] {
        address(known, "profile ann v3 place_by_address=52.5,13.4");
    }
    // It is the last address that counts, known or not.
    for unknown in ["null", r#""8.8.8.8""#, r#""10.0.0.1""#, r#""127.0.0.1""#, r#""::1""#, r#""2001:db9::1""#]
    {
        address(unknown, "profile ann v3 place_by_address=-");
    }
    for odd in [
        "",
        " ",
        "203.0.113",
        "203.0.113.256",
        "203.0.113.07",
        "203.0.113.7 ",
        "203.0.113.7:443",
        "[2001:db8::7]",
        "fe80::1%eth0",
        "203.0.113.0/24",
        "0x7f.1",
        "localhost",
        "2001:db8:::7",
        "203.0.113.7, 198.51.100.1",
    ] {
        let reason = "it is not an IP address, such as 203.0.113.7 or 2001:db8::7, without a port";
        address(&json!(odd).to_string(), &format!("refused /data/ip_address: {reason}"));
    }
    for strange in ["7", "true", "[]", r#"{"lat":1,"lon":2}"#] {
        address(strange, "refused /data/ip_address: it is not a text");
    }
    profile(
        r#""place_by_address":"52.5,13.4""#,
        "refused /data/place_by_address: `place_by_address` cannot be set from outside: state `ip_address`",
    );
    // Both are known then; who takes a place back takes both, unless there is an address beside it.
    let known = r#""ip_address":"203.0.113.7""#;
    profile(&format!(r#""place":"1,2",{known}"#), "profile ann v3 place=1,2 place_by_address=52.5,13.4");
    profile(&format!(r#"{known},"place":null"#), "profile ann v3 place=- place_by_address=52.5,13.4");
    profile(r#""place":null,"ip_address":null"#, "profile ann v3 place=- place_by_address=-");
}
