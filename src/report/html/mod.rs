//! A run as one page that needs nothing else: no network, no script, no fonts. It opens from disk, prints, and reads in
//! light and dark and on a phone.

mod checking;
mod page;
mod surroundings;

pub use page::{Told, html};
