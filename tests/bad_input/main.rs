//! Archives that nobody should have written, and what is said of them: words that name what is wrong, and no panic.

mod cases;
mod fuzz;
mod made;
#[path = "../sealing/mod.rs"]
mod sealing;
