//! Servers that a run starts for itself and removes afterwards.
