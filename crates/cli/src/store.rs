//! Which store a command works on.

use std::sync::Arc;

use clap::Args;
use singlet_face::Company;
pub(crate) use singlet_following::now_millis;
use singlet_model::Model;
use singlet_model::model::Argument;
use singlet_runtime::{Attributes, Engine, OpenError, RelocationPhase, TableOpening, TableState, TableUse, load};
use singlet_values as values;

use crate::place::Place;

/// Where the data is.
#[derive(Args)]
pub struct StoreArgs {
    /// `memory`, `embedded:DIR` for a folder that keeps the data, or `dynamodb`.
    #[arg(
        long,
        global = true,
        default_value = "memory",
        env = "SINGLET_STORE",
        value_name = "STORE"
    )]
    store: String,
    /// With `dynamodb`: an endpoint other than the region's own.
    #[arg(long, global = true, env = "SINGLET_ENDPOINT_URL", value_name = "URL")]
    endpoint_url: Option<String>,
    /// With `dynamodb`: the region; taken from the environment unless given.
    #[arg(long, global = true, env = "SINGLET_REGION", value_name = "REGION")]
    region: Option<String>,
    /// A value for one of the model's `settings`.
    #[arg(long = "set", global = true, value_name = "NAME=VALUE")]
    set: Vec<String>,
}

impl StoreArgs {
    /// Opens a model on the store; a table that is not there yet is created.
    pub async fn open(&self, model: Model, used_for: TableUse) -> Result<Engine, String> {
        let place = self.store_place()?;
        let (engine, company) = self.engine(&place, model).await?;
        if let (Place::Folder(folder), Company::Shared, TableUse::Adopting) = (&place, company, used_for) {
            return Err(format!(
                "a service has `{}` open, and its tables are not taken over beneath it: end it first",
                folder.display()
            ));
        }
        open_table(&place, company, &engine, used_for, true).await?;
        Ok(engine)
    }

    /// Opens a model on a table that is there, whoever wrote its rows: to get at them.
    pub async fn open_as_it_is(&self, model: Model) -> Result<Engine, String> {
        Ok(self.open_in_company(model).await?.0)
    }

    /// The same, and whether others are at work on it.
    pub async fn open_in_company(&self, model: Model) -> Result<(Engine, Company), String> {
        let place = self.store_place()?;
        // Opening would make it, and what is only looked at is not made.
        if let Place::Folder(folder) = &place
            && !folder.is_dir()
        {
            return Err(format!("there is no folder `{}`", folder.display()));
        }
        let (engine, company) = self.engine(&place, model).await?;
        let table = &engine.model().table.name;
        let tables = engine
            .store()
            .list_tables()
            .await
            .map_err(|error| place.failed_here(&error))?;
        match tables.contains(table) {
            true => Ok((engine, company)),
            false => Err(format!("there is no table `{table}` {}", place.shown())),
        }
    }

    /// Opens a model on the store, whether or not its table is there, and says whether others are at work on it.
    pub async fn open_engine(&self, model: Model) -> Result<(Engine, Company), String> {
        self.engine(&self.store_place()?, model).await
    }

    /// Where the data is.
    pub fn store_place(&self) -> Result<Place, String> {
        Place::parse(&self.store, self.endpoint_url.clone(), self.region.clone())
    }

    async fn engine(&self, place: &Place, model: Model) -> Result<(Engine, Company), String> {
        let settings = parse_settings(&model, &self.given_pairs()?)?;
        let (store, company) = place.open_in_company().await?;
        Ok((Engine::open(Arc::new(model), store, settings, cursor_key()), company))
    }

    /// The values that are given for settings.
    pub fn given_pairs(&self) -> Result<Vec<(String, String)>, String> {
        given_pairs(&self.set)
    }

    /// Whether the data is gone with the process.
    pub fn is_memory(&self) -> bool {
        self.store == "memory"
    }
}

