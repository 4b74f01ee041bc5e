//! The index itself: its fields, its mark, and what is put into it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use singlet_face::Face;
use singlet_model::Model;
use singlet_model::evaluate::geo::Place;
use singlet_model::word_forms::Language;
use singlet_model::words::{WORDS_VERSION, texts_of, words_of};
use singlet_plan::read::{search_places, search_terms};
use singlet_runtime::{Attributes, search_term};
use tantivy::directory::{Directory, MmapDirectory, RamDirectory};
use tantivy::index::{SegmentId, SegmentMeta};
use tantivy::indexer::NoMergePolicy;
use tantivy::schema::{FAST, Field, IndexRecordOption, Schema, TextFieldIndexing, TextOptions};
use tantivy::tokenizer::{PreTokenizedString, Token};
use tantivy::{Index, IndexReader, IndexWriter, ReloadPolicy, Searcher, TantivyDocument, Term};

use crate::error::SearchError;

/// Another number, another layout.
const LAYOUT_VERSION: u32 = 3;

/// How many characters the beginnings of words have that are in the index, in order. A beginning is looked up among those that are as long or the next
/// longer, of which there are few: however many words begin with `a`, they begin with one `a`, and with some ten thousand of eight characters.
///
/// **Invariant:** a word that is shorter is among them as it is, so that those of each length stand for all words.
const BEGINNING_CHARS: [usize; 5] = [1, 2, 4, 6, 8];

/// What stands for a place that a row does not have: nowhere on earth.
pub(crate) const NO_DEGREES: f64 = 1_000.0;

/// What the writer holds in memory before it writes a part of the index, in bytes.
const WRITER_BYTES: usize = 20_000_000;

/// So many parts of about one size become one of the next: a row is written once a size, however many rows there are.
const LEVEL_PARTS: usize = 8;

/// Parts with fewer rows than so many times [`LEVEL_PARTS`] are of one size.
const SMALL_PART_ROWS: u32 = 1_000;

/// Where an index lies.
#[derive(Clone, Debug)]
pub enum IndexPlace {
    /// In memory: it ends with the process.
    Memory,
    /// In a folder that is this process's alone.
    Folder(PathBuf),
    /// In a directory of tantivy's.
    #[cfg(test)]
    Directory(Box<dyn Directory>),
}

impl IndexPlace {
    /// Whether it outlives the process.
    pub(crate) fn is_kept(&self) -> bool {
        !matches!(self, IndexPlace::Memory)
    }

    fn directory(&self) -> Result<Box<dyn Directory>, SearchError> {
        match self {
            IndexPlace::Memory => Ok(Box::new(RamDirectory::create())),
            IndexPlace::Folder(folder) => {
                make_folder(folder)?;
                let opened = MmapDirectory::open(folder);
                Ok(Box::new(opened.map_err(|error| SearchError::Index(error.to_string()))?))
            }
            #[cfg(test)]
            IndexPlace::Directory(directory) => Ok(directory.clone()),
        }
    }

    /// Removes what lies there, where it cannot be read.
    fn clear(&self) -> Result<(), SearchError> {
        let IndexPlace::Folder(folder) = self else {
            return Ok(());
        };
        for entry in std::fs::read_dir(folder)? {
            let path = entry?.path();
            if path.is_file() {
                std::fs::remove_file(path)?;
            }
        }
        Ok(())
    }

    /// Nobody but the owner reads the words.
    fn keep_to_owner(&self) -> Result<(), SearchError> {
        #[cfg(unix)]
        if let IndexPlace::Folder(folder) = self {
            use std::os::unix::fs::PermissionsExt;
            for entry in std::fs::read_dir(folder)? {
                // A file may be gone by now: parts are put together and removed.
                let _ = std::fs::set_permissions(entry?.path(), std::fs::Permissions::from_mode(0o600));
            }
        }
        Ok(())
    }
}

