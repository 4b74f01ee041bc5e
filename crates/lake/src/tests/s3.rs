//! A lake in S3, as moto's server speaks it: whoever writes may end at any step there, and two may write at once.

use std::collections::BTreeMap;
use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::time::{Duration, Instant};

use bytes::Bytes;

use super::kills::{EndingFiles, assert_versions_readable, write_something};
use super::support::{MODEL, Shop, assert_alike};
use crate::s3_files::S3Files;
use crate::{FileEntry, LakeFiles};

/// How long installing and starting may take.
const START_TIME_MAX: Duration = Duration::from_secs(300);

/// A server with one bucket, which ends with the test.
struct S3Server {
    child: Child,
    port: u16,
}

impl S3Server {
    /// None, with a loud line, where there is no Python; in CI that is a failure.
    fn start() -> Option<Self> {
        let python = Command::new("python3").arg("--version").stdout(Stdio::null()).status();
        let is_ci = std::env::var("CI").is_ok_and(|ci| ci == "true");
        if !python.is_ok_and(|status| status.success()) {
            assert!(!is_ci, "python3 is needed");
            let _ = writeln!(
                io::stderr(),
                "\n!!! SKIPPED: a lake in S3 needs python3, for moto's server.\n"
            );
            return None;
        }
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let script = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../scripts/moto-server");
        let child = Command::new(script)
            .arg(port.to_string())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut server = S3Server { child, port };
        let begun = Instant::now();
        while TcpStream::connect(("127.0.0.1", port)).is_err() {
            assert!(begun.elapsed() < START_TIME_MAX, "moto's server does not start");
            if server.child.try_wait().unwrap().is_some() {
                assert!(!is_ci, "moto's server cannot be installed");
                let _ = writeln!(io::stderr(), "\n!!! SKIPPED: moto's server cannot be installed.\n");
                return None;
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        let made = server.ask("PUT /lakes HTTP/1.1");
        assert!(made.contains("200"), "{made}");
        Some(server)
    }

    fn ask(&self, request: &str) -> String {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        let host = format!("127.0.0.1:{}", self.port);
        let signed = "Authorization: AWS4-HMAC-SHA256 Credential=a/20260101/us-east-1/s3/aws4_request";
        let head = format!("{request}\r\nHost: {host}\r\n{signed}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
        stream.write_all(head.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    }

    fn files(&self, prefix: &str) -> Arc<dyn LakeFiles> {
        let variables = BTreeMap::from([
            ("AWS_ACCESS_KEY_ID".to_owned(), "a".to_owned()),
            ("AWS_SECRET_ACCESS_KEY".to_owned(), "b".to_owned()),
            ("AWS_REGION".to_owned(), "us-east-1".to_owned()),
            ("AWS_ENDPOINT_URL".to_owned(), format!("http://127.0.0.1:{}", self.port)),
        ]);
        Arc::new(WaitingFiles(
            S3Files::from_variables(&variables, "lakes", prefix).unwrap(),
        ))
    }
}

impl Drop for S3Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Files that tests may wait for wherever they are.
struct WaitingFiles(S3Files);

impl LakeFiles for WaitingFiles {
    fn put_new(&self, path: &str, bytes: &[u8]) -> io::Result<bool> {
        tokio::task::block_in_place(|| self.0.put_new(path, bytes))
    }

    fn put_over(&self, path: &str, bytes: &[u8]) -> io::Result<()> {
        tokio::task::block_in_place(|| self.0.put_over(path, bytes))
    }

    fn get(&self, path: &str) -> io::Result<Option<Bytes>> {
        tokio::task::block_in_place(|| self.0.get(path))
    }

    fn list(&self, folder: &str) -> io::Result<Vec<FileEntry>> {
        tokio::task::block_in_place(|| self.0.list(folder))
    }

    fn remove(&self, path: &str) -> io::Result<()> {
        tokio::task::block_in_place(|| self.0.remove(path))
    }
}

fn hold_files(files: &dyn LakeFiles) {
    assert!(files.put_new("a/b.txt", b"one").unwrap());
    assert!(!files.put_new("a/b.txt", b"two").unwrap(), "it is there already");
    assert_eq!(files.get("a/b.txt").unwrap().as_deref(), Some(&b"one"[..]));
    files.put_over("a/b.txt", b"three").unwrap();
    assert_eq!(files.get("a/b.txt").unwrap().as_deref(), Some(&b"three"[..]));
    assert_eq!(files.get("a/c.txt").unwrap(), None);
    assert!(files.put_new("a/c/d.txt", b"").unwrap());
    assert!(files.put_new("ab/c.txt", b"").unwrap());
    let names = |folder: &str| -> Vec<String> {
        let listed = files.list(folder).unwrap().into_iter();
        listed.map(|entry| entry.name).collect()
    };
    assert_eq!(names("a"), ["b.txt"], "folders within and beside are others");
    assert_eq!(names("none"), Vec::<String>::new());
    files.remove("a/b.txt").unwrap();
    files.remove("a/b.txt").unwrap();
    assert_eq!(names("a"), Vec::<String>::new());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lake_in_s3_is_as_in_a_folder() {
    let Some(server) = S3Server::start() else { return };
    hold_files(server.files("files").as_ref());
    let shop = Shop::open(MODEL).await;
    let files = server.files("some/where");
    let mut random = fastrand::Rng::with_seed(41);
    let (mut kills, mut round) = (0, 0_usize);
    while kills < 40 {
        let ending = Arc::new(EndingFiles {
            files: Arc::clone(&files),
            steps_left: AtomicUsize::new(1 + round % 20),
            is_done_last: (round / 20).is_multiple_of(2),
        });
        let mut follower = shop.follower(ending.clone());
        let mut ended = shop.follow(&mut follower).await.is_err();
        if !ended {
            for _ in 0..random.usize(1..4) {
                write_something(&shop, &mut random).await;
            }
            ended = shop.follow(&mut follower).await.is_err();
        }
        assert_eq!(ended, ending.is_ended(), "round {round}");
        kills += usize::from(ended);
        round += 1;
    }
    let mut followers = [shop.follower(Arc::clone(&files)), shop.follower(Arc::clone(&files))];
    let mut overtaken = 0;
    for _ in 0..40 {
        write_something(&shop, &mut random).await;
        match followers[random.usize(0..2)].follow_page(&|| shop.now()).await {
            Ok(_) => {}
            Err(error) if error.is_overtaken() => overtaken += 1,
            Err(error) => panic!("{error}"),
        }
    }
    assert!(overtaken > 2, "{overtaken}");
    let mut last = shop.follower(Arc::clone(&files));
    shop.follow(&mut last).await.unwrap();
    last.tidy(shop.now()).await.unwrap();
    for entity in ["Task", "Note"] {
        assert_alike(&shop, files.as_ref(), entity).await;
    }
    for name in ["Task", "Task_changes", "Note", "Note_changes"] {
        assert_versions_readable(files.as_ref(), name);
    }
}
