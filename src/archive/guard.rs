//! Damaged files make errors, not panics.
//!
//! The Parquet library panics on some bytes that are no Parquet. Sums find damage before it reads any, but a file
//! under new sums may hold anything.

use std::cell::Cell;
use std::panic::{self, AssertUnwindSafe};
use std::path::Path;
use std::sync::Once;

use super::error::ReadError;

thread_local! {
    static GUARDED: Cell<bool> = const { Cell::new(false) };
}

/// Lets the library work on the file at `path`; a panic becomes [`ReadError::Decode`] and prints nothing.
pub(super) fn guarded<T>(path: &Path, work: impl FnOnce() -> Result<T, ReadError>) -> Result<T, ReadError> {
    hush();
    let before = GUARDED.replace(true);
    let outcome = panic::catch_unwind(AssertUnwindSafe(work));
    GUARDED.set(before);
    outcome.unwrap_or_else(|_| {
        Err(ReadError::Decode {
            path: path.to_owned(),
            message: "the Parquet library can make no sense of it".to_owned(),
        })
    })
}

/// Panics elsewhere, and of other threads, are told as ever.
fn hush() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let told = panic::take_hook();
        panic::set_hook(Box::new(move |panic| {
            if !GUARDED.get() {
                told(panic);
            }
        }));
    });
}