/// Names and values, each written `name=value`.
pub fn given_pairs(given: &[String]) -> Result<Vec<(String, String)>, String> {
    let pairs = given.iter().map(|text| {
        let pair = text
            .split_once('=')
            .ok_or_else(|| format!("`{text}` is not `name=value`"))?;
        Ok((pair.0.to_owned(), pair.1.to_owned()))
    });
    pairs.collect()
}

/// Refuses to look at a table in which rows of two models lie: those of the other one would be taken for damage, or twice.
pub async fn check_no_bridge(engine: &Engine) -> Result<(), String> {
    let table = &engine.model().table.name;
    match engine.migration_phase().await {
        Ok(Some(phase)) if phase.is_bridge() => Err(format!(
            "table `{table}` is on a bridge, in the phase `{}`: rows of two models lie in it\nhelp: when `--toward new` or `--toward old` has come to its end, they are those of \
             one; `singlet backup` copies the folder as it is",
            phase.word()
        )),
        // What else is wrong with the table is said by who works on it.
        _ => Ok(()),
    }
}

/// Opens the table of an engine; what keeps the model from it comes with a way out.
pub async fn open_table(
    place: &Place,
    company: Company,
    engine: &Engine,
    used_for: TableUse,
    makes_tables: bool,
) -> Result<TableState, String> {
    let opening = TableOpening {
        makes_tables,
        company,
        used_for,
        now: now_millis(),
    };
    let opened = engine.open_table(&opening).await;
    opened.map_err(|error| not_opened(place, engine, used_for, error))
}

/// The same for who makes indexes that the table lacks: their names.
pub async fn open_table_before_indexes(place: &Place, engine: &Engine) -> Result<(TableState, Vec<String>), String> {
    let used_for = TableUse::Writing;
    let opening = TableOpening {
        makes_tables: place.makes_tables(),
        company: place.company(),
        used_for,
        now: now_millis(),
    };
    let opened = engine.open_before_indexes(&opening).await;
    opened.map_err(|error| not_opened(place, engine, used_for, error))
}

/// Why a table was not opened, with a way out.
pub(crate) fn not_opened(place: &Place, engine: &Engine, used_for: TableUse, error: OpenError) -> String {
    let model = engine.model();
    let table = &model.table.name;
    match &error {
        OpenError::NoTable => format!("there is no table `{table}`, which `{}` needs", model.name),
        OpenError::Failed(singlet_runtime::RuntimeError::Store(error)) => {
            format!("table `{table}` of `{}`: {}", model.name, place.failed_here(error))
        }
        OpenError::Failed(_) => format!("table `{table}` of `{}`: {error}", model.name),
        OpenError::Migrating(migration) if migration.phase.is_bridge() && matches!(place, Place::DynamoDb { .. }) => {
            format!(
                "table `{table}` of `{}`: {error}\nhelp: `singlet serve` with one of the two models that it is between joins it, as long as that model serves; \
                 `singlet migrate NEW.yaml --bridge --toward new --yes` or `--abort` ends it",
                model.name
            )
        }
        OpenError::Migrating(migration) if migration.phase.is_bridge() => format!(
            "table `{table}` of `{}`: {error}\nhelp: `singlet serve NEW.yaml --also OLD.yaml` serves the two models that it is between, `--toward new` or \
             `--toward old` ends that",
            model.name
        ),
        OpenError::Migrating(_) => format!(
            "table `{table}` of `{}`: {error}\nhelp: `singlet migrate MODEL --yes` with the model that it is migrated to goes on, \
             `--abort` makes everything as it was",
            model.name
        ),
        OpenError::Relocated(relocation) => {
            let help = match relocation.phase {
                RelocationPhase::Claimed | RelocationPhase::Copying => {
                    "`singlet copy` with the same options goes on; with `--abort` it opens here again"
                }
                RelocationPhase::Moved => "serve it from there",
                RelocationPhase::Preparing | RelocationPhase::Restoring => {
                    "`singlet restore` with the same options goes on, with `--abort` it removes what it had put; before either has come to its end the \
                     table has half of its items"
                }
                RelocationPhase::Abandoning => "`singlet restore` with the same options and `--abort` goes on",
            };
            format!("table `{table}` of `{}`: {error}\nhelp: {help}", model.name)
        }
        OpenError::Table(_) | OpenError::Model(_) | OpenError::Rows(..) => {
            format!(
                "table `{table}` does not fit this model `{}`: {error}\n{}",
                model.name,
                way_out(place, &error, used_for)
            )
        }
    }
}

