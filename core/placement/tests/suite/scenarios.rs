//! Every `tests/scenarios/*.txt` is played and compared with the `.out` beside
//! it. `UPDATE=1 cargo test -p plimsoll-placement scenarios` writes those anew.

mod play;

use std::fs::{read_dir, read_to_string, write};
use std::path::{Path, PathBuf};

use play::play;

#[test]
fn scenarios_play_as_written() {
    let scripts = scripts();
    assert!(scripts.len() >= 12, "scenarios are missing: {scripts:?}");
    let changed: Vec<PathBuf> =
        scripts.into_iter().filter(|script| !plays_as_before(script)).collect();
    assert!(changed.is_empty(), "changed, see above: {changed:#?}");
}

fn scripts() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/scenarios");
    let mut files: Vec<PathBuf> =
        read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|path| path.extension().is_some_and(|extension| extension == "txt"));
    files.sort();
    files
}

fn plays_as_before(script: &Path) -> bool {
    let golden = script.with_extension("out");
    let played = play(&read_to_string(script).unwrap());
    if std::env::var_os("UPDATE").is_some() {
        write(&golden, &played).unwrap();
    }
    let expected = read_to_string(&golden).unwrap_or_default();
    if played != expected {
        println!("--- {} is\n{played}--- but was\n{expected}", golden.display());
    }
    played == expected
}
