//! The little of a shell that transcripts need: `singlet …`, `singlet serve … &`, `name=$(singlet …)` and `curl`.

use std::collections::BTreeMap;
use std::fs;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use super::running::{Folder, singlet};

/// Where transcripts say that a server listens; the test takes a port that is free.
const WRITTEN_ADDRESS: &str = "127.0.0.1:8080";

/// How long a server may take to listen.
const START_MAX: Duration = Duration::from_secs(60);

/// What the commands of one transcript share.
pub struct Shell<'a> {
    folder: &'a Folder,
    variables: BTreeMap<String, String>,
    address: String,
    server: Option<Child>,
}

impl<'a> Shell<'a> {
    /// A shell in a folder.
    pub fn new(folder: &'a Folder) -> Self {
        Shell {
            folder,
            variables: BTreeMap::new(),
            address: WRITTEN_ADDRESS.to_owned(),
            server: None,
        }
    }

    /// Runs a command; what it prints, and `? CODE` where that is not 0.
    pub fn run(&mut self, command: &str) -> String {
        let printed = match command.split_once("=$(") {
            Some((name, rest)) if name.chars().all(|char| char.is_ascii_alphanumeric()) => {
                let inner = rest
                    .strip_suffix(')')
                    .expect("`name=$(command)` ends with its parenthesis");
                let value = self.singlet(inner);
                assert!(!value.contains("? "), "`{inner}` fails:\n{value}");
                self.variables.insert(name.to_owned(), value.trim_end().to_owned());
                String::new()
            }
            _ if command.starts_with("curl ") => self.curl(command),
            _ if command == "kill %1" => self.stop(),
            _ => match command.strip_suffix(" &") {
                Some(command) => self.serve(command),
                None => self.singlet(command),
            },
        };
        let printed = printed.replace(&self.address, WRITTEN_ADDRESS);
        // No trailing white space in files of the repository.
        printed.lines().map(|line| format!("{}\n", line.trim_end())).collect()
    }

    fn singlet(&self, command: &str) -> String {
        let (command, input) = command
            .split_once(" < ")
            .map_or((command, None), |(command, file)| (command, Some(file)));
        let input = match input {
            Some(file) => Stdio::from(fs::File::open(self.folder.path().join(file)).unwrap()),
            None => Stdio::null(),
        };
        let output = singlet(self.arguments(command))
            .current_dir(self.folder.path())
            .stdin(input)
            .output()
            .unwrap();
        let mut text = String::from_utf8(output.stdout).unwrap();
        text.push_str(&String::from_utf8(output.stderr).unwrap());
        if !output.status.success() {
            text.push_str(&format!("? {}\n", output.status.code().unwrap_or(-1)));
        }
        text
    }

    /// The arguments of `singlet …`.
    fn arguments(&self, command: &str) -> Vec<String> {
        let mut words = self.words(command).into_iter();
        let first = words.next();
        assert_eq!(
            first.as_deref(),
            Some("singlet"),
            "a transcript runs `singlet` or `curl`, not `{command}`"
        );
        words.map(|word| word.replace(WRITTEN_ADDRESS, &self.address)).collect()
    }

    /// Starts a server and waits until it listens.
    fn serve(&mut self, command: &str) -> String {
        self.stop();
        let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        self.address = free.to_string();
        let address = self.address.clone();
        let child = singlet(self.arguments(command))
            .args(["--listen", &address])
            .current_dir(self.folder.path())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(fs::File::create(self.folder.path().join("server.log")).unwrap())
            .spawn()
            .unwrap();
        let child = self.server.insert(child);
        let begin = Instant::now();
        while TcpStream::connect(&address).is_err() {
            let log = || fs::read_to_string(self.folder.path().join("server.log")).unwrap_or_default();
            let ended = child.try_wait().unwrap();
            assert!(ended.is_none(), "`{command}` ended:\n{}", log());
            assert!(begin.elapsed() < START_MAX, "`{command}` does not listen:\n{}", log());
            std::thread::sleep(Duration::from_millis(20));
        }
        String::new()
    }

    fn stop(&mut self) -> String {
        if let Some(mut child) = self.server.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
        String::new()
    }

    /// `curl -s [-H HEADER] [-X METHOD] [--json BODY] URL`, over a real socket.
    fn curl(&self, command: &str) -> String {
        let mut words = self.words(command).into_iter().skip(1);
        let (mut method, mut headers, mut body, mut url) = (None, String::new(), String::new(), String::new());
        while let Some(word) = words.next() {
            match word.as_str() {
                "-s" => {}
                "-H" => headers.push_str(&format!("{}\r\n", words.next().unwrap())),
                "-X" => method = words.next(),
                "--json" => {
                    body = words.next().unwrap();
                    headers.push_str("Content-Type: application/json\r\nAccept: application/json\r\n");
                    method = method.or_else(|| Some("POST".to_owned()));
                }
                option if option.starts_with('-') => panic!("transcripts know no `curl {option}`"),
                _ => url = word.replace(WRITTEN_ADDRESS, &self.address),
            }
        }
        let path = url
            .strip_prefix(&format!("http://{}", self.address))
            .unwrap_or_else(|| panic!("`{url}` is not the transcript's server"));
        let method = method.unwrap_or_else(|| "GET".to_owned());
        let mut socket = TcpStream::connect(&self.address).unwrap();
        let request = format!(
            "{method} {path} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n{headers}Content-Length: {}\r\n\r\n{body}",
            self.address,
            body.len()
        );
        socket.write_all(request.as_bytes()).unwrap();
        let mut answer = String::new();
        socket.read_to_string(&mut answer).unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        assert!(!head.to_lowercase().contains("transfer-encoding"), "{head}");
        format!("{}\n", body.trim_end())
    }

    /// Words as a shell makes them: quotes, and `$name` outside single ones.
    fn words(&self, command: &str) -> Vec<String> {
        let mut words = Vec::new();
        let mut word: Option<String> = None;
        let mut quote: Option<char> = None;
        let mut chars = command.chars().peekable();
        while let Some(char) = chars.next() {
            match char {
                ' ' if quote.is_none() => words.extend(word.take()),
                '\'' | '"' if quote.is_none() => {
                    quote = Some(char);
                    word.get_or_insert_default();
                }
                char if quote == Some(char) => quote = None,
                '$' if quote != Some('\'') => {
                    let mut name = String::new();
                    while let Some(char) = chars.next_if(char::is_ascii_alphanumeric) {
                        name.push(char);
                    }
                    let value = self.variables.get(&name);
                    word.get_or_insert_default()
                        .push_str(value.unwrap_or_else(|| panic!("`${name}` is not set")));
                }
                char => word.get_or_insert_default().push(char),
            }
        }
        assert!(quote.is_none(), "a quote is left open: {command}");
        words.extend(word);
        words
    }
}

impl Drop for Shell<'_> {
    fn drop(&mut self) {
        self.stop();
    }
}
