//! From items to a model that claims them.

use std::collections::BTreeMap;

use singlet_item::{Item, Value};
use singlet_model::{Model, Source};
use singlet_store::TableSpec;

use crate::claims::{DollarNames, NotClaimed, unlike_items};
use crate::draft::{DraftEntity, Drafting, EFFORTS};
use crate::kinds::{Kind, Kinds, kinds_of};
use crate::model_text::{ModelTable, model_text};
use crate::templates::is_upper_label;

/// A model that is proposed.
#[derive(Clone, Debug)]
pub struct Proposal {
    /// The model file.
    pub text: String,
    /// Its entities, those with most items first.
    pub entities: Vec<ProposedEntity>,
    /// Items that are no entity's, most first.
    pub not_claimed: Vec<NotClaimed>,
    /// Items that Singlet keeps for itself: guards, records, its control row.
    pub own: usize,
}

impl Proposal {
    /// How many items are rows of the model, each of which encodes back as it is.
    pub fn claimed_count(&self) -> usize {
        self.entities.iter().map(|entity| entity.claimed).sum()
    }

    /// How many items are not.
    pub fn unclaimed_count(&self) -> usize {
        self.not_claimed.iter().map(|group| group.count).sum()
    }
}

/// An entity that is proposed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProposedEntity {
    /// Its name.
    pub name: String,
    /// Items that were taken for its rows.
    pub items: usize,
    /// Those of them that encode back as they are.
    pub claimed: usize,
    /// Its key attributes and their templates.
    pub keys: Vec<(String, String)>,
    /// The indexes that it has entries in, with templates where its keys are made.
    pub indexes: Vec<(String, Vec<(String, String)>)>,
}

/// A kind with the best draft that was found for it.
struct Settled<'a> {
    draft: DraftEntity,
    items: Vec<&'a Item>,
}

/// Proposes a model for a table.
pub fn propose_model(name: &str, spec: &TableSpec, items: &[Item]) -> Proposal {
    let Some(kinds) = kinds_of(spec, items) else {
        return Proposal {
            text: String::new(),
            entities: Vec::new(),
            not_claimed: Vec::new(),
            own: 0,
        };
    };
    let table = ModelTable {
        name,
        spec,
        delimiter: kinds.delimiter.character(),
        type_attribute: kinds.type_attribute.as_deref(),
    };
    let proposing = Proposing { table, kinds: &kinds };
    proposing.whole()
}

struct Proposing<'k, 'a> {
    table: ModelTable<'k>,
    kinds: &'k Kinds<'a>,
}

