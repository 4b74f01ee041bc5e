//! The tools of an assistant. Each runs a command that changes nothing.

use std::sync::atomic::AtomicBool;

use serde_json::{Value as Json, json};
use singlet_lint::{find_rule, rule_page};
use singlet_model::expression::Function;
use singlet_model::grammar::{json_schema, words};

use super::folder::ModelFolder;
use super::run::run_command;

/// The cases of each read and write that `verify` draws at most.
const CASES_MAX: u64 = 1_000;

/// What a tool takes.
struct Tool {
    name: &'static str,
    doc: &'static str,
    /// Name, type, sentence, whether it must be there.
    takes: &'static [(&'static str, &'static str, &'static str, bool)],
}

const MODEL: (&str, &str, &str, bool) = (
    "model",
    "string",
    "The model file, by its path within the folder.",
    true,
);

const TOOLS: &[Tool] = &[
    Tool {
        name: "list_systems",
        doc: "List the models in the folder, with their entities, reads and writes.",
        takes: &[],
    },
    Tool {
        name: "check",
        doc: "Check a model against the language and the design rules: every finding with its place and the way out. Give a file, or the text itself.",
        takes: &[
            (
                "model",
                "string",
                "The model file, by its path within the folder.",
                false,
            ),
            ("text", "string", "The model itself, in place of a file.", false),
        ],
    },
    Tool {
        name: "plan",
        doc: "Show what reads and writes become: index, key condition, filter, conditions, units. All of them, or one by its name.",
        takes: &[MODEL, ("name", "string", "A read or write.", false)],
    },
    Tool {
        name: "explain_read",
        doc: "Show the plan of one read, and why each other index does not answer it, or loses.",
        takes: &[MODEL, ("name", "string", "The read.", true)],
    },
    Tool {
        name: "rule",
        doc: "Say what a rule of the checker means, why it matters and what to do. Without a name, list all rules.",
        takes: &[("name", "string", "A code or a name, such as `K001`.", false)],
    },
    Tool {
        name: "word",
        doc: "Say what a word of the language means, wherever it may stand: a field such as `states`, or a function such as `lower`.",
        takes: &[("word", "string", "The word.", true)],
    },
    Tool {
        name: "schema",
        doc: "The JSON Schema of model files.",
        takes: &[],
    },
    Tool {
        name: "cost",
        doc: "Show what a model costs in a month by its estimates.",
        takes: &[MODEL],
    },
    Tool {
        name: "verify",
        doc: "Hold a model against its own meaning: rows are drawn, every read and write is run in memory and compared with what it means, and the scenarios beside it are played.",
        takes: &[
            MODEL,
            (
                "cases",
                "integer",
                "Cases of each read and write; 100 unless said, at most 1000.",
                false,
            ),
        ],
    },
    Tool {
        name: "call",
        doc: "Run a read on the sample data beside the model, in memory. Writes are refused.",
        takes: &[
            MODEL,
            ("name", "string", "The read.", true),
            ("arguments", "object", "Its arguments, by name.", false),
            ("caller", "string", "The id of who calls.", false),
            ("limit", "integer", "Rows in a page.", false),
        ],
    },
];

/// The tools, as the protocol lists them.
pub(super) fn listed_tools() -> Vec<Json> {
    TOOLS.iter().map(tool_json).collect()
}

fn tool_json(tool: &Tool) -> Json {
    let properties: serde_json::Map<String, Json> = (tool.takes.iter())
        .map(|(name, ty, doc, _)| ((*name).to_owned(), json!({"type": ty, "description": doc})))
        .collect();
    let required: Vec<&str> = tool.takes.iter().filter(|take| take.3).map(|take| take.0).collect();
    json!({
        "name": tool.name,
        "description": tool.doc,
        "inputSchema": {"type": "object", "properties": properties, "required": required, "additionalProperties": false},
        "annotations": {"readOnlyHint": true, "destructiveHint": false, "idempotentHint": true, "openWorldHint": false},
    })
}

