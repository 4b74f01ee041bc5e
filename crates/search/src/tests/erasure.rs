//! After rows are gone, no file has their words, their keys or their terms.

use std::path::Path;

use singlet_runtime::Attributes;

use super::support::{Bench, folder, text};
use crate::IndexPlace;
use crate::word_index::WordIndex;

fn has_bytes(folder: &Path, wanted: &str) -> Vec<String> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let bytes = std::fs::read(&path).unwrap();
        if bytes.windows(wanted.len()).any(|window| window == wanted.as_bytes()) {
            found.push(path.display().to_string());
        }
    }
    found
}

fn has_term(folder: &Path, wanted: &str) -> bool {
    let index = WordIndex::open(&IndexPlace::Folder(folder.to_owned())).unwrap();
    index.all_terms().iter().any(|term| term.contains(wanted))
}

#[tokio::test]
async fn no_file_has_what_was_deleted() {
    let place = folder();
    let mut bench = Bench::new().await;
    let titled = |title: &str| Attributes::from([("title".to_owned(), text(title))]);
    bench
        .put("secretowner", "secretid", titled("secretword and more"), None)
        .await;
    for at in 0..50 {
        bench
            .put("ada", &format!("n{at}"), titled(&format!("milk {at}")), None)
            .await;
    }
    let mut follower = bench.follower(IndexPlace::Folder(place.clone()));
    bench.follow(&mut follower).await;
    drop(follower);
    // Dictionaries of words are no plain text: they are asked, too. Keys are.
    for word in ["secretword", "secretowner", "secretid", "\u{1}secretwo"] {
        assert!(has_term(&place, word), "{word} is where it is looked for");
    }
    assert!(!has_bytes(&place, "secretid").is_empty());
    let mut follower = bench.follower(IndexPlace::Folder(place.clone()));
    bench.put("ada", "n0", titled("was otherword"), None).await;
    bench.follow(&mut follower).await;
    bench.put("ada", "n0", titled("is milk"), None).await;
    bench.remove("secretowner", "secretid").await;
    bench.follow(&mut follower).await;
    follower.erase_gone(bench.millis()).await.unwrap();
    drop(follower);
    for word in [
        "secretword",
        "secretowner",
        "secretid",
        "otherword",
        "\u{1}secretwo",
        "\u{1}ot",
    ] {
        assert!(!has_term(&place, word), "{word}");
        assert_eq!(has_bytes(&place, word), Vec::<String>::new(), "{word}");
    }
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(&place), 0o700);
        for entry in std::fs::read_dir(&place).unwrap() {
            let path = entry.unwrap().path();
            assert_eq!(mode(&path), 0o600, "{}", path.display());
        }
    }
    std::fs::remove_dir_all(place).unwrap();
}