impl<'a> Proposing<'_, 'a> {
    fn whole(&self) -> Proposal {
        let mut misfits = Misfits::default();
        let rest = self
            .kinds
            .rest
            .iter()
            .map(|item| (*item, "it is of one more kind than are proposed".to_owned()));
        misfits.add(self, None, rest);
        let mut settled: Vec<Settled<'a>> = Vec::new();
        for kind in &self.kinds.kinds {
            match self.settle(kind) {
                Some(draft) => settled.push(Settled {
                    draft,
                    items: kind.items.clone(),
                }),
                None => misfits.add(
                    self,
                    None,
                    kind.items
                        .iter()
                        .map(|item| (*item, "no entity can be made of its kind".to_owned())),
                ),
            }
        }
        // Each is sound by itself; together they may not be. What has least items goes first.
        let mut model = self.load(&settled);
        while model.is_none() {
            let Some(dropped) = settled.pop() else { break };
            let reason = "its entity does not go with the others".to_owned();
            misfits.add(
                self,
                Some(&dropped.draft.name),
                dropped.items.iter().map(|item| (*item, reason.clone())),
            );
            model = self.load(&settled);
        }
        let entities = settled
            .iter()
            .map(|settled| self.proposed(settled, model.as_ref(), &mut misfits));
        let entities: Vec<ProposedEntity> = entities.collect();
        let drafts: Vec<&DraftEntity> = settled.iter().map(|settled| &settled.draft).collect();
        Proposal {
            text: model_text(&self.table, &drafts),
            entities,
            not_claimed: misfits.sorted(),
            own: self.kinds.own,
        }
    }

    /// The draft of a kind that claims most items, and the first of those that claim as many.
    fn settle(&self, kind: &Kind<'a>) -> Option<DraftEntity> {
        let drafting = Drafting {
            spec: self.table.spec,
            delimiter: self.kinds.delimiter,
            type_attribute: self.table.type_attribute,
        };
        let mut best: Option<(usize, DraftEntity)> = None;
        for effort in EFFORTS {
            let draft = drafting.draft_entity(kind, effort);
            let Some(model) = loaded(&model_text(&self.table, &[&draft])) else {
                continue;
            };
            let claimed = kind.items.len() - self.unlike(&model, &draft.name, &kind.items).len();
            // Less may only be said where much more is claimed: a few damaged items are worth no template.
            if best
                .as_ref()
                .is_none_or(|(most, _)| claimed > *most + kind.items.len() / 10)
            {
                best = Some((claimed, draft));
            }
            if claimed == kind.items.len() {
                break;
            }
        }
        best.map(|(_, draft)| draft)
    }

    fn load(&self, settled: &[Settled<'_>]) -> Option<Model> {
        let drafts: Vec<&DraftEntity> = settled.iter().map(|settled| &settled.draft).collect();
        loaded(&model_text(&self.table, &drafts))
    }

    fn proposed(&self, settled: &Settled<'a>, model: Option<&Model>, misfits: &mut Misfits) -> ProposedEntity {
        let unlike = model.map_or_else(Vec::new, |model| {
            self.unlike(model, &settled.draft.name, &settled.items)
        });
        let claimed = settled.items.len() - unlike.len();
        misfits.add(self, Some(&settled.draft.name), unlike.into_iter());
        ProposedEntity {
            name: settled.draft.name.clone(),
            items: settled.items.len(),
            claimed,
            keys: settled.draft.keys.clone(),
            indexes: settled.draft.indexes.clone(),
        }
    }

    /// The items that are not an entity's, with the reasons.
    fn unlike<'i>(&self, model: &Model, entity: &str, items: &[&'i Item]) -> Vec<(&'i Item, String)> {
        let dollar = match self.kinds.own {
            0 => DollarNames::Attributes,
            _ => DollarNames::Marks,
        };
        match model.entities.iter().find(|known| known.name == entity) {
            Some(entity) => unlike_items(model, entity, items, dollar),
            None => items.iter().map(|item| (*item, String::new())).collect(),
        }
    }

    /// A key with its values masked: labels in capitals stand, of everything else only what kind of characters it has.
    fn masked(&self, item: &Item) -> String {
        let delimiter = self.kinds.delimiter.character();
        let keys = self.table.spec.key.attributes().map(|key| {
            let value = match item.get(&key.name) {
                Some(Value::S(text)) => {
                    let tokens = text
                        .split(delimiter)
                        .enumerate()
                        .map(|(at, token)| masked_token(at, token));
                    tokens.collect::<Vec<_>>().join(&delimiter.to_string())
                }
                Some(value) => format!("({})", value.type_name()),
                None => "(none)".to_owned(),
            };
            format!("{}={value}", key.name)
        });
        keys.collect::<Vec<_>>().join(" ")
    }
}

/// The most characters that are shown of a part.
const MASKED_CHARACTERS_MAX: usize = 12;

fn masked_token(at: usize, token: &str) -> String {
    if at == 0 && is_upper_label(token) {
        return token.to_owned();
    }
    let letters = token.chars().take(MASKED_CHARACTERS_MAX).map(|letter| match letter {
        letter if letter.is_numeric() => '9',
        letter if letter.is_alphabetic() => 'x',
        letter => letter,
    });
    let more = if token.chars().count() > MASKED_CHARACTERS_MAX {
        "…"
    } else {
        ""
    };
    letters.chain(more.chars()).collect()
}

/// The model of a text, where the language finds nothing wrong with it.
fn loaded(text: &str) -> Option<Model> {
    let loaded = singlet_model::load_source(&Source::new("model.yaml", text.to_owned()));
    loaded.model.filter(|_| !loaded.diagnostics.has_errors())
}

/// Items that are no entity's, by reason.
#[derive(Default)]
struct Misfits {
    groups: BTreeMap<(Option<String>, String), (usize, String)>,
}

impl Misfits {
    fn add<'i>(
        &mut self,
        proposing: &Proposing<'_, '_>,
        entity: Option<&str>,
        items: impl Iterator<Item = (&'i Item, String)>,
    ) {
        for (item, reason) in items {
            let group = self.groups.entry((entity.map(str::to_owned), reason));
            let (count, _) = group.or_insert_with(|| (0, proposing.masked(item)));
            *count += 1;
        }
    }

    fn sorted(self) -> Vec<NotClaimed> {
        let groups = self
            .groups
            .into_iter()
            .map(|((entity, reason), (count, example))| NotClaimed {
                entity,
                reason,
                count,
                example,
            });
        let mut groups: Vec<NotClaimed> = groups.collect();
        groups.sort_by_key(|group| std::cmp::Reverse(group.count));
        groups
    }
}