/// Runs a tool; nothing, where there is none of that name.
pub(super) fn call_tool(folder: &ModelFolder, name: &str, given: &Json, ending: &AtomicBool) -> Option<Json> {
    let tool = TOOLS.iter().find(|tool| tool.name == name)?;
    let call = ToolCall { folder, given, ending };
    let done = check_given(tool, given).and_then(|()| match name {
        "list_systems" => call.systems(),
        "check" => call.check(),
        "plan" => call.plan(&[]),
        "explain_read" => call.plan(&["--why"]),
        "rule" => call.rule(),
        "word" => call.word(),
        "schema" => Ok(format!("{:#}", json_schema())),
        "cost" => call.on_model("cost", Vec::new()),
        "verify" => call.verify(),
        _ => call.read(),
    });
    Some(match done {
        Ok(text) => json!({"content": [{"type": "text", "text": text}], "isError": false}),
        Err(text) => json!({"content": [{"type": "text", "text": text}], "isError": true}),
    })
}

/// What is missing, not known or of another type is said.
fn check_given(tool: &Tool, given: &Json) -> Result<(), String> {
    let none = serde_json::Map::new();
    let given = match given {
        Json::Null => &none,
        Json::Object(given) => given,
        _ => return Err("arguments are an object".to_owned()),
    };
    for (name, value) in given {
        let Some((_, ty, _, _)) = tool.takes.iter().find(|take| take.0 == name) else {
            return Err(format!("`{}` takes no `{name}`", tool.name));
        };
        let fits = match *ty {
            "string" => value.is_string(),
            "integer" => value.is_u64(),
            _ => value.is_object(),
        };
        if !fits {
            return Err(format!("`{name}` is no {ty}"));
        }
    }
    match tool.takes.iter().find(|take| take.3 && !given.contains_key(take.0)) {
        Some((name, _, doc, _)) => Err(format!("`{}` needs `{name}`: {doc}", tool.name)),
        None => Ok(()),
    }
}

struct ToolCall<'c> {
    folder: &'c ModelFolder,
    given: &'c Json,
    ending: &'c AtomicBool,
}

