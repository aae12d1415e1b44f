//! Evidence, from outside, of when a manifest existed: a file beside it that somebody else made from its SHA-256.
//!
//! `x.toml.ots` is a proof of OpenTimestamps, `x.toml.tsr` a reply of a time-stamping authority (RFC 3161). What is checked
//! here, without a network, is that the evidence is about this very manifest. Whether it is true is **not** checked:
//! neither the authority's signature nor the attestation in Bitcoin. `ots verify` and `openssl ts -verify` do that.

use std::io;
use std::path::{Path, PathBuf};

use der::asn1::{AnyRef, GeneralizedTime};
use der::{Decode, Reader, SliceReader, Tag, Tagged};
use thiserror::Error;

use crate::digest;

/// Kinds of evidence, by what is added to the manifest's file name.
const ENDINGS: [(&str, ReadStamp); 2] = [("ots", opentimestamps), ("tsr", rfc_3161)];

/// Reads the digest that evidence is about.
type ReadStamp = fn(&[u8]) -> Option<Stamp>;

/// What the header of every OpenTimestamps proof begins with.
const OTS_MAGIC: &[u8] = b"\x00OpenTimestamps\x00\x00Proof\x00\xbf\x89\xe2\xe8\x84\xe8\x92\x94";
/// The version of the proof, and the operation SHA-256.
const OTS_SHA256: &[u8] = &[0x01, 0x08];
/// SHA-256's object identifier, 2.16.840.1.101.3.4.2.1.
const SHA256: &[u8] = &[0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x02, 0x01];
/// Bytes of a SHA-256.
const DIGEST_BYTES: usize = 32;

/// What evidence says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stamp {
    /// SHA-256 of what it is about, lower-case hexadecimal.
    pub about: String,
    /// The time that it names, RFC 3339; a proof of OpenTimestamps names none by itself.
    pub time: Option<String>,
}

/// Evidence that goes into a run's directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EvidenceFile {
    /// Its name there: `manifest.toml.ots` or `manifest.toml.tsr`.
    pub name: String,
    /// Its content.
    pub bytes: Vec<u8>,
    /// SHA-256 of the content, lower-case hexadecimal.
    pub sha256: String,
    /// What it says.
    pub stamp: Stamp,
}

/// Why evidence is refused.
#[derive(Debug, Error)]
pub enum TimestampError {
    /// The system refused.
    #[error("cannot read {path}: {source}")]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// It is not what its name says.
    #[error("{path} is no time-stamp over a SHA-256 that this program can read; make it anew, or remove it")]
    Unreadable {
        /// The file.
        path: PathBuf,
    },
    /// It is about something else.
    #[error(
        "{path} is about the SHA-256 {found}, and the manifest's is {expected}; stamp this text, or remove the file"
    )]
    OtherDigest {
        /// The file.
        path: PathBuf,
        /// What it is about.
        found: String,
        /// The manifest's.
        expected: String,
    },
}

/// The evidence that lies beside a manifest. None is required.
///
/// # Errors
/// [`TimestampError`]: evidence that is there must be readable and about this manifest.
pub fn evidence_beside(manifest: &Path, manifest_sha256: &str) -> Result<Vec<EvidenceFile>, TimestampError> {
    let mut found = Vec::new();
    for (ending, read) in ENDINGS {
        let mut path = manifest.as_os_str().to_owned();
        path.push(format!(".{ending}"));
        let path = PathBuf::from(path);
        let bytes = match std::fs::read(&path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            Err(source) => return Err(TimestampError::Io { path, source }),
        };
        let Some(stamp) = read(&bytes) else {
            return Err(TimestampError::Unreadable { path });
        };
        if stamp.about != manifest_sha256 {
            return Err(TimestampError::OtherDigest {
                path,
                found: stamp.about,
                expected: manifest_sha256.to_owned(),
            });
        }
        found.push(EvidenceFile {
            name: format!("manifest.toml.{ending}"),
            sha256: digest::of_bytes(&bytes),
            bytes,
            stamp,
        });
    }
    Ok(found)
}

/// A proof begins with its magic bytes, version, operation and digest.
fn opentimestamps(bytes: &[u8]) -> Option<Stamp> {
    let digest = bytes.strip_prefix(OTS_MAGIC)?.strip_prefix(OTS_SHA256)?;
    Some(Stamp {
        about: digest::hexadecimal(digest.get(..DIGEST_BYTES)?),
        time: None,
    })
}

/// A reply holds, five layers deep, the imprint of what was stamped: `TimeStampResp`, `ContentInfo`, `SignedData`,
/// `EncapsulatedContentInfo`, `TSTInfo`.
fn rfc_3161(bytes: &[u8]) -> Option<Stamp> {
    let reply = parts(AnyRef::from_der(bytes).ok()?, Tag::Sequence)?;
    let status = parts(*reply.first()?, Tag::Sequence)?;
    // 0 is granted, 1 is granted with changes.
    if !matches!(status.first()?.value(), [0 | 1]) {
        return None;
    }
    let signed = inner(*parts(*reply.get(1)?, Tag::Sequence)?.get(1)?)?;
    let content = parts(*parts(signed, Tag::Sequence)?.get(2)?, Tag::Sequence)?;
    let octets = inner(*content.get(1)?)?;
    let info = parts(AnyRef::from_der(octets.value()).ok()?, Tag::Sequence)?;
    let imprint = parts(*info.get(2)?, Tag::Sequence)?;
    let algorithm = parts(*imprint.first()?, Tag::Sequence)?;
    let digest = imprint.get(1)?.value();
    if algorithm.first()?.value() != SHA256 || digest.len() != DIGEST_BYTES {
        return None;
    }
    Some(Stamp {
        about: digest::hexadecimal(digest),
        time: info.get(4).and_then(time),
    })
}

