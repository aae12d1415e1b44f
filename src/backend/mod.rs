//! Where the model lives: sessions that strategies are written against, and the provisioning of servers.

pub mod postgres;
pub mod provision;
