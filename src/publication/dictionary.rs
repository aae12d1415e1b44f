//! The data dictionary: every column of every table, from the definitions that the writer uses.

use std::fmt::Write;

use crate::archive::{Kind, TABLES};

/// A Markdown table for each Parquet file.
pub(super) fn dictionary() -> String {
    let mut text = String::new();
    for table in TABLES {
        let _ = write!(
            text,
            "### `{}`\n\n| column | type | unit | may be null | meaning |\n|---|---|---|---|---|\n",
            table.file_name()
        );
        for column in table.columns {
            let _ = writeln!(
                text,
                "| `{}` | {} | {} | {} | {} |",
                column.name,
                kind(column.kind),
                column.unit,
                if column.nullable { "yes" } else { "no" },
                column.description.replace('|', "\\|")
            );
        }
        text.push('\n');
    }
    text.trim_end().to_owned()
}

fn kind(kind: Kind) -> &'static str {
    match kind {
        Kind::Integer => "signed 64-bit integer",
        Kind::Float => "IEEE double",
        Kind::Boolean => "boolean",
        Kind::Text => "UTF-8 text",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_column_is_left_out() {
        let text = dictionary();
        for table in TABLES {
            assert!(text.contains(&format!("### `{}.parquet`", table.name)));
            for column in table.columns {
                let line = format!("| `{}` | {} | {} |", column.name, kind(column.kind), column.unit);
                assert!(text.contains(&line), "{line}");
                assert!(text.contains(column.description), "{}", column.name);
            }
        }
    }
}
