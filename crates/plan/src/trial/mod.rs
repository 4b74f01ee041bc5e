//! A condition by hand, tried: what it reads and what is meant, row by row.
//!
//! Requests and rows are drawn, few of each and near one another (days that follow each other, texts that begin alike, the last
//! minute of a day), and for each the meaning is evaluated, the keys are written and the condition is compared with them as
//! DynamoDB compares. A row that is meant and not read, or read and not meant, is a *witness*: nothing is claimed without one. The
//! same model gives the same witnesses, for chance is seeded by the read's name.
//!
//! Rows of other entities are no matter of a trial (the rule about prefixes sees to them), nor are rows that have expired.

mod chance;
mod condition;
mod pool;
mod request;
mod row;
mod untried;

use std::collections::BTreeSet;

use jiff::tz::TimeZone;
use singlet_item::Value;
use singlet_item::key::Effort;
use singlet_model::Model;
use singlet_model::evaluate::holds_condition;
use singlet_model::expression::Expr;
use singlet_model::model::SelectionKind;

use self::chance::Chance;
use self::condition::{Asked, Item, Places, Varied};
use self::pool::Pool;
use self::request::{Request, Requests, Scope};
use self::row::{Row, Rows};
use self::untried::Untried;
use crate::by_hand::ByHand;
use crate::{meaning, show};

/// Requests that are tried for one read.
const REQUESTS_MAX: usize = 32;
/// Draws for them: some find no row that is meant, or a caller who may not.
const DRAWS_MAX: usize = 4 * REQUESTS_MAX;
/// Rows that are meant, in one request, around which others are tried.
const CENTRES_MAX: usize = 2;
/// Rows that differ in two attributes, for each of those.
const PAIRS_MAX: usize = 24;
/// Values that a witness shows.
const SHOWN_MAX: usize = 4;

/// What a trial found.
#[derive(Debug, Default)]
pub struct Trial {
    /// A row that is meant and not read.
    pub missed: Option<Missed>,
    /// A row that is read and not meant.
    pub extra: Option<Extra>,
    /// Why nothing, or not everything, was compared.
    pub undecided: Option<String>,
}

/// A row that is meant and not read.
#[derive(Debug)]
pub struct Missed {
    /// What was sent, as far as it matters: names and values.
    pub request: Vec<(String, String)>,
    /// The row, as far as it matters.
    pub row: Vec<(String, String)>,
    /// Why it is not read.
    pub why: WhyMissed,
}

/// Why a row is not read.
#[derive(Debug)]
pub enum WhyMissed {
    /// It is not in the index.
    NotInIndex,
    /// A key does not meet its comparison.
    Key {
        /// The key attribute.
        attribute: String,
        /// What the row has.
        stored: String,
        /// What is asked for.
        asked: String,
    },
    /// The filter drops it.
    Filter,
    /// The query that is written asks for what no row that is meant has.
    Astray {
        /// The key attribute.
        attribute: String,
        /// What is asked for.
        asked: String,
    },
    /// It needs more queries than are made.
    Queries {
        /// At least so many.
        needed: u64,
    },
}

/// A row that is read and not meant.
#[derive(Debug)]
pub struct Extra {
    /// What was sent, as far as it matters: names and values.
    pub request: Vec<(String, String)>,
    /// The row, as far as it matters.
    pub row: Vec<(String, String)>,
    /// The part of the meaning that is not true of it.
    pub untrue: String,
}

/// How many steps trying all conditions of a model takes at most: a hundred reads of large rows, some hundred of small ones.
pub const TRIALS_STEPS_MAX: u64 = 5_000_000;

/// Tries a condition by hand. A step is a row held against a part of the meaning or a template.
pub fn try_condition(model: &Model, by_hand: &ByHand<'_>, effort: &Effort) -> Trial {
    let undecided = |reason: String| Trial {
        undecided: Some(reason),
        ..Trial::default()
    };
    if effort.is_spent() {
        return undecided(SPENT.to_owned());
    }
    match Stage::new(model, by_hand) {
        Ok(stage) => stage.play(effort),
        Err(reason) => undecided(reason.to_string()),
    }
}

