//! What a browser's service carries and may not read: RFC 8291, the encoding `aes128gcm` of RFC 8188 with one record.

use aws_lc_rs::{
    aead::{AES_128_GCM, Aad, LessSafeKey, Nonce, UnboundKey},
    agreement::{ECDH_P256, PrivateKey, UnparsedPublicKey, agree},
    error::Unspecified,
    hkdf::{HKDF_SHA256, KeyType, Salt},
    rand,
};

/// Bytes of a message that each service has to take (RFC 8291, section 4), without what the encryption adds.
pub(super) const BYTES_MAX: usize = 4_096 - HEADER - 1 - 16;
/// The salt, the size of a record, and our public key with its length.
const HEADER: usize = 16 + 4 + 1 + POINT;
/// A point on P-256, uncompressed.
const POINT: usize = 65;
const RECORD: u32 = 4_096;
/// What follows the last record's text.
const END: u8 = 2;

/// Whom a text is for.
#[derive(Clone)]
pub(super) struct SubscriberKeys {
    /// A point on P-256, uncompressed.
    pub p256dh: Vec<u8>,
    pub auth: [u8; 16],
}

/// Encrypts a text, each time with a new key and salt.
pub(super) fn encrypt_text(text: &[u8], keys: &SubscriberKeys) -> Result<Vec<u8>, Unspecified> {
    let mut salt = [0; 16];
    rand::fill(&mut salt)?;
    encrypt_with(text, keys, &PrivateKey::generate(&ECDH_P256)?, &salt)
}

fn encrypt_with(
    text: &[u8],
    keys: &SubscriberKeys,
    ours: &PrivateKey,
    salt: &[u8; 16],
) -> Result<Vec<u8>, Unspecified> {
    if keys.p256dh.len() != POINT || keys.p256dh.first() != Some(&4) {
        return Err(Unspecified);
    }
    let public = ours.compute_public_key()?;
    let theirs = UnparsedPublicKey::new(&ECDH_P256, &keys.p256dh);
    let secret: Vec<u8> = agree(ours, theirs, Unspecified, |secret| Ok(secret.to_vec()))?;
    let both = [&b"WebPush: info\0"[..], &keys.p256dh, public.as_ref()];
    let secret: [u8; 32] = derive_bytes(&keys.auth, &secret, &both)?;
    let key: [u8; 16] = derive_bytes(salt, &secret, &[b"Content-Encoding: aes128gcm\0"])?;
    let nonce: [u8; 12] = derive_bytes(salt, &secret, &[b"Content-Encoding: nonce\0"])?;

    let mut sealed = text.to_vec();
    sealed.push(END);
    let key = LessSafeKey::new(UnboundKey::new(&AES_128_GCM, &key)?);
    key.seal_in_place_append_tag(Nonce::assume_unique_for_key(nonce), Aad::empty(), &mut sealed)?;

    let mut whole = Vec::with_capacity(HEADER + sealed.len());
    whole.extend_from_slice(salt);
    whole.extend_from_slice(&RECORD.to_be_bytes());
    whole.push(65);
    whole.extend_from_slice(public.as_ref());
    whole.append(&mut sealed);
    Ok(whole)
}

/// HKDF, to as many bytes as are asked for.
fn derive_bytes<const N: usize>(salt: &[u8], secret: &[u8], info: &[&[u8]]) -> Result<[u8; N], Unspecified> {
    let mut bytes = [0; N];
    Salt::new(HKDF_SHA256, salt).extract(secret).expand(info, HkdfLength(N))?.fill(&mut bytes)?;
    Ok(bytes)
}

struct HkdfLength(usize);

impl KeyType for HkdfLength {
    fn len(&self) -> usize {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::push::jwt::decode_base64;

    const AUTH: &str = "BTBZMqHH6r4Tts7J_aSIgg";

    fn decode_keys(p256dh: &str, auth: &str) -> SubscriberKeys {
        SubscriberKeys {
            p256dh: decode_base64(p256dh).unwrap(),
            auth: decode_base64(auth).unwrap().try_into().unwrap(),
        }
    }

    /// Section 5 of RFC 8291.
    #[test]
    fn the_example_of_the_standard_comes_out() {
        let keys = decode_keys(
            "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4",
            AUTH,
        );
        let ours = decode_base64("yfWPiYE-n46HLnH0KqZOF1fJJU3MYrct3AELtAQ-oRw").unwrap();
        let ours = PrivateKey::from_private_key(&ECDH_P256, &ours).unwrap();
        let salt = decode_base64("DGv6ra1nlYgDCS1FRnbzlw").unwrap().try_into().unwrap();
        let text = b"When I grow up, I want to be a watermelon";
        let expected = "DGv6ra1nlYgDCS1FRnbzlwAAEABBBP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27mlmlMoZIIgDll6e3vCYLocInmYWAmS6Tlz\
                        AC8wEqKK6PBru3jl7A_yl95bQpu6cVPTpK4Mqgkf1CXztLVBSt2Ks3oZwbuwXPXLWyouBWLVWGNWQexSgSxsj_Qulcy4a-fN";
        assert_eq!(encrypt_with(text, &keys, &ours, &salt).unwrap(), decode_base64(expected).unwrap());
        let (one, other) = (encrypt_text(text, &keys).unwrap(), encrypt_text(text, &keys).unwrap());
        assert_ne!(one, other, "no key is used twice");
        assert_eq!(encrypt_text(&[b'x'; BYTES_MAX], &keys).unwrap().len(), 4_096);
    }

    #[test]
    fn a_key_that_is_no_point_is_refused() {
        let good = decode_keys(
            "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4",
            AUTH,
        );
        assert!(encrypt_text(b"text", &good).is_ok());
        let off = [&good.p256dh[..64], &[0]].concat();
        // The same point in fewer bytes is not the form that the standard asks for.
        let short = [&[2], &good.p256dh[1..33]].concat();
        for p256dh in [vec![], vec![4], vec![0; 65], vec![4; 65], vec![255; 65], off, short] {
            assert!(
                encrypt_text(b"text", &SubscriberKeys { p256dh: p256dh.clone(), ..good.clone() }).is_err(),
                "{p256dh:?}"
            );
        }
    }
}