impl ToolCall<'_> {
    fn text(&self, name: &str) -> Option<&str> {
        self.given.get(name).and_then(Json::as_str)
    }

    /// A name that goes to a command as it is: what looks like a flag is none.
    fn name(&self) -> Result<Option<String>, String> {
        match self.text("name") {
            Some(name) if name.starts_with('-') || name.is_empty() => Err(format!("`{name}` is no name")),
            name => Ok(name.map(str::to_owned)),
        }
    }

    /// Runs a command on the model; findings are an answer, and what cannot be done is none.
    fn on_model(&self, command: &str, more: Vec<String>) -> Result<String, String> {
        let file = self.folder.file(self.text("model").unwrap_or_default())?;
        let mut args = vec![command.to_owned(), file.display().to_string()];
        args.extend(more);
        self.run(&args, None)
    }

    fn run(&self, args: &[String], input: Option<&str>) -> Result<String, String> {
        let outcome = run_command(self.folder.path(), args, input, self.ending)?;
        // Paths as whoever asked has them.
        let text = outcome.text.replace(&format!("{}/", self.folder.path().display()), "");
        match outcome.code {
            Some(0 | 1) => Ok(text),
            _ => Err(text),
        }
    }

    fn check(&self) -> Result<String, String> {
        match (self.text("model"), self.text("text")) {
            (Some(_), None) => self.on_model("check", vec!["--hints".to_owned()]),
            (None, Some(text)) => self.run(&["check".to_owned(), "-".to_owned(), "--hints".to_owned()], Some(text)),
            _ => Err("give either `model` or `text`".to_owned()),
        }
    }

    fn plan(&self, flags: &[&str]) -> Result<String, String> {
        let mut more: Vec<String> = flags.iter().map(|&flag| flag.to_owned()).collect();
        more.extend(self.name()?);
        self.on_model("plan", more)
    }

    fn verify(&self) -> Result<String, String> {
        let file = self.folder.file(self.text("model").unwrap_or_default())?;
        let stem = file.file_stem().unwrap_or_default().to_string_lossy();
        for scenarios in ["scenarios.yaml", &format!("{stem}.scenarios.yaml")] {
            self.folder.has_beside(&file, scenarios)?;
        }
        let cases = self
            .given
            .get("cases")
            .and_then(Json::as_u64)
            .unwrap_or(100)
            .min(CASES_MAX);
        self.on_model("verify", vec![format!("--cases={cases}")])
    }

    fn read(&self) -> Result<String, String> {
        let file = self.folder.file(self.text("model").unwrap_or_default())?;
        let name = self.name()?.unwrap_or_default();
        let loaded = std::fs::read_to_string(&file).map_err(|error| error.to_string())?;
        let loaded = singlet_model::load_source(&singlet_model::Source::new("model", loaded)).model;
        if !loaded.is_some_and(|model| model.reads.iter().any(|read| read.name == name)) {
            return Err(format!("the model has no read `{name}`; writes are not run"));
        }
        let mut more = vec![name];
        for (name, value) in self
            .given
            .get("arguments")
            .and_then(Json::as_object)
            .into_iter()
            .flatten()
        {
            if name.starts_with('-') {
                return Err(format!("`{name}` is no name"));
            }
            more.push(match value {
                Json::String(text) => format!("{name}={text}"),
                other => format!("{name}:={other}"),
            });
        }
        more.extend(self.text("caller").map(|caller| format!("--as={caller}")));
        let limit = self.given.get("limit").and_then(Json::as_u64);
        more.extend(limit.map(|limit| format!("--limit={limit}")));
        more.push("--store=memory".to_owned());
        if self.folder.has_beside(&file, "sample.jsonl")? {
            more.push("--sample".to_owned());
        }
        self.on_model("call", more)
    }

    fn rule(&self) -> Result<String, String> {
        let Some(name) = self.text("name") else {
            return self.run(&["explain".to_owned()], None);
        };
        let rule = find_rule(name).ok_or_else(|| format!("there is no rule `{name}`"))?;
        Ok(format!(
            "{} {} ({})\n\n{}\n",
            rule.code,
            rule.name,
            rule.severity.word(),
            rule_page(rule)
        ))
    }

    fn word(&self) -> Result<String, String> {
        let word = self.text("word").unwrap_or_default();
        let mut lines = Vec::new();
        for record in words::RECORDS {
            if record.name == word {
                lines.push(format!("`{word}`: {}", record.doc));
            }
            lines.extend(record.field_named(word).map(|field| {
                let required = if field.required { ", required" } else { "" };
                format!("`{word}` of {}{required}: {}", record.name, field.doc)
            }));
        }
        lines.extend(
            Function::functions_named(word).map(|function| format!("`{}`: {}", function.signature, function.doc)),
        );
        match lines.is_empty() {
            true => Err(format!(
                "the language has no word `{word}`; `singlet://language` has all of it"
            )),
            false => Ok(lines.join("\n")),
        }
    }

    fn systems(&self) -> Result<String, String> {
        let mut text = String::new();
        for path in self.folder.models() {
            let Ok(bytes) = crate::source::read_source(&self.folder.path().join(&path)) else {
                continue;
            };
            let source = singlet_model::Source::new("model", String::from_utf8_lossy(&bytes));
            let shown = path.display();
            let Some(model) = singlet_model::load_source(&source).model else {
                text.push_str(&format!("{shown}: cannot be read; `check` says why\n"));
                continue;
            };
            let names = |names: Vec<&str>| {
                if names.is_empty() {
                    "none".to_owned()
                } else {
                    names.join(", ")
                }
            };
            text.push_str(&format!(
                "{shown}: {}\n  entities: {}\n  reads: {}\n  writes: {}\n",
                model.name,
                names(model.entities.iter().map(|entity| entity.name.as_str()).collect()),
                names(model.reads.iter().map(|read| read.name.as_str()).collect()),
                names(model.writes.iter().map(|write| write.name.as_str()).collect()),
            ));
        }
        match text.is_empty() {
            true => Ok("there is no model in the folder; `singlet init` begins one\n".to_owned()),
            false => Ok(text),
        }
    }
}
