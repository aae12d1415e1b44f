//! Exit codes, in one place. README lists them; a test holds the two together.

use std::process::ExitCode;

/// How the program ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// All went well.
    Ok,
    /// Something went wrong that no other code names.
    Other,
    /// The command line or the manifest is wrong; nothing was started.
    Usage,
    /// The backend can't be had: no server, no engine, no binaries, no permission; nothing was measured.
    Backend,
    /// The run broke off; what was measured is on disk.
    CutShort,
    /// An archive can't be read, or is not what it was.
    Archive,
    /// The run is whole and sealed, but previews failed, or answers differed, or a preview persisted.
    Unclean,
    /// Something could not be written.
    Write,
    /// Figures were printed, and there is something to know about them that `--strict` does not let pass.
    Warned,
    /// The run is what it says, and a claim about it fails.
    ClaimFailed,
    /// The run, or what is said about it, was altered.
    Tampered,
    /// The run is whole as far as it goes, and did not come to its end.
    Incomplete,
    /// Whether the run is what it says can't be told from what is here.
    Unverifiable,
    /// The user broke off.
    Interrupted,
}

impl Exit {
    /// Every exit, with its code and its meaning.
    pub const ALL: [(Self, u8, &'static str); 14] = [
        (Self::Ok, 0, "all went well"),
        (Self::Other, 1, "something went wrong that no other code names"),
        (
            Self::Usage,
            2,
            "the command line or the manifest is wrong; nothing was started",
        ),
        (
            Self::Backend,
            3,
            "the backend can't be had (no server, engine, binaries or permission); nothing was measured",
        ),
        (Self::CutShort, 4, "the run broke off; what was measured is on disk"),
        (Self::Archive, 5, "an archive can't be read, or is not what it was"),
        (
            Self::Unclean,
            6,
            "the run is sealed, but previews failed, answers differed or a preview persisted",
        ),
        (
            Self::Write,
            7,
            "something could not be written (no permission, disk full)",
        ),
        (
            Self::Warned,
            8,
            "figures were printed with warnings, and --strict asked for none",
        ),
        (
            Self::ClaimFailed,
            9,
            "verify: the run is what it says, and a claim about it fails",
        ),
        (
            Self::Tampered,
            10,
            "verify: the run was altered, or is not what it says",
        ),
        (
            Self::Incomplete,
            11,
            "verify: what is there holds, and the run did not come to its end",
        ),
        (
            Self::Unverifiable,
            12,
            "verify: it can't be told from what is here (files or the ledger are missing, or the run is too old)",
        ),
        (
            Self::Interrupted,
            130,
            "broken off by the user; what was measured is on disk",
        ),
    ];

    /// The number.
    pub fn code(self) -> u8 {
        Self::ALL
            .iter()
            .find(|(exit, _, _)| *exit == self)
            .map_or(1, |(_, code, _)| *code)
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit.code())
    }
}