/// Makes the folder of an index, and none above it: where those are gone, the data are gone or elsewhere, and nothing is made anew.
fn make_folder(folder: &Path) -> Result<(), SearchError> {
    let mut builder = std::fs::DirBuilder::new();
    #[cfg(unix)]
    {
        use std::os::unix::fs::DirBuilderExt;
        builder.mode(0o700);
    }
    match builder.create(folder) {
        Err(error) if error.kind() != std::io::ErrorKind::AlreadyExists => Err(error.into()),
        _ => Ok(()),
    }
}

/// What a commit says of an index.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Mark {
    /// The name under which the table knows it.
    pub id: String,
    /// What it has of which rows.
    pub layout: String,
    /// Up to where it has the changes.
    pub position: Option<String>,
    /// The position of the commit before.
    pub before: Option<String>,
}

/// The fields of the index.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fields {
    pub key: Field,
    pub terms: Field,
    pub words: Field,
    /// What words are without their endings, where a language is named.
    pub forms: Field,
    /// What words begin with.
    pub beginnings: Field,
    /// Where rows are: of each attribute that is a place, in the order of [`Searched::places`].
    pub latitudes: Field,
    pub longitudes: Field,
}

/// The names of the fields of places.
pub(crate) const LATITUDES: &str = "latitudes";
pub(crate) const LONGITUDES: &str = "longitudes";

fn schema() -> (Schema, Fields) {
    let raw = |option: IndexRecordOption, norms: bool| {
        TextFieldIndexing::default()
            .set_tokenizer("raw")
            .set_index_option(option)
            .set_fieldnorms(norms)
    };
    let mut builder = Schema::builder();
    let key = TextOptions::default()
        .set_indexing_options(raw(IndexRecordOption::Basic, false))
        .set_fast("raw");
    let terms = TextOptions::default().set_indexing_options(raw(IndexRecordOption::Basic, false));
    let words = TextOptions::default().set_indexing_options(raw(IndexRecordOption::WithFreqs, true));
    let forms = TextOptions::default().set_indexing_options(raw(IndexRecordOption::WithFreqs, false));
    let beginnings = forms.clone();
    let fields = Fields {
        key: builder.add_text_field("key", key),
        terms: builder.add_text_field("terms", terms),
        words: builder.add_text_field("words", words),
        forms: builder.add_text_field("forms", forms),
        beginnings: builder.add_text_field("beginnings", beginnings),
        latitudes: builder.add_f64_field(LATITUDES, FAST),
        longitudes: builder.add_f64_field(LONGITUDES, FAST),
    };
    (builder.build(), fields)
}

/// What an index has of an entity's rows.
#[derive(Clone, Debug)]
pub(crate) struct Searched {
    pub entity: String,
    /// What stands for how its rows are stored: an index holds their keys, and those of another model lead nowhere.
    pub face: String,
    pub attributes: Vec<String>,
    pub language: Option<Language>,
    pub terms: BTreeSet<String>,
    pub places: Vec<String>,
}

/// What of a model's rows is searched.
pub(crate) fn searched_entities(model: &Model) -> Vec<Searched> {
    let searches = model.searches.iter();
    // What settings say of keys is left out: a service with other ones is refused by its table.
    let faces = Face::of(model, &BTreeMap::new()).entity_hashes();
    let searched = searches.filter_map(|search| {
        let entity = model.entity(search.entity)?.name.clone();
        Some(Searched {
            face: faces.get(&entity).cloned().unwrap_or_default(),
            entity,
            attributes: search.attributes.clone(),
            language: search.language,
            terms: search_terms(model, search.entity),
            places: search_places(model, search.entity).into_iter().collect(),
        })
    });
    searched.collect()
}

/// All that an index depends on, in words: where it is another, the index is made anew.
pub(crate) fn layout_of(searched: &[Searched]) -> String {
    let mut said = vec![format!("layout {LAYOUT_VERSION} words {WORDS_VERSION}")];
    for one in searched {
        let terms: Vec<&str> = one.terms.iter().map(String::as_str).collect();
        let language = one.language.map(|language| format!(" in {language}"));
        said.push(format!(
            "{} as {}: {}{} by {} at {}",
            one.entity,
            one.face,
            one.attributes.join(" "),
            language.unwrap_or_default(),
            terms.join(" "),
            one.places.join(" ")
        ));
    }
    said.join("\n")
}

