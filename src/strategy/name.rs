//! The strategies by name: one line each here, one in the registry, and a file.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::facts::{Facts, Ground};
use super::{
    Engine, copy, copy_fresh, instance, overlay_temp, reenact, rollback, rollback_driver, rollback_one_message,
    rollback_pipelined, rollback_serial, rollback_set, savepoint, sqlite_clone, template, template_pool, undo_function,
};

/// Names, words and facts in step.
macro_rules! strategies {
    ($($name:ident, $word:literal, $facts:expr;)+) => {
        /// A strategy's name, as manifests and tables use it.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
        #[serde(rename_all = "kebab-case")]
        #[expect(missing_docs, reason = "each one's facts say what it is")]
        pub enum StrategyName {
            $($name,)+
        }

        impl StrategyName {
            /// Every strategy there is.
            pub const ALL: &[Self] = &[$(Self::$name),+];

            /// The manifest's word.
            pub fn as_str(self) -> &'static str {
                match self { $(Self::$name => $word,)+ }
            }

            /// What is known about it.
            pub fn facts(self) -> &'static Facts {
                match self { $(Self::$name => &$facts,)+ }
            }
        }
    };
}

strategies! {
    Rollback, "rollback", rollback::FACTS;
    RollbackSerial, "rollback-serial", rollback_serial::FACTS;
    RollbackSet, "rollback-set", rollback_set::FACTS;
    RollbackPipelined, "rollback-pipelined", rollback_pipelined::FACTS;
    RollbackDriver, "rollback-driver", rollback_driver::FACTS;
    RollbackOneMessage, "rollback-one-message", rollback_one_message::FACTS;
    Savepoint, "savepoint", savepoint::FACTS;
    UndoFunction, "undo-function", undo_function::FACTS;
    Reenact, "reenact", reenact::FACTS;
    OverlayTemp, "overlay-temp", overlay_temp::FACTS;
    Copy, "copy", copy::FACTS;
    CopyFresh, "copy-fresh", copy_fresh::FACTS;
    Template, "template", template::WAL_LOG;
    TemplateFileCopy, "template-file-copy", template::FILE_COPY;
    TemplatePool, "template-pool", template_pool::FACTS;
    Instance, "instance", instance::INSTANCE;
    Branch, "branch", instance::BRANCH;
    Backup, "backup", sqlite_clone::BACKUP;
    Deserialize, "deserialize", sqlite_clone::DESERIALIZE;
    FileClone, "file-clone", sqlite_clone::FILE_CLONE;
}

impl StrategyName {
    /// The engines that can do it.
    pub fn engines(self) -> Vec<Engine> {
        self.facts().engines()
    }

    /// Round trips that one preview takes where the backend is at a distance; `None` where that depends.
    pub fn round_trips(self) -> Option<u32> {
        self.facts().round_trips
    }

    /// Those that can be done there.
    pub fn on(ground: Ground) -> impl Iterator<Item = Self> {
        let can = move |name: &Self| name.facts().refusal(ground).is_none();
        Self::ALL.iter().copied().filter(can)
    }
}

impl fmt::Display for StrategyName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