/// Why a read is not tried, or not to its end.
const SPENT: &str = "the conditions by hand of this model take more trying than is done at once";

/// Everything that a trial of one read needs.
struct Stage<'a> {
    by_hand: &'a ByHand<'a>,
    pool: Pool,
    requests: Requests<'a>,
    places: Places<'a>,
    /// Every conjunct of `where`, and what history implies.
    meaning: Vec<Expr>,
    /// What `allow` says about the row.
    allow: Vec<Expr>,
    model: &'a Model,
}

/// A combination of optional arguments: what is meant, what is kept, and the rows to try.
struct Scene<'a> {
    meaning: Vec<Expr>,
    filter: Vec<Expr>,
    rows: Rows<'a>,
}

/// A row that is tried, and what is known of it.
struct Tried<'a> {
    row: Row,
    items: Vec<Item<'a>>,
    /// The first conjunct of the meaning that does not hold.
    untrue: Option<usize>,
    admitted: bool,
}

impl Tried<'_> {
    fn is_meant(&self) -> bool {
        self.untrue.is_none() && self.admitted
    }
}

impl<'a> Stage<'a> {
    fn new(model: &'a Model, by_hand: &'a ByHand<'a>) -> Result<Self, Untried> {
        let (read, using) = (by_hand.read, by_hand.using);
        let zone = TimeZone::get(&model.zone).map_err(|_| Untried::Zone(model.zone.clone()))?;
        let mut pool = Pool::new(zone, model.table.delimiter, by_hand.query_count());
        let meaning: Vec<Expr> = meaning::meaning_conjuncts(by_hand.selection, None, &|_| true)
            .into_iter()
            .cloned()
            .chain(crate::read::history_conditions(model.source_of(by_hand.entity), read))
            .collect();
        let allow = read.allow.conjuncts().into_iter();
        let allow: Vec<Expr> = allow
            .filter(|conjunct| !conjunct.attributes().is_empty())
            .cloned()
            .collect();
        let places = Places::of(model, by_hand.entity, using);
        if places.each.is_empty() {
            return Err(Untried::NoPlace {
                entity: by_hand.entity.name.clone(),
                place: by_hand.place_name(),
            });
        }
        let named: Vec<&Expr> = meaning.iter().chain(&allow).chain(&using.filter).collect();
        let whens = places
            .each
            .iter()
            .flat_map(|(_, choices)| choices.iter())
            .filter_map(|choice| choice.when.as_ref());
        named
            .iter()
            .copied()
            .chain(whens)
            .for_each(|expr| pool.learn_expression(expr));
        let templates = using
            .key
            .iter()
            .flat_map(|key| condition::comparison_templates(&key.comparison));
        templates.for_each(|template| pool.learn_template(&template.template));
        let requests = Requests::new(model, read, &named, &pool)?;
        Ok(Stage {
            by_hand,
            pool,
            requests,
            places,
            meaning,
            allow,
            model,
        })
    }

