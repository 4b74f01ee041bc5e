//! Reads and writes from a program: arguments from its own types, rows into its own types.
//!
//! ```no_run
//! # use singlet_runtime::{Caller, Engine, RuntimeError};
//! # #[derive(serde::Deserialize)] struct Task { task_id: String, title: String }
//! # async fn example(engine: &Engine) -> Result<(), RuntimeError> {
//! let ada = Caller::with_id("ada");
//! let tasks: Vec<Task> = engine.call("tasksByStatus").arg("status", "pending").by(ada.clone()).all().await?;
//! let task: Task = engine.call("createTask").arg("title", "Paint the fence").by(ada).once("request-17").write().await?;
//! # Ok(()) }
//! ```

mod from_value;
mod to_value;

use futures_util::stream::{self, Stream, StreamExt, TryStreamExt};
use serde::Serialize;
use serde::de::DeserializeOwned;
use singlet_item::{Number, Value};
use singlet_store::Consumed;

pub use from_value::from_value;
pub use to_value::to_value;

use crate::engine::{Answer, Engine, Request};
use crate::error::RuntimeError;
use crate::scope::Caller;
use crate::write::{WriteRequest, Written};

/// A read or a write about to be made. Nobody in particular calls it, now, from its first page on, unless it says otherwise.
#[derive(Debug)]
#[must_use = "a call does nothing until its answer is awaited"]
pub struct TypedCall<'e> {
    engine: &'e Engine,
    name: String,
    request: Request,
    idempotency_key: Option<String>,
    version: Option<i64>,
    /// The first thing that was wrong with what it was given: it is the answer.
    wrong: Option<RuntimeError>,
}

/// A page of rows.
#[derive(Clone, Debug, PartialEq)]
pub struct TypedPage<T> {
    /// The rows.
    pub rows: Vec<T>,
    /// Where the next page begins; none after the last.
    pub next: Option<String>,
    /// What the page consumed.
    pub consumed: Consumed,
}

impl Engine {
    /// A read or a write, to be given its arguments and its caller.
    pub fn call(&self, name: impl Into<String>) -> TypedCall<'_> {
        TypedCall {
            engine: self,
            name: name.into(),
            request: Request {
                now: jiff::Timestamp::now().as_millisecond(),
                ..Request::default()
            },
            idempotency_key: None,
            version: None,
            wrong: None,
        }
    }
}

impl<'e> TypedCall<'e> {
    /// Gives one argument. Nothing (`None`, `()`) is an argument that was not sent.
    pub fn arg(mut self, name: &str, value: impl Serialize) -> Self {
        match to_value(&value) {
            Ok(Value::Null) => {}
            Ok(value) => {
                self.request.args.insert(name.to_owned(), value);
            }
            Err(error) => self.refuse(format!("the argument `{name}` is wrong: {error}")),
        }
        self
    }

    /// Gives the fields of a struct, or the entries of a map, as arguments.
    pub fn args(mut self, args: impl Serialize) -> Self {
        match to_value(&args) {
            Ok(Value::M(fields)) => {
                let sent = fields.into_iter().filter(|(_, value)| !value.is_null());
                self.request.args.extend(sent);
            }
            Ok(Value::Null) => {}
            Ok(_) => self.refuse("arguments are the fields of a struct or the entries of a map".to_owned()),
            Err(error) => self.refuse(format!("the arguments are wrong: {error}")),
        }
        self
    }

    /// Of a write: clears an attribute that may be absent.
    pub fn clear(mut self, name: &str) -> Self {
        self.request.args.insert(name.to_owned(), Value::Null);
        self
    }

    /// Of a write: does it once, however often it is sent with this key.
    pub fn once(mut self, key: impl Into<String>) -> Self {
        self.idempotency_key = Some(key.into());
        self
    }

    /// Of a write: only if the row has this version.
    pub fn if_version(mut self, version: i64) -> Self {
        self.version = Some(version);
        self
    }

    /// Says who calls.
    pub fn by(mut self, caller: Caller) -> Self {
        self.request.caller = caller;
        self
    }

    /// Asks for so many rows in a page.
    pub fn limit(mut self, rows: usize) -> Self {
        self.request.limit = Some(rows);
        self
    }

    /// Goes on where a page ended.
    pub fn after(mut self, cursor: impl Into<String>) -> Self {
        self.request.cursor = Some(cursor.into());
        self
    }

    /// Asks as of an instant, in epoch milliseconds.
    pub fn at(mut self, millis: i64) -> Self {
        self.request.now = millis;
        self
    }

