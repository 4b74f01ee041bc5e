//! What is wrong with a row that is loaded.

use std::fmt;

use crate::error::RuntimeError;

/// A row, or a part of it, that the model does not allow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Misfit {
    /// The line of the file, from 1.
    pub line: u64,
    /// The entity, where the line says which.
    pub entity: Option<String>,
    /// Where in the row: a JSON pointer, such as `/due`; empty where it is the row itself.
    pub pointer: String,
    /// What kind of mistake.
    pub kind: MisfitKind,
    /// What is wrong.
    pub reason: String,
}

/// The kinds of mistakes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum MisfitKind {
    /// The line is no `{"Entity": {…}}`.
    Line,
    /// The model has no such entity, or its rows are not loaded.
    Entity,
    /// The entity has no such attribute.
    UnknownAttribute,
    /// A value is not of its type, or outside its limits.
    WrongValue,
    /// An attribute is required and missing.
    Missing,
    /// A computed attribute is not what it is computed to be.
    Computed,
    /// No key can be made of the row.
    NoKey,
    /// The row, or a key of it, is larger than DynamoDB takes.
    TooLarge,
    /// Another row has its key.
    SameKey,
    /// Another row has its unique value.
    Taken,
    /// A row is there that must not be beside it.
    Excluded,
    /// The row that a copy is taken from is missing, or says something else.
    Source,
}

impl MisfitKind {
    /// In words, to stand after a number of rows.
    pub fn words(self) -> &'static str {
        match self {
            MisfitKind::Line => "lines that are no rows",
            MisfitKind::Entity => "rows of no entity that is loaded",
            MisfitKind::UnknownAttribute => "attributes that the entity does not have",
            MisfitKind::WrongValue => "values that are not of their type or outside its limits",
            MisfitKind::Missing => "attributes that are required and missing",
            MisfitKind::Computed => "computed attributes that say something else",
            MisfitKind::NoKey => "rows without a key",
            MisfitKind::TooLarge => "rows that are too large",
            MisfitKind::SameKey => "keys that another row has",
            MisfitKind::Taken => "unique values that another row has",
            MisfitKind::Excluded => "rows that exclude one another",
            MisfitKind::Source => "copies without their source, or unlike it",
        }
    }
}

impl Misfit {
    pub(super) fn new(kind: MisfitKind, reason: impl Into<String>) -> Self {
        Misfit {
            line: 0,
            entity: None,
            pointer: String::new(),
            kind,
            reason: reason.into(),
        }
    }

    pub(super) fn of(mut self, entity: &str) -> Self {
        self.entity = Some(entity.to_owned());
        self
    }

    pub(super) fn at(mut self, pointer: impl Into<String>) -> Self {
        self.pointer = pointer.into();
        self
    }

    pub(super) fn in_line(mut self, line: u64) -> Self {
        self.line = line;
        self
    }
}

impl fmt::Display for Misfit {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.line > 0 {
            write!(out, "line {}: ", self.line)?;
        }
        match (&self.entity, self.pointer.is_empty()) {
            (Some(entity), true) => write!(out, "`{entity}`: ")?,
            (Some(entity), false) => write!(out, "`{entity}` {}: ", self.pointer)?,
            (None, _) => {}
        }
        out.write_str(&self.reason)
    }
}

/// A kind of mistake, how often it was met, and the first of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CountedMistake {
    /// The kind.
    pub kind: MisfitKind,
    /// How often.
    pub count: u64,
    /// The first few.
    pub first: Vec<Misfit>,
}

/// The first of some misfits as an error of one request.
pub(super) fn first_as_error(misfits: &[Misfit]) -> RuntimeError {
    let first = misfits.first().map(Misfit::to_string);
    RuntimeError::Request(first.unwrap_or_else(|| "this is no row".to_owned()))
}

/// Why rows were not loaded, or not all.
#[derive(Debug)]
pub enum LoadError {
    /// The file is wrong by itself: nothing was written. The first misfits, by line, and whether there are more.
    File {
        /// The first.
        misfits: Vec<Misfit>,
        /// Whether there are others.
        more: bool,
    },
    /// The table refused a row. Rows of lines before it are there, and some of the next lines may be.
    Table {
        /// The row.
        misfit: Box<Misfit>,
        /// Rows that were written.
        rows: u64,
    },
    /// The file could not be read.
    Read(std::io::Error),
    /// The store failed, or an expression could not be evaluated.
    Failed(RuntimeError),
}

impl LoadError {
    pub(super) fn file(misfit: Misfit) -> Self {
        LoadError::File {
            misfits: vec![misfit],
            more: false,
        }
    }

    /// The lines that are wrong.
    pub fn misfit_lines(&self) -> &[Misfit] {
        match self {
            LoadError::File { misfits, .. } => misfits,
            LoadError::Table { misfit, .. } => std::slice::from_ref(misfit),
            LoadError::Read(_) | LoadError::Failed(_) => &[],
        }
    }
}

impl fmt::Display for LoadError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LoadError::File { misfits, more } => {
                for (at, misfit) in misfits.iter().enumerate() {
                    let between = if at == 0 { "" } else { "\n" };
                    write!(out, "{between}{misfit}")?;
                }
                match more {
                    true => out.write_str("\nthere are more"),
                    false => Ok(()),
                }
            }
            LoadError::Table { misfit, .. } => misfit.fmt(out),
            LoadError::Read(error) => write!(out, "the rows cannot be read: {error}"),
            LoadError::Failed(error) => error.fmt(out),
        }
    }
}

impl std::error::Error for LoadError {}

impl From<RuntimeError> for LoadError {
    fn from(error: RuntimeError) -> Self {
        LoadError::Failed(error)
    }
}

impl From<std::io::Error> for LoadError {
    fn from(error: std::io::Error) -> Self {
        LoadError::Read(error)
    }
}
