//! Which PostgreSQL server to talk to, and how: parsed once, shared by the measured and the control connection.