/// A word of an entity's rows, as the index has it: words of one entity do not count for another.
pub(crate) fn word_text(entity: &str, word: &str) -> String {
    format!("{entity}\u{1}{word}")
}

/// Under which field, and as which text, the words of an entity's rows that begin with something are to be looked for.
pub(crate) fn beginning_in(fields: Fields, entity: &str, beginning: &str) -> (Field, String) {
    let count = beginning.chars().count();
    match BEGINNING_CHARS.into_iter().find(|chars| count <= *chars) {
        Some(chars) => (fields.beginnings, beginning_text(entity, chars, beginning)),
        None => (fields.words, word_text(entity, beginning)),
    }
}

/// A beginning of words of an entity's rows, as the index has it.
fn beginning_text(entity: &str, chars: usize, beginning: &str) -> String {
    format!("{entity}\u{1}{chars}\u{1}{beginning}")
}

/// The beginnings of a word that the index has.
fn beginnings_of<'w>(entity: &'w str, word: &'w str) -> impl Iterator<Item = String> + 'w {
    BEGINNING_CHARS.into_iter().map(move |chars| {
        let end = word.char_indices().nth(chars).map_or(word.len(), |(end, _)| end);
        beginning_text(entity, chars, word.get(..end).unwrap_or(word))
    })
}

/// A term of an entity's rows, as the index has it.
pub(crate) fn term_text(entity: &str, term: &str) -> String {
    format!("{entity}\u{1}{term}")
}

/// Parts of about one size, where there are enough of them.
fn full_level(parts: &[SegmentMeta]) -> Option<Vec<SegmentId>> {
    let mut levels: BTreeMap<u32, Vec<SegmentId>> = BTreeMap::new();
    for part in parts {
        let level = (part.num_docs() / SMALL_PART_ROWS).max(1).ilog(LEVEL_PARTS as u32);
        levels.entry(level).or_default().push(part.id());
    }
    levels.into_values().find(|parts| parts.len() >= LEVEL_PARTS)
}

fn token(text: String, position: usize) -> Token {
    Token {
        text,
        position,
        ..Token::default()
    }
}

/// An index that is written.
pub(crate) struct WordIndex {
    place: IndexPlace,
    index: Index,
    writer: IndexWriter,
    reader: IndexReader,
    pub fields: Fields,
    pub mark: Mark,
}

impl WordIndex {
    /// Opens the index, or makes an empty one where there is none or what is there cannot be read.
    pub fn open(place: &IndexPlace) -> Result<Self, SearchError> {
        match Self::open_there(place) {
            Err(SearchError::Held) => Err(SearchError::Held),
            Err(error) if matches!(place, IndexPlace::Folder(_)) => {
                tracing::warn!(%error, "the search index cannot be read and is built again");
                place.clear()?;
                Self::open_there(place)
            }
            opened => opened,
        }
    }

    fn open_there(place: &IndexPlace) -> Result<Self, SearchError> {
        let (schema, fields) = schema();
        let index = Index::open_or_create(place.directory()?, schema)?;
        let writer: IndexWriter = index.writer_with_num_threads(1, WRITER_BYTES)?;
        writer.set_merge_policy(Box::new(NoMergePolicy));
        // What a process left that ended half-way has names that this one would give again.
        writer.garbage_collect_files().wait()?;
        let reader = index.reader_builder().reload_policy(ReloadPolicy::Manual).try_into()?;
        let payload = index.load_metas()?.payload;
        let mark = payload.and_then(|text| serde_json::from_str(&text).ok());
        place.keep_to_owner()?;
        Ok(WordIndex {
            place: place.clone(),
            index,
            writer,
            reader,
            fields,
            mark: mark.unwrap_or_default(),
        })
    }

    /// Takes all rows out.
    pub fn clear(&mut self) -> Result<(), SearchError> {
        self.writer.delete_all_documents()?;
        Ok(())
    }