fn time(of: &AnyRef<'_>) -> Option<String> {
    let time = of.decode_as::<GeneralizedTime>().ok()?;
    Some(time.to_date_time().to_string())
}

/// What a value of this type is made of.
fn parts(of: AnyRef<'_>, tag: Tag) -> Option<Vec<AnyRef<'_>>> {
    if of.tag() != tag {
        return None;
    }
    let mut reader = SliceReader::new(of.value()).ok()?;
    let mut parts = Vec::new();
    while !reader.is_finished() {
        parts.push(AnyRef::decode(&mut reader).ok()?);
    }
    Some(parts)
}

/// The one value within an explicit tag.
fn inner(of: AnyRef<'_>) -> Option<AnyRef<'_>> {
    AnyRef::from_der(of.value()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn proof(digest: &[u8]) -> Vec<u8> {
        [OTS_MAGIC, OTS_SHA256, digest, b"\xf0\x10 and so on"].concat()
    }

    /// A value in DER, of at most 65 535 bytes.
    fn der(tag: u8, parts: &[&[u8]]) -> Vec<u8> {
        let content = parts.concat();
        let [high, low] = (content.len() as u16).to_be_bytes();
        let length = match content.len() {
            0..=127 => vec![low],
            128..=255 => vec![0x81, low],
            _ => vec![0x82, high, low],
        };
        [&[tag], &length[..], &content].concat()
    }

    /// A reply as an authority makes it, unsigned.
    fn reply(status: u8, algorithm: &[u8], digest: &[u8]) -> Vec<u8> {
        let imprint = der(
            0x30,
            &[&der(0x30, &[&der(6, &[algorithm]), &[5, 0]]), &der(4, &[digest])],
        );
        let time = der(0x18, &[b"20261130203000Z"]);
        let info = der(0x30, &[&[2, 1, 1], &der(6, &[&[0x2a, 3]]), &imprint, &[2, 1, 9], &time]);
        let content = der(0x30, &[&der(6, &[&[0x2a, 4]]), &der(0xa0, &[&der(4, &[&info])])]);
        let signed = der(0x30, &[&[2, 1, 3], &der(0x31, &[]), &content, &der(0x31, &[])]);
        let token = der(0x30, &[&der(6, &[&[0x2a, 5]]), &der(0xa0, &[&signed])]);
        der(0x30, &[&der(0x30, &[&[2, 1, status]]), &token])
    }

    #[test]
    fn a_proof_tells_what_it_is_about() {
        let digest = [0xab; DIGEST_BYTES];
        let stamp = opentimestamps(&proof(&digest)).unwrap();
        assert_eq!((stamp.about, stamp.time), ("ab".repeat(32), None));
        assert_eq!(OTS_MAGIC.len(), 31);
        for length in 0..OTS_MAGIC.len() + OTS_SHA256.len() + DIGEST_BYTES {
            assert_eq!(opentimestamps(&proof(&digest)[..length]), None);
        }
    }

    #[test]
    fn a_reply_tells_what_it_is_about_and_when() {
        let digest = [0xcd; DIGEST_BYTES];
        let stamp = rfc_3161(&reply(0, SHA256, &digest)).unwrap();
        assert_eq!(stamp.about, "cd".repeat(32));
        assert_eq!(stamp.time.as_deref(), Some("2026-11-30T20:30:00Z"));
        assert_eq!(rfc_3161(&reply(2, SHA256, &digest)), None, "a refusal");
        assert_eq!(rfc_3161(&reply(0, &SHA256[..8], &digest)), None, "another digest");
        assert_eq!(rfc_3161(&reply(0, SHA256, &digest[..20])), None);
        let whole = reply(0, SHA256, &digest);
        for length in 0..whole.len() {
            assert_eq!(rfc_3161(&whole[..length]), None);
        }
    }

    #[test]
    fn evidence_must_be_about_the_manifest() {
        let directory = tempfile::tempdir().unwrap();
        let manifest = directory.path().join("m.toml");
        let expected = "ab".repeat(32);
        assert_eq!(evidence_beside(&manifest, &expected).unwrap(), []);
        let beside = |ending: &str| directory.path().join(format!("m.toml.{ending}"));
        std::fs::write(beside("ots"), proof(&[0xab; DIGEST_BYTES])).unwrap();
        let found = evidence_beside(&manifest, &expected).unwrap();
        assert_eq!((found.len(), found[0].name.as_str()), (1, "manifest.toml.ots"));
        assert_eq!(found[0].sha256, digest::of_bytes(proof(&[0xab; DIGEST_BYTES])));
        std::fs::write(beside("tsr"), reply(0, SHA256, &[0xcd; DIGEST_BYTES])).unwrap();
        let error = evidence_beside(&manifest, &expected).unwrap_err().to_string();
        assert!(error.contains(&expected) && error.contains(&"cd".repeat(32)), "{error}");
        std::fs::write(beside("tsr"), "not DER").unwrap();
        let error = evidence_beside(&manifest, &expected).unwrap_err();
        assert!(matches!(error, TimestampError::Unreadable { .. }), "{error}");
    }
}
