//! What may be archived of texts that people write: the kernel's command line, mount options, compiler flags.
//!
//! The names of parameters say how a machine is set up and are kept. Their values are kept too, unless they could
//! be a secret or could name a machine, a person, a disk or a place: those become `***`. Masking too much costs
//! little here, masking too little can't be undone.

use std::net::IpAddr;

/// Stands for a value that is not archived.
pub(super) const MASK: &str = "***";

/// Parts of a parameter's name whose value is never kept.
const PRIVATE_NAMES: &[&str] = &[
    "passw",
    "passphrase",
    "secret",
    "token",
    "key",
    "auth",
    "cred",
    "user",
    "host",
    "uuid",
    "addr",
    "domain",
    "luks",
    "serial",
    "email",
    "sig",
];

/// Whole names of parameters whose value is never kept.
const PRIVATE_PARAMETERS: &[&str] = &["root", "resume", "ip", "nameserver", "label", "name"];

/// The longest run of letters and digits together that is taken for a word and not for a key.
const LONGEST_WORD: usize = 15;

/// A kernel command line with its private values masked. What follows `--` goes to the first process and not to
/// the kernel, so none of it is kept.
pub(super) fn mask_arguments(line: &str) -> String {
    let words = split_quoted(line);
    let kernel: Vec<String> = words
        .iter()
        .take_while(|word| *word != "--")
        .map(|word| mask_parameter(word))
        .collect();
    let rest = if kernel.len() < words.len() { " -- ***" } else { "" };
    format!("{}{rest}", kernel.join(" "))
}

/// Comma-separated options with their private values masked.
pub(super) fn mask_options(options: &str) -> String {
    options.split(',').map(mask_parameter).collect::<Vec<_>>().join(",")
}

/// `name=value` or a bare word, with whatever is private in it masked.
pub(super) fn mask_parameter(parameter: &str) -> String {
    match parameter.split_once('=') {
        Some((name, value)) if is_private_name(name) || is_private_value(value) => {
            format!("{name}={MASK}")
        }
        None if is_private_value(parameter) => MASK.to_owned(),
        _ => parameter.to_owned(),
    }
}

fn is_private_name(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    PRIVATE_PARAMETERS.contains(&name.as_str()) || PRIVATE_NAMES.iter().any(|part| name.contains(part))
}

/// A path, an address, or something as long and mixed as a key.
fn is_private_value(value: &str) -> bool {
    value.contains(['/', '\\', '@', '"', '\''])
        || value.split([',', ';']).any(|part| part.parse::<IpAddr>().is_ok())
        || value
            .split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '-' && letter != '_')
            .any(is_key_like)
}

fn is_key_like(run: &str) -> bool {
    run.len() > LONGEST_WORD
        && run.bytes().any(|byte| byte.is_ascii_digit())
        && run.bytes().any(|byte| byte.is_ascii_alphabetic())
}

/// Words at white space, where double quotes hold a word together.
fn split_quoted(line: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word = String::new();
    let mut quoted = false;
    for letter in line.chars() {
        quoted ^= letter == '"';
        if letter.is_whitespace() && !quoted {
            words.push(std::mem::take(&mut word));
        } else {
            word.push(letter);
        }
    }
    words.push(word);
    words.retain(|word| !word.is_empty());
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tuning_is_kept() {
        let line = "quiet mitigations=auto,no_guest_host isolcpus=managed_irq,domain,2-31 nohz_full=1-15,17-31 \
                    crashkernel=1G-4G:192M,4G-64G:256M console=ttyS0,115200 iommu.passthrough=1 intel_pstate=disable";
        assert_eq!(mask_arguments(line), line);
    }

    #[test]
    fn secrets_places_and_names_are_masked() {
        for (raw, masked) in [
            ("root=UUID=0f3c2a10-1111-2222-3333-444455556666", "root=***"),
            ("BOOT_IMAGE=/boot/vmlinuz-6.1.0-13-amd64", "BOOT_IMAGE=***"),
            ("systemd.hostname=alices-laptop", "systemd.hostname=***"),
            ("ip=10.0.0.2::10.0.0.1:255.255.255.0:box:eth0", "ip=***"),
            ("dns=10.0.0.2", "dns=***"),
            ("agent.password=hunter2", "agent.password=***"),
            ("x=a8f5f167f44f4964e6c998dee827110c", "x=***"),
            ("note=\"my own words\" quiet", "note=*** quiet"),
            ("/sbin/setup quiet", "*** quiet"),
        ] {
            assert_eq!(mask_arguments(raw), masked);
        }
    }

    #[test]
    fn what_goes_to_the_first_process_is_dropped() {
        assert_eq!(mask_arguments("quiet -- --password hunter2"), "quiet -- ***");
    }

    #[test]
    fn mount_options_lose_their_paths_and_addresses() {
        let overlay = "rw,relatime,lowerdir=/var/lib/docker/l/A:/home/alice/b,upperdir=/home/alice/c,workdir=/w";
        assert_eq!(
            mask_options(overlay),
            "rw,relatime,lowerdir=***,upperdir=***,workdir=***"
        );
        assert_eq!(
            mask_options("rw,vers=4.2,clientaddr=10.1.2.3,username=alice"),
            "rw,vers=4.2,clientaddr=***,username=***"
        );
        assert_eq!(
            mask_options("rw,discard,resuid=65534,data=ordered"),
            "rw,discard,resuid=65534,data=ordered"
        );
    }
}
