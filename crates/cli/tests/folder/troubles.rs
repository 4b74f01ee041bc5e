//! What a service does when its folder or its disk is in trouble: it says so, takes no writes, and goes on by itself only where
//! nothing was lost.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::running::{Folder, singlet};
use crate::served::{Served, wait_until};

const TASKS: &str = "/todo/api/v1/tasks";

fn create(served: &Served, title: &str) -> (u16, String) {
    let body = format!(r#"{{"title": "{title}"}}"#);
    let (status, answer) = served.ask("POST", TASKS, &body).unwrap();
    (status, answer["detail"].as_str().unwrap_or_default().to_owned())
}

/// It is not ready, and writes are refused: for this reason, which names no path. The log has the path.
fn refuses_writes(served: &Served, reason: &str) {
    let (status, detail) = served.ready();
    assert_eq!(status, 503, "{detail}");
    assert!(detail.ends_with(&format!("takes no writes: {reason}")), "{detail}");
    let (status, detail) = create(served, "not taken");
    assert_eq!((status, detail.as_str()), (503, reason));
    assert!(served.log().contains("singlet-data"), "{}", served.log());
}

fn file(data: &Path, prefix: &str) -> std::path::PathBuf {
    let found = fs::read_dir(data).unwrap().map(|entry| entry.unwrap().path());
    let mut found: Vec<_> = found
        .filter(|path| path.file_name().unwrap().to_str().unwrap().starts_with(prefix))
        .collect();
    found.sort();
    found.pop().unwrap()
}

#[test]
fn a_folder_that_is_moved_away_and_back_is_served_again() {
    let folder = Folder::new("moved");
    let served = Served::start(folder.path());
    assert_eq!((served.ready().0, create(&served, "xylophone-before").0), (200, 201));
    let (data, away) = (folder.path().join("singlet-data"), folder.path().join("away"));
    fs::rename(&data, &away).unwrap();
    refuses_writes(&served, "the folder of the data was removed or replaced");
    assert!(!data.exists(), "something was made anew");
    // Reads go on.
    assert_eq!(served.ask("GET", TASKS, "").unwrap().0, 200);
    fs::rename(&away, &data).unwrap();
    assert_eq!((served.ready().0, create(&served, "xylophone-after").0), (200, 201));
    served.kill();
    let served = Served::start(folder.path());
    for title in ["xylophone-before", "xylophone-after"] {
        let (_, found) = served.ask("GET", &format!("{TASKS}?q={title}"), "").unwrap();
        assert_eq!(found["items"].as_array().map(Vec::len), Some(1), "{found}");
    }
}

#[test]
fn a_folder_that_is_removed_is_not_made_anew() {
    let folder = Folder::new("removed");
    let served = Served::start(folder.path());
    let data = folder.path().join("singlet-data");
    // A file that is made just then keeps its folder: it is removed again, as one would by hand.
    while data.exists() {
        let _ = fs::remove_dir_all(&data);
    }
    refuses_writes(&served, "the folder of the data was removed or replaced");
    fs::create_dir(&data).unwrap();
    refuses_writes(&served, "the folder of the data was removed or replaced");
    assert_eq!(fs::read_dir(&data).unwrap().count(), 0);
}

#[test]
fn a_lock_that_is_lost_stops_writes_and_nobody_else_gets_in() {
    let folder = Folder::new("unlocked");
    let served = Served::start(folder.path());
    fs::remove_file(folder.path().join("singlet-data/lock")).unwrap();
    refuses_writes(&served, "the folder of the data was removed or replaced");
    let Err(second) = Served::with(folder.path(), singlet(["serve"])) else {
        panic!("a second process serves the folder");
    };
    assert!(second.contains("open in another process"), "{second}");
}

#[test]
fn a_file_that_was_emptied_cut_or_removed_stops_writes_for_good_and_is_not_made_anew() {
    type Damage = fn(&Path);
    let damage: [(&str, Damage); 4] = [
        ("log.", |file| fs::write(file, "").unwrap()),
        ("log.", |file| fs::remove_file(file).unwrap()),
        ("base.", |file| fs::write(file, "").unwrap()),
        ("base.", |file| {
            let file = fs::File::options().write(true).open(file).unwrap();
            file.set_len(9000).unwrap();
        }),
    ];
    for (number, (prefix, damage)) in damage.into_iter().enumerate() {
        let folder = Folder::new(&format!("emptied-{number}"));
        let served = Served::start(folder.path());
        let data = folder.path().join("singlet-data");
        damage(&file(&data, prefix));
        refuses_writes(&served, "a file of the data was removed or cut short");
        served.kill();
        let Err(again) = Served::with(folder.path(), singlet(["serve"])) else {
            panic!("{number}: it serves what is not there");
        };
        assert!(again.contains("cannot be opened"), "{number}: {again}");
    }
}

/// This opening reads every page. Where one does not, or a page rots later, the read that meets it stops writes: see
/// `crates/keyspace/tests/folder.rs`.
#[test]
fn a_corrupt_page_is_not_served_and_not_written_over() {
    let folder = Folder::new("corrupt");
    assert!(Served::start(folder.path()).end());
    // All rows in the base, none in the log.
    let compacted = singlet(["compact", "singlet-data"]).current_dir(folder.path()).output();
    assert!(compacted.unwrap().status.success());
    let base = file(&folder.path().join("singlet-data"), "base.");
    let mut bytes = fs::read(&base).unwrap();
    let mut corrupted = 0;
    for page in bytes.chunks_mut(4096).skip(1) {
        if page.windows(10).any(|text| text == b"USER#tomas") {
            page.fill(0x5a);
            corrupted += 1;
        }
    }
    assert!(corrupted > 0);
    fs::write(&base, &bytes).unwrap();
    let Err(refused) = Served::with(folder.path(), singlet(["serve"])) else {
        panic!("it serves damaged pages");
    };
    assert!(
        refused.contains("cannot be opened") && refused.contains("restore a backup"),
        "{refused}"
    );
    assert!(fs::read(&base).unwrap() == bytes, "the base was changed");
}

/// On a small file system of its own where that may be made; else with a bound for the size of files.
#[test]
fn a_full_disk_stops_writes_until_there_is_room() {
    let folder = Folder::new("full");
    let data = folder.path().join("singlet-data");
    fs::create_dir(&data).unwrap();
    let mounted = Command::new("mount")
        .args(["-t", "tmpfs", "-o", "size=24m", "tmpfs"])
        .arg(&data)
        .output()
        .is_ok_and(|output| output.status.success());
    if !mounted {
        eprintln!(
            "SKIPPED: no file system can be mounted here; `crates/keyspace/tests/faults.rs` fills a simulated disk"
        );
        return;
    }
    let _unmounted = Unmount(&data);
    let served = Served::start(folder.path());
    assert_eq!(create(&served, "xylophone-before").0, 201);
    let ballast = data.join("ballast");
    // What the index of words frees while it puts its files together is taken as well, until nothing is freed any more.
    wait_until("writes go on though the disk is full", || {
        fill(&ballast);
        let full = (503, "the disk is full".to_owned());
        let refused = |title| create(&served, title) == full;
        let not_ready = || {
            let (status, detail) = served.ready();
            status == 503 && detail.ends_with("takes no writes: the disk is full")
        };
        refused("filling") && not_ready() && refused("not taken")
    });
    assert!(served.log().contains("singlet-data"), "{}", served.log());
    assert_eq!(served.ask("GET", TASKS, "").unwrap().0, 200);
    fs::remove_file(&ballast).unwrap();
    wait_until("it does not go on though there is room", || served.ready().0 == 200);
    assert_eq!(create(&served, "xylophone-after").0, 201);
    served.kill();
    let (code, report) = crate::served::examined(&data);
    assert_eq!(code, 0, "{report:#}");
    let served = Served::start(folder.path());
    let (_, found) = served.ask("GET", &format!("{TASKS}?q=xylophone-after"), "").unwrap();
    assert_eq!(found["items"].as_array().map(Vec::len), Some(1), "{found}");
    assert!(served.end());
}

/// Takes all the room that there is, beside what it has taken before.
fn fill(path: &Path) {
    use std::io::Write;
    let mut file = fs::File::options().create(true).append(true).open(path).unwrap();
    while file.write_all(&[7; 4096]).is_ok() {}
    while file.write_all(&[7]).is_ok() {}
}

struct Unmount<'a>(&'a Path);

impl Drop for Unmount<'_> {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(self.0).status();
    }
}