    /// The answer as it is: a row, rows, counts or groups.
    ///
    /// # Errors
    ///
    /// As [`Engine::read`]; and what was wrong with an argument.
    pub async fn answer(self) -> Result<Answer, RuntimeError> {
        match self.wrong {
            Some(wrong) => Err(wrong),
            None => self.engine.read(&self.name, &self.request).await,
        }
    }

    /// The answer as one value: a row, a count, groups, or an `Option` where it may be missing.
    ///
    /// # Errors
    ///
    /// As [`TypedCall::answer`]; and where the answer is not of the type.
    pub async fn one<T: DeserializeOwned>(self) -> Result<T, RuntimeError> {
        let name = self.name.clone();
        let answer = self.answer().await?;
        typed(&name, &answer.value.unwrap_or(Value::Null))
    }

    /// Does a write, and says what became of it.
    ///
    /// # Errors
    ///
    /// As [`Engine::write`]: a refusal has the name of its rule; and what was wrong with an argument.
    pub async fn written(self) -> Result<Written, RuntimeError> {
        if let Some(wrong) = self.wrong {
            return Err(wrong);
        }
        let request = WriteRequest {
            args: self.request.args,
            caller: self.request.caller,
            now: self.request.now,
            idempotency_key: self.idempotency_key,
            precondition: self.version.map(Number::from).into(),
        };
        self.engine.write(&self.name, &request).await
    }

    /// Does a write, and gives what it answers: a row, or `()` where there is nothing.
    ///
    /// # Errors
    ///
    /// As [`TypedCall::written`]; and where the answer is not of the type.
    pub async fn write<T: DeserializeOwned>(self) -> Result<T, RuntimeError> {
        let name = self.name.clone();
        let written = self.written().await?;
        typed(&name, &written.value.unwrap_or(Value::Null))
    }

    /// One page of rows.
    ///
    /// # Errors
    ///
    /// As [`TypedCall::answer`]; and where the answer is no list, or a row is not of the type.
    pub async fn page<T: DeserializeOwned>(self) -> Result<TypedPage<T>, RuntimeError> {
        let name = self.name.clone();
        let answer = self.answer().await?;
        Ok(TypedPage {
            rows: typed(&name, &answer.value.unwrap_or(Value::Null))?,
            next: answer.next,
            consumed: answer.consumed,
        })
    }

    /// All pages from here on, each read when it is asked for. After an error there are none.
    pub fn pages<T: DeserializeOwned + 'e>(self) -> impl Stream<Item = Result<TypedPage<T>, RuntimeError>> + 'e {
        stream::try_unfold(Some(self), async |call| {
            let Some(call) = call else { return Ok(None) };
            let (engine, name, request) = (call.engine, call.name.clone(), call.request.clone());
            let page: TypedPage<T> = call.page().await?;
            let next = page.next.clone().map(|cursor| {
                TypedCall {
                    engine,
                    name,
                    request,
                    idempotency_key: None,
                    version: None,
                    wrong: None,
                }
                .after(cursor)
            });
            Ok(Some((page, next)))
        })
    }

    /// All rows from here on, page after page.
    pub fn rows<T: DeserializeOwned + 'e>(self) -> impl Stream<Item = Result<T, RuntimeError>> + 'e {
        let rows = |page: TypedPage<T>| stream::iter(page.rows.into_iter().map(Ok));
        self.pages().map_ok(rows).try_flatten()
    }

    /// All rows at once.
    ///
    /// # Errors
    ///
    /// As [`TypedCall::page`]; and where there are more than [`Bounds::all_rows_max`](singlet_plan::Bounds).
    pub async fn all<T: DeserializeOwned>(self) -> Result<Vec<T>, RuntimeError> {
        let name = self.name.clone();
        let most = self.engine.bounds().all_rows_max;
        let mut pages = std::pin::pin!(self.pages::<T>());
        let mut rows = Vec::new();
        while let Some(page) = pages.next().await {
            rows.extend(page?.rows);
            if rows.len() > most {
                let message = format!("`{name}` has more than {most} rows: take them page by page");
                return Err(RuntimeError::Request(message));
            }
        }
        Ok(rows)
    }

    fn refuse(&mut self, reason: String) {
        self.wrong.get_or_insert(RuntimeError::Request(reason));
    }
}

fn typed<T: DeserializeOwned>(read: &str, value: &Value) -> Result<T, RuntimeError> {
    from_value(value).map_err(|error| RuntimeError::Typed(format!("the answer of `{read}` does not fit: {error}")))
}
