//! Servers that a run starts for itself: they answer, and nothing of them is left, however the run ends.

mod container;
mod ephemeral;
mod stand_in;
mod support;