    fn play(&self, effort: &Effort) -> Trial {
        let mut trial = Trial::default();
        let mut chance = Chance::named(&self.by_hand.read.name);
        let scenes: Vec<Scene<'a>> = self
            .requests
            .combinations()
            .iter()
            .map(|sent| self.scene(sent))
            .collect();
        let (mut asked_any, mut played) = (false, 0);
        for (scene, sent) in scenes.iter().zip(self.requests.combinations()).cycle().take(DRAWS_MAX) {
            if played == REQUESTS_MAX || (trial.missed.is_some() && trial.extra.is_some()) {
                break;
            }
            if let Some(path) = scene.rows.untried() {
                trial.undecided = Some(format!("`{path}` is of a type of which no value is tried"));
                return trial;
            }
            if effort.has_given_up() {
                trial.undecided = Some(SPENT.to_owned());
                return trial;
            }
            let Some(mut request) = self.requests.draw(&mut chance, sent, &self.pool) else {
                effort.take_steps(1);
                continue;
            };
            let mut tried = self.tried(scene, &request, &mut chance);
            if tried.is_none() {
                // No row was found for the request: perhaps a request can be found for a row.
                scene.rows.fit_request(&mut request, &mut chance, &self.pool);
                tried = self.tried(scene, &request, &mut chance);
            }
            effort.take_steps(self.steps(scene, tried.as_deref()));
            let Some(asked) = Asked::of(self.by_hand.using, &request, &self.pool) else {
                continue;
            };
            asked_any = true;
            if let Some(tried) = tried {
                played += 1;
                self.judge(&tried, scene, &asked, &request, &mut trial);
            }
        }
        trial.undecided = match (asked_any, played) {
            (false, _) => Some(self.unasked()),
            (true, 0) => Some("no row that is meant was found to try".to_owned()),
            (true, _) => self.requests.left_out(),
        };
        trial
    }