/// What can be done about a table that a model cannot work on.
fn way_out(place: &Place, error: &OpenError, used_for: TableUse) -> String {
    let store = match place {
        Place::DynamoDb { .. } => "dynamodb".to_owned(),
        Place::Folder(folder) => format!("embedded:{}", folder.display()),
        Place::Memory => "memory".to_owned(),
    };
    let elsewhere = match place {
        Place::DynamoDb { .. } => {
            "give the table another name in the model, then `singlet load MODEL rows.jsonl --store dynamodb`"
        }
        _ => "`singlet load MODEL rows.jsonl --store embedded:NEW-FOLDER`",
    };
    let mut ways = vec![
        "keep using the model that wrote the rows".to_owned(),
        format!("see what has to be done to the rows, and how: `singlet diff MODEL --store {store}`"),
        format!("change the rows to fit this model: `singlet migrate MODEL --store {store}` shows what it would do"),
        format!("carry the rows over: `singlet dump MODEL --store {store} > rows.jsonl`, {elsewhere}"),
    ];
    match (error, used_for, place) {
        (OpenError::Model(_), TableUse::Reading | TableUse::Writing, _) => ways.push(
            "where no row is concerned: `singlet serve MODEL --adopt` or `singlet load MODEL ROWS --adopt` looks at every row, \
             and takes the table over if all fit (end every other process on it first)"
                .to_owned(),
        ),
        (OpenError::Table(_), _, Place::DynamoDb { .. }) => ways.push("change the table in DynamoDB".to_owned()),
        _ => {}
    }
    let ways: Vec<String> = ways.into_iter().map(|way| format!("help: {way}")).collect();
    ways.join("\n")
}

/// The values of a model's settings, each that has neither a value nor a default and may not be left out refused by its name.
pub fn parse_settings(model: &Model, given: &[(String, String)]) -> Result<Attributes, String> {
    let settings = given_settings(model, given)?;
    let is_missing =
        |known: &&Argument| !known.optional && known.default.is_none() && !settings.contains_key(&known.name);
    match model.settings.iter().find(is_missing) {
        None => Ok(settings),
        Some(known) => Err(format!(
            "setting `{}` of `{}` has no value\nhelp: give it one with `--set`, or say in the model that it may be left out: `{}: …?`",
            known.name, model.name, known.name,
        )),
    }
}

/// The values that are given, of some of a model's settings.
pub fn given_settings(model: &Model, given: &[(String, String)]) -> Result<Attributes, String> {
    let mut settings = Attributes::new();
    for (name, text) in given {
        let Some(known) = model.settings.iter().find(|known| known.name == *name) else {
            return Err(format!("`{}` has no setting `{name}`", model.name));
        };
        let value = values::from_text(text, &known.ty)
            .map_err(|wrong| format!("setting `{name}` of `{}`: {wrong}", model.name))?;
        settings.insert(name.clone(), value);
    }
    Ok(settings)
}

/// Cursors of the command line are for this machine's next call only; a service brings a key of its own.
fn cursor_key() -> [u8; 32] {
    *b"singlet command line cursor key.."
        .first_chunk::<32>()
        .unwrap_or(&[0; 32])
}

/// Loads rows that are at hand, as of an instant.
pub async fn load_text(engine: &Engine, text: &str, now: i64) -> Result<(), String> {
    let loaded = load::load_text(engine, text, now).await;
    loaded.map(drop).map_err(|error| error.to_string())
}
