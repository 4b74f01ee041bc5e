//! What is asked of every side.

use singlet_http::auth::{LocalToken, Secret};

use super::data::{ROWS, now_seconds, row_id};
use crate::error::Outcome;

/// What tokens are signed with, on every side.
pub const SECRET: &str = "a secret of the benchmark alone";

/// How long tokens last.
const TOKEN_SECONDS: i64 = 6 * 3_600;

/// What an operation does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// One row by its key; in ecobid an item with its reservations and auction.
    Get,
    /// Twenty rows of an index.
    List,
    /// A transaction: the new rows, and that the user is there.
    Create,
    /// How many rows there are of each status and priority.
    Count,
}

/// An operation of a system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Operation {
    /// The system.
    pub system: &'static str,
    /// What it does.
    pub kind: Kind,
}

/// What only the service answers, on today's store and on the one of before.
pub const COUNTS: Operation = Operation {
    system: "todo",
    kind: Kind::Count,
};

/// Every operation that all sides answer, by system.
pub const OPERATIONS: [Operation; 6] = {
    const fn of(system: &'static str, kind: Kind) -> Operation {
        Operation { system, kind }
    }
    [
        of("todo", Kind::Get),
        of("todo", Kind::List),
        of("todo", Kind::Create),
        of("ecobid", Kind::Get),
        of("ecobid", Kind::List),
        of("ecobid", Kind::Create),
    ]
};

/// How often each kind comes in ten requests of the mix.
const MIX: [(Kind, usize); 3] = [(Kind::Get, 6), (Kind::List, 3), (Kind::Create, 1)];

/// What one measurement sends.
#[derive(Clone, Debug)]
pub struct Case {
    /// Its name.
    pub name: String,
    /// What kind it is; none for a mix.
    pub kind: Option<Kind>,
    /// Requests, to be sent in turn.
    pub requests: Vec<Vec<u8>>,
}

/// The tokens of a caller, one for each system.
#[derive(Debug)]
pub struct Tokens {
    todo: String,
    ecobid: String,
}

impl Tokens {
    /// Signs them.
    pub fn sign() -> Outcome<Self> {
        let secret = Secret::new(SECRET)?;
        let token = |audience: &str| {
            LocalToken {
                audience: Some(audience.to_owned()),
                issuer: None,
                claims: [("sub".to_owned(), "ada".into())].into_iter().collect(),
                expires: now_seconds() + TOKEN_SECONDS,
            }
            .sign_token(&secret)
        };
        Ok(Tokens {
            todo: token("todo")?,
            ecobid: token("ecobid")?,
        })
    }

    fn of(&self, system: &str) -> &str {
        if system == "todo" { &self.todo } else { &self.ecobid }
    }
}

/// Each operation alone, and all of them mixed.
pub fn cases(tokens: &Tokens) -> Vec<Case> {
    let alone = OPERATIONS.iter().map(|operation| operation.case(tokens));
    alone.chain([mix(tokens)]).collect()
}

/// Both systems in turn, the kinds spread evenly.
pub fn mix(tokens: &Tokens) -> Case {
    let kinds: Vec<Kind> = MIX.iter().flat_map(|&(kind, times)| vec![kind; times]).collect();
    // Seven has no divisor in common with ten, so every kind comes as often as it should.
    let kind = |at: usize| kinds.get(at * 7 % kinds.len()).copied().unwrap_or(Kind::Get);
    let requests = (0..ROWS).flat_map(|at| {
        ["todo", "ecobid"].map(|system| {
            let operation = Operation { system, kind: kind(at) };
            operation.request(at, tokens)
        })
    });
    Case {
        name: "mix".to_owned(),
        kind: None,
        requests: requests.collect(),
    }
}

impl Operation {
    /// It alone.
    pub fn case(self, tokens: &Tokens) -> Case {
        Case {
            name: self.name(),
            kind: Some(self.kind),
            requests: (0..ROWS).map(|at| self.request(at, tokens)).collect(),
        }
    }

    /// Its name.
    pub fn name(self) -> String {
        let kind = match self.kind {
            Kind::Get => "get",
            Kind::List => "list",
            Kind::Create => "create",
            Kind::Count => "counts",
        };
        format!("{} {kind}", self.system)
    }

    /// The path of the row with that id.
    pub fn row_path(self, id: &str) -> String {
        match self.system {
            "todo" => format!("/todo/api/v1/tasks/{id}"),
            _ => format!("/ecobid/items/{id}"),
        }
    }

    /// A request, of the row at that place where it is about one.
    pub fn request(self, at: usize, tokens: &Tokens) -> Vec<u8> {
        let token = tokens.of(self.system);
        match (self.kind, self.system) {
            (Kind::Get, _) => http("GET", &self.row_path(&row_id(at)), token, ""),
            (Kind::List, "todo") => http("GET", "/todo/api/v1/tasks?status=pending&limit=20", token, ""),
            (Kind::List, _) => http("GET", "/ecobid/items?category=books&limit=20", token, ""),
            (Kind::Count, _) => http("GET", "/todo/api/v1/tasks/counts", token, ""),
            (Kind::Create, "todo") => http("POST", "/todo/api/v1/tasks", token, NEW_TASK),
            (Kind::Create, _) => http("POST", "/ecobid/items", token, NEW_ITEM),
        }
    }

    /// A request for one row.
    pub fn get(self, id: &str, tokens: &Tokens) -> Vec<u8> {
        http("GET", &self.row_path(id), tokens.of(self.system), "")
    }
}

const NEW_TASK: &str = r#"{"title":"Paint the fence","description":"Two coats, and the gate as well","priority":"high","category":"garden","due_date":"2027-04-01"}"#;
const NEW_ITEM: &str = r#"{"title":"A box of novels","description":"Two shelves of crime, hardly read","category":"books","mode":"free","location":{"lat":52.233595,"lon":21.047145,"city":"Warszawa","country":"PL"},"imageUrl":"https://images.example.com/novels.jpg"}"#;

fn http(method: &str, path: &str, token: &str, body: &str) -> Vec<u8> {
    let described = match body.len() {
        0 => String::new(),
        length => format!("Content-Type: application/json\r\nContent-Length: {length}\r\n"),
    };
    format!("{method} {path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\n{described}\r\n{body}")
        .into_bytes()
}