    /// How many steps it takes to try some rows; where there is none, to look for one.
    fn steps(&self, scene: &Scene<'a>, tried: Option<&[Tried<'a>]>) -> usize {
        let choices = self.places.each.iter().map(|(_, choices)| choices.len());
        let of_each = scene.meaning.len() + self.allow.len() + scene.filter.len() + choices.sum::<usize>();
        tried.map_or(CENTRES_MAX, <[Tried<'a>]>::len).saturating_mul(of_each)
    }

    /// What is compared where some optional arguments are sent.
    fn scene(&self, sent: &[&str]) -> Scene<'a> {
        let is_sent = |name: &str| self.requests.is_sent(name, sent);
        let kept = |conjunct: &&Expr| !meaning::is_left_out(conjunct, &is_sent);
        let meaning: Vec<Expr> = self.meaning.iter().filter(kept).cloned().collect();
        let filter = self.by_hand.using.filter.iter().flat_map(|filter| filter.conjuncts());
        Scene {
            filter: filter.filter(kept).cloned().collect(),
            rows: self.rows(&meaning),
            meaning,
        }
    }

    /// Why no request could be made.
    fn unasked(&self) -> String {
        let known = |path: &str| {
            let first = path.split('.').next().unwrap_or(path);
            let plain = path
                .chars()
                .all(|letter| letter.is_alphanumeric() || "._-".contains(letter));
            plain && !first.is_empty()
        };
        match request::template_paths(self.by_hand.read).find(|path| !known(path)) {
            Some(path) => format!("`{{{path}}}` is no plain value of the request"),
            None => "no request could be made to try it with".to_owned(),
        }
    }

    fn rows(&self, meaning: &[Expr]) -> Rows<'a> {
        let conjuncts: Vec<Expr> = meaning.iter().chain(&self.allow).cloned().collect();
        let mut mentioned = BTreeSet::new();
        self.by_hand
            .using
            .filter
            .iter()
            .for_each(|filter| row::attribute_paths(filter, &mut mentioned));
        for choice in self.places.each.iter().flat_map(|(_, choices)| choices.iter()) {
            choice
                .when
                .iter()
                .for_each(|when| row::attribute_paths(when, &mut mentioned));
            let parts = choice.keys.iter().flat_map(|key| &key.parts);
            mentioned.extend(parts.map(|part| part.path.clone()));
        }
        let mentioned: Vec<String> = mentioned.into_iter().collect();
        Rows::of(self.model, self.by_hand.entity, conjuncts, &mentioned, &self.pool)
    }

    /// Rows that are meant, and those around them; none where none is meant.
    fn tried(&self, scene: &Scene<'a>, request: &Request, chance: &mut Chance) -> Option<Vec<Tried<'a>>> {
        let mut all: Vec<Row> = Vec::new();
        for _ in 0..CENTRES_MAX {
            let Some(centre) = scene.rows.draw(request, chance, &self.pool) else {
                continue;
            };
            all.push(centre.clone());
            all.extend(scene.rows.near(&centre, request, &self.pool));
            all.extend((0..PAIRS_MAX).filter_map(|_| scene.rows.further(&centre, request, chance, &self.pool)));
        }
        let known = |row: Row| {
            let scope = Scope {
                request,
                row: Some(&row),
                zone: self.pool.zone(),
            };
            let mut untrue = None;
            for (at, conjunct) in scene.meaning.iter().enumerate() {
                if !holds_condition(conjunct, &scope).ok()? {
                    untrue = Some(at);
                    break;
                }
            }
            let admitted = self
                .allow
                .iter()
                .all(|conjunct| holds_condition(conjunct, &scope).unwrap_or(false));
            let items = self.places.items(&row, request, &self.pool);
            Some(Tried {
                row,
                items,
                untrue,
                admitted,
            })
        };
        let tried: Vec<Tried<'a>> = all.into_iter().filter_map(known).collect();
        (!tried.is_empty()).then_some(tried)
    }

    fn judge(&self, tried: &[Tried<'a>], scene: &Scene<'a>, asked: &Asked<'_>, request: &Request, trial: &mut Trial) {
        let queries = self.by_hand.query_count();
        let varied = match queries {
            1 => Varied::default(),
            _ => {
                let meant = tried.iter().filter(|tried| tried.is_meant());
                let items: Vec<&Vec<Item<'a>>> = meant.map(|tried| &tried.items).collect();
                Varied::among(asked, &items)
            }
        };
        // Which cells a circle needs is counted where circles are known.
        let counts = !varied.has_cells;
        if trial.missed.is_none() && counts {
            trial.missed = self.too_few(&varied, asked, request);
        }
        for tried in tried {
            let reads = |item: &Item<'a>| {
                let asks = varied.asks_for(asked, item) && asked.unmet(item, &varied).is_none();
                asks && self.passes(&scene.filter, item, &tried.row, request)
            };
            let read = tried.items.iter().any(reads);
            if trial.missed.is_none() && tried.is_meant() && !read && (counts || queries == 1) {
                trial.missed = Some(Missed {
                    request: self.shown_request(request),
                    row: self.shown_row(&tried.row, &scene.filter),
                    why: self.why_missed(tried, asked, &varied),
                });
            }
            if trial.extra.is_none() && read {
                trial.extra = self.extra(tried, scene, request);
            }
        }
    }

    /// Where several queries are made: that more are needed, or that the one which is written is none of them.
    fn too_few(&self, varied: &Varied, asked: &Asked<'_>, request: &Request) -> Option<Missed> {
        let why = match varied.astray(asked) {
            Some(key) => WhyMissed::Astray {
                attribute: key.attribute.to_owned(),
                asked: key.shown(),
            },
            None => WhyMissed::Queries {
                needed: Some(varied.needed()).filter(|needed| *needed > self.by_hand.query_count())?,
            },
        };
        Some(Missed {
            request: self.shown_request(request),
            row: Vec::new(),
            why,
        })
    }

    /// A row that is read, if it is not meant.
    fn extra(&self, tried: &Tried<'a>, scene: &Scene<'a>, request: &Request) -> Option<Extra> {
        // Whether a row that is got alone may be seen can be asked after it was read.
        let is_get = matches!(self.by_hand.selection.kind, SelectionKind::Get { .. });
        // Which of the versions comes first, a limit decides among them all.
        let of_versions = self.by_hand.entity.history.is_some() && self.by_hand.using.limit.is_some();
        let scope = Scope {
            request,
            row: Some(&tried.row),
            zone: self.pool.zone(),
        };
        let unadmitted = || {
            self.allow
                .iter()
                .find(|conjunct| !holds_condition(conjunct, &scope).unwrap_or(false))
        };
        let untrue = tried.untrue.and_then(|at| scene.meaning.get(at));
        let untrue = untrue
            .or_else(|| unadmitted().filter(|_| !is_get))
            .filter(|_| !of_versions)?;
        Some(Extra {
            request: self.shown_request(request),
            row: self.shown_row(&tried.row, [untrue]),
            untrue: show::expression_in(&self.model.catalog, untrue),
        })
    }

    /// Whether the filter keeps an item: a mirror has only what it carries.
    fn passes(&self, filter: &[Expr], item: &Item<'a>, row: &Row, request: &Request) -> bool {
        let mut row = row.clone();
        if item.entity.id != self.by_hand.entity.id {
            row.retain(|name, _| item.entity.attribute(name).is_some());
        }
        let scope = Scope {
            request,
            row: Some(&row),
            zone: self.pool.zone(),
        };
        filter
            .iter()
            .all(|conjunct| holds_condition(conjunct, &scope).unwrap_or(false))
    }

    fn why_missed(&self, tried: &Tried<'a>, asked: &Asked<'_>, varied: &Varied) -> WhyMissed {
        let Some(item) = tried.items.first() else {
            return WhyMissed::NotInIndex;
        };
        if tried.items.iter().any(|item| asked.unmet(item, varied).is_none()) {
            return WhyMissed::Filter;
        }
        match asked.unmet(item, varied) {
            Some((key, stored)) => WhyMissed::Key {
                attribute: key.attribute.to_owned(),
                stored: shown(&stored),
                asked: key.shown(),
            },
            None => WhyMissed::Filter,
        }
    }

    /// What was sent, of what the condition or the meaning names.
    fn shown_request(&self, request: &Request) -> Vec<(String, String)> {
        let mut paths: Vec<String> = request::template_paths(self.by_hand.read).map(str::to_owned).collect();
        let expressions = self.meaning.iter().chain(&self.by_hand.using.filter);
        expressions.for_each(|expr| expr.walk(&mut |part| paths.extend(part.path())));
        let mut shown_values: Vec<(String, String)> = Vec::new();
        for path in paths {
            if let Some(value) = request.value_at(&path, self.pool.zone())
                && !shown_values.iter().any(|(known, _)| *known == path)
            {
                shown_values.push((path, shown(&value)));
            }
        }
        shown_values.truncate(SHOWN_MAX);
        shown_values
    }

    /// The attributes of a row that some expressions look at; where they look at none, those of its key.
    fn shown_row<'e>(&self, row: &Row, of: impl IntoIterator<Item = &'e Expr>) -> Vec<(String, String)> {
        let mut paths = BTreeSet::new();
        of.into_iter().for_each(|expr| row::attribute_paths(expr, &mut paths));
        if paths.is_empty() {
            self.meaning
                .iter()
                .for_each(|expr| row::attribute_paths(expr, &mut paths));
        }
        let value = |path: String| {
            let text = row::value_at(row, &path).map_or_else(|| "absent".to_owned(), shown);
            (path, text)
        };
        paths.into_iter().take(SHOWN_MAX).map(value).collect()
    }
}

/// A value for people.
fn shown(value: &Value) -> String {
    match value {
        Value::S(text) => text.clone(),
        Value::N(number) => number.to_string(),
        Value::Bool(truth) => truth.to_string(),
        Value::L(values) => {
            let values: Vec<String> = values.iter().map(shown).collect();
            format!("[{}]", values.join(", "))
        }
        Value::M(map) => {
            let fields: Vec<String> = map
                .iter()
                .map(|(name, value)| format!("{name}: {}", shown(value)))
                .collect();
            format!("{{{}}}", fields.join(", "))
        }
        Value::Ss(words) => format!("[{}]", words.iter().cloned().collect::<Vec<_>>().join(", ")),
        other => other.type_name().to_owned(),
    }
}
