//! SHA-256 as lower-case hexadecimal, which is how digests stand in archives, ledgers and file names.

use std::io::{self, Read};

use sha2::{Digest, Sha256};

/// Digest of bytes.
pub fn of_bytes(bytes: impl AsRef<[u8]>) -> String {
    hexadecimal(&Sha256::digest(bytes))
}

/// A digest that grows.
#[derive(Debug, Clone, Default)]
pub struct Running(Sha256);

impl Running {
    /// Takes more bytes.
    pub fn add(&mut self, bytes: impl AsRef<[u8]>) {
        self.0.update(bytes);
    }

    /// Digest of all bytes so far.
    pub fn finish(self) -> String {
        hexadecimal(&self.0.finalize())
    }
}

/// Digest of all that a source still holds.
///
/// # Errors
/// What the source says.
pub fn of_reader(mut source: impl Read) -> io::Result<String> {
    let mut running = Running::default();
    let mut buffer = vec![0; 1 << 16];
    loop {
        match source.read(&mut buffer) {
            Ok(0) => return Ok(running.finish()),
            Ok(length) => running.add(&buffer[..length]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

/// Bytes as lower-case hexadecimal.
pub fn hexadecimal(digest: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    digest
        .iter()
        .flat_map(|byte| [byte >> 4, byte & 15])
        .map(|nibble| char::from(DIGITS[usize::from(nibble)]))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digests_are_those_of_the_standard() {
        // FIPS 180-4's example.
        let abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(of_bytes("abc"), abc);
        assert_eq!(of_reader(&b"abc"[..]).unwrap(), abc);
    }
}
