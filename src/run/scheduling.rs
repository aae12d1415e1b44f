//! Where the operating system let a worker run: on a small machine, whether client and server share a processor moves
//! a round trip by a factor of two, so a fork says on which one it was.

use std::fs;

/// What the system says of this process at one moment; `None` where it says nothing, as on macOS.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Scheduling {
    /// The processor that it runs on.
    pub cpu: Option<i64>,
    /// Times that it was made to yield so far.
    involuntary_switches: Option<i64>,
}

impl Scheduling {
    pub fn now() -> Self {
        let read = |file: &str| fs::read_to_string(format!("/proc/self/{file}")).ok();
        Self {
            cpu: read("stat").as_deref().and_then(cpu),
            involuntary_switches: read("status").as_deref().and_then(involuntary_switches),
        }
    }

    /// Times that it was made to yield since `before`.
    pub fn switches_since(&self, before: &Self) -> Option<i64> {
        Some(self.involuntary_switches? - before.involuntary_switches?)
    }
}

/// Field 39 of `/proc/self/stat`. The second field is a name in brackets that may itself hold blanks and brackets.
fn cpu(stat: &str) -> Option<i64> {
    let (_, after_name) = stat.rsplit_once(')')?;
    after_name.split_whitespace().nth(39 - 3)?.parse().ok()
}

fn involuntary_switches(status: &str) -> Option<i64> {
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("nonvoluntary_ctxt_switches:"))?;
    line.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn proc_gives_processor_and_switches() {
        let fields: Vec<String> = (3..=52).map(|field| field.to_string()).collect();
        assert_eq!(cpu(&format!("1 (a) b) {}", fields.join(" "))), Some(39));
        assert_eq!(cpu(""), None);
        assert_eq!(involuntary_switches("x:\t1\nnonvoluntary_ctxt_switches:\t7\n"), Some(7));
        assert_eq!(involuntary_switches(""), None);
    }
}