    /// Has a row as it became, or as gone.
    pub fn put_row(&self, searched: &Searched, key: &str, row: Option<&Attributes>) -> Result<(), SearchError> {
        self.writer.delete_term(Term::from_field_text(self.fields.key, key));
        let Some(row) = row else { return Ok(()) };
        let (mut words, mut forms, mut beginnings) = (Vec::new(), Vec::new(), Vec::new());
        let values = searched.attributes.iter().filter_map(|name| row.get(name));
        let texts = values.flat_map(texts_of);
        for word in texts.flat_map(|text| words_of(text, searched.language)) {
            words.push(token(word_text(&searched.entity, &word.text), words.len()));
            for form in &word.forms {
                forms.push(token(word_text(&searched.entity, form), forms.len()));
            }
            for beginning in beginnings_of(&searched.entity, &word.text) {
                beginnings.push(token(beginning, beginnings.len()));
            }
        }
        if words.is_empty() {
            return Ok(());
        }
        let mut document = TantivyDocument::new();
        document.add_text(self.fields.key, key);
        document.add_text(self.fields.terms, &searched.entity);
        for name in &searched.terms {
            if let Some(term) = row.get(name).and_then(|value| search_term(name, value)) {
                document.add_text(self.fields.terms, term_text(&searched.entity, &term));
            }
        }
        for name in &searched.places {
            let place = row.get(name).and_then(Place::from_value);
            let (lat, lon) = place.map_or((NO_DEGREES, NO_DEGREES), |place| (place.lat, place.lon));
            document.add_f64(self.fields.latitudes, lat);
            document.add_f64(self.fields.longitudes, lon);
        }
        let fields = [
            (self.fields.words, words),
            (self.fields.forms, forms),
            (self.fields.beginnings, beginnings),
        ];
        for (field, tokens) in fields {
            let text = String::new();
            document.add_pre_tokenized_text(field, PreTokenizedString { text, tokens });
        }
        self.writer.add_document(document)?;
        Ok(())
    }

    /// Commits what was put, with the mark.
    pub fn commit(&mut self, mark: Mark) -> Result<(), SearchError> {
        let payload = serde_json::to_string(&mark).map_err(|error| SearchError::Index(error.to_string()))?;
        let mut prepared = self.writer.prepare_commit()?;
        prepared.set_payload(&payload);
        prepared.commit()?;
        self.mark = mark;
        self.place.keep_to_owner()?;
        self.reader.reload()?;
        while let Some(parts) = full_level(&self.index.searchable_segment_metas()?) {
            self.merge(&parts)?;
        }
        Ok(())
    }

    /// Writes anew every part of the index that still has words of rows that are gone or became others. Afterwards no file has them.
    pub fn erase_gone(&mut self) -> Result<(), SearchError> {
        let parts = self.index.searchable_segment_metas()?;
        let parts = parts.iter().filter(|part| part.has_deletes());
        let parts: Vec<SegmentId> = parts.map(SegmentMeta::id).collect();
        self.merge(&parts)
    }

    /// Whether words of rows that are gone are still in a file.
    pub(crate) fn has_gone_rows(&self) -> bool {
        let searcher = self.reader.searcher();
        searcher.segment_readers().iter().any(|segment| segment.has_deletes())
    }

    fn merge(&mut self, parts: &[SegmentId]) -> Result<(), SearchError> {
        if !parts.is_empty() {
            self.writer.merge(parts).wait()?;
        }
        self.reader.reload()?;
        self.writer.garbage_collect_files().wait()?;
        self.place.keep_to_owner()
    }

    /// Every word, key and term that is in the index, those of rows that are gone included, as long as they are in a file.
    #[cfg(test)]
    pub(crate) fn all_terms(&self) -> Vec<String> {
        let mut all = Vec::new();
        for segment in self.searcher().segment_readers() {
            let fields = self.fields;
            for field in [fields.key, fields.terms, fields.words, fields.forms, fields.beginnings] {
                let dictionary = segment.inverted_index(field).unwrap();
                let mut terms = dictionary.terms().stream().unwrap();
                while terms.advance() {
                    all.push(String::from_utf8_lossy(terms.key()).into_owned());
                }
            }
        }
        all
    }

    /// What can be searched.
    pub(crate) fn searcher(&self) -> Searcher {
        self.reader.searcher()
    }
}
