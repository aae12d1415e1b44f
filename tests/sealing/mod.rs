//! Sealing a run again after it was bent, as somebody would who wants the change not to show.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use preview_cost::digest;

/// Writes the last line of the chain, and the sums, for the files as they are now.
pub fn seal_again(run: &Path) {
    let mut files: BTreeMap<String, String> = fs::read_dir(run)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.is_file())
        .map(|path| (path.file_name().unwrap().to_str().unwrap().to_owned(), sum(&path)))
        .collect();
    files.remove("SHA256SUMS");
    files.remove("chain.jsonl");
    let chain = run.join("chain.jsonl");
    let text = fs::read_to_string(&chain).unwrap();
    let (before, seal) = text.trim_end().rsplit_once('\n').unwrap();
    let mut seal: serde_json::Value = serde_json::from_str(seal).unwrap();
    seal["files"] = serde_json::to_value(&files).unwrap();
    fs::write(&chain, format!("{before}\n{seal}\n")).unwrap();
    files.insert("chain.jsonl".to_owned(), sum(&chain));
    let lines = files.iter().map(|(name, sum)| format!("{sum}  {name}\n"));
    fs::write(run.join("SHA256SUMS"), lines.collect::<String>()).unwrap();
}

fn sum(path: &Path) -> String {
    digest::of_bytes(fs::read(path).unwrap())
}
