//! Finite automata over characters: the sets of texts that a part of a key can be.

use super::class::Class;
use crate::key::deciding::effort::Effort;
use crate::key::encoding::character_map::CharacterMap;
use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, HashMap};

/// A state, as an index. Every automaton starts in state 0.
pub(crate) type State = usize;

/// A nondeterministic automaton without empty moves. Every state is reachable and can still accept,
/// except that an automaton of no text at all keeps its start.
///
/// What makes one of others takes its steps from an [`Effort`], and is an automaton of no text where there are not enough:
/// whoever asked looks at the effort before it believes that.
#[derive(Clone, Debug)]
pub(crate) struct Automaton {
    nodes: Vec<AutomatonState>,
    alphabet: Class,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct AutomatonState {
    pub(crate) edges: Vec<AutomatonEdge>,
    pub(crate) accepting: bool,
}

#[derive(Clone, Debug)]
pub(crate) struct AutomatonEdge {
    pub(crate) class: Class,
    /// Whether the edge begins a character of the *value*. An escape is three characters of the
    /// text and one of the value, and limits on length are limits of values.
    pub(crate) counted: bool,
    pub(crate) target: State,
}

static NO_NODE: AutomatonState = AutomatonState {
    edges: Vec::new(),
    accepting: false,
};

impl Automaton {
    /// The automaton of every text.
    pub(crate) fn any() -> Self {
        Self::repeated_class(Class::any())
    }

    /// The automaton of every text over one class.
    pub(crate) fn repeated_class(class: Class) -> Self {
        let edge = AutomatonEdge {
            class,
            counted: true,
            target: 0,
        };
        Self::trimmed_nodes(vec![AutomatonState {
            edges: vec![edge],
            accepting: true,
        }])
    }

    /// The automaton of these texts.
    pub(crate) fn of_words<'a>(words: impl IntoIterator<Item = &'a str>) -> Self {
        let mut trie = Trie::new();
        words.into_iter().for_each(|word| trie.insert(word));
        trie.finish()
    }

    pub(crate) fn node(&self, state: State) -> &AutomatonState {
        self.nodes.get(state).unwrap_or(&NO_NODE)
    }

    pub(crate) fn nodes(&self) -> &[AutomatonState] {
        &self.nodes
    }

    /// Every character that occurs in some text.
    pub(crate) fn alphabet(&self) -> &Class {
        &self.alphabet
    }

    /// Whether there is no text at all.
    pub(crate) fn is_empty(&self) -> bool {
        // States that cannot accept are cut, so a start without edges that does not accept is all.
        self.node(0).edges.is_empty() && !self.node(0).accepting
    }

    /// The automaton of the texts that `map` makes of these.
    pub(crate) fn image_under(&self, map: &CharacterMap, effort: &Effort) -> Self {
        let moved = map.moved_characters();
        let mut nodes: Vec<AutomatonState> = self
            .nodes
            .iter()
            .map(|node| AutomatonState { edges: vec![], ..*node })
            .collect();
        for (state, node) in self.nodes.iter().enumerate() {
            for edge in &node.edges {
                let mut kept = edge.class.without(&moved);
                let mut sequences = Vec::new();
                let encoded = edge.class.meet(&moved);
                if !effort.take_steps(1 + encoded.size()) {
                    return Self::trimmed_nodes(Vec::new());
                }
                for character in encoded.characters() {
                    let text = map.encode_word(character.encode_utf8(&mut [0; 4]));
                    match single_character(&text) {
                        Some(character) => kept.insert(character),
                        None => sequences.push(text),
                    }
                }
                push_edge(
                    &mut nodes,
                    state,
                    AutomatonEdge {
                        class: kept,
                        ..edge.clone()
                    },
                );
                let suffixes = sequences.iter().map(String::as_str).collect();
                push_sequences(&mut nodes, state, suffixes, edge);
            }
        }
        Self::trimmed_nodes(nodes)
    }

    /// The automaton of the texts that both accept. An edge counts if it does here.
    pub(crate) fn meet_texts(&self, other: &Self, effort: &Effort) -> Self {
        let mut pairs = Interner::new((0, 0));
        let mut nodes = Vec::new();
        while let Some((left, right)) = pairs.get(nodes.len()) {
            let (left, right) = (self.node(left), other.node(right));
            let mut node = AutomatonState {
                edges: vec![],
                accepting: left.accepting && right.accepting,
            };
            for (one, two) in left
                .edges
                .iter()
                .flat_map(|one| right.edges.iter().map(move |two| (one, two)))
            {
                if !effort.take_steps(one.class.meeting_steps()) {
                    return Self::trimmed_nodes(Vec::new());
                }
                let class = one.class.meet(&two.class);
                if !class.is_empty() {
                    let target = pairs.intern((one.target, two.target));
                    node.edges.push(AutomatonEdge {
                        class,
                        counted: one.counted,
                        target,
                    });
                }
            }
            nodes.push(node);
        }
        Self::trimmed_nodes(nodes)
    }

    /// The automaton of the beginnings, `length` characters long, of these texts.
    pub(crate) fn truncated_texts(&self, length: usize, effort: &Effort) -> Self {
        let mut places = Interner::new((0, 0));
        let mut nodes = Vec::new();
        while let Some((state, depth)) = places.get(nodes.len()) {
            if !effort.take_steps(1 + self.node(state).edges.len()) {
                return Self::trimmed_nodes(Vec::new());
            }
            let mut node = AutomatonState {
                edges: vec![],
                accepting: depth == length,
            };
            if depth < length {
                for edge in &self.node(state).edges {
                    let target = places.intern((edge.target, depth + 1));
                    node.edges.push(AutomatonEdge { target, ..edge.clone() });
                }
            }
            nodes.push(node);
        }
        Self::trimmed_nodes(nodes)
    }

    /// Cuts the states that are not reachable or cannot accept, and gathers the alphabet.
    pub(crate) fn trimmed_nodes(nodes: Vec<AutomatonState>) -> Self {
        let live = accepting_ancestors(&nodes);
        let is_live = |state: State| live.get(state).copied().unwrap_or(false);
        let mut order = Interner::new(0);
        let mut kept = Vec::new();
        let mut alphabet = Class::empty();
        while let Some(old) = order.get(kept.len()) {
            let node = nodes.get(old).unwrap_or(&NO_NODE);
            let mut edges = Vec::new();
            for edge in node.edges.iter().filter(|edge| is_live(edge.target)) {
                alphabet.join(&edge.class);
                edges.push(AutomatonEdge {
                    target: order.intern(edge.target),
                    ..edge.clone()
                });
            }
            kept.push(AutomatonState {
                edges,
                accepting: node.accepting,
            });
        }
        Self { nodes: kept, alphabet }
    }
}

/// Numbers things in the order in which they are first seen.
pub(crate) struct Interner<T> {
    numbers: HashMap<T, State>,
    things: Vec<T>,
}

impl<T: Clone + Eq + std::hash::Hash> Interner<T> {
    /// An interner in which `first` is number 0.
    pub(crate) fn new(first: T) -> Self {
        Self {
            numbers: HashMap::from([(first.clone(), 0)]),
            things: vec![first],
        }
    }

    pub(crate) fn get(&self, number: State) -> Option<T> {
        self.things.get(number).cloned()
    }

    pub(crate) fn intern(&mut self, thing: T) -> State {
        match self.numbers.entry(thing) {
            Entry::Occupied(entry) => *entry.get(),
            Entry::Vacant(entry) => {
                self.things.push(entry.key().clone());
                *entry.insert(self.things.len() - 1)
            }
        }
    }
}

/// Words that share their beginnings, and in the end what follows them too: a list of thousands has few states, each of
/// which a character leaves in one way only.
struct Trie {
    nodes: Vec<TrieNode>,
}

#[derive(Default)]
struct TrieNode {
    edges: BTreeMap<char, State>,
    accepting: bool,
}

impl Trie {
    fn new() -> Self {
        Self {
            nodes: vec![TrieNode::default()],
        }
    }

    fn insert(&mut self, word: &str) {
        let mut state = 0;
        for character in word.chars() {
            let next = self.nodes.len();
            let Some(node) = self.nodes.get_mut(state) else { return };
            state = *node.edges.entry(character).or_insert(next);
            if state == next {
                self.nodes.push(TrieNode::default());
            }
        }
        if let Some(node) = self.nodes.get_mut(state) {
            node.accepting = true;
        }
    }

    /// States from which the same texts follow become one. A state stands before those that it leads to, so that going
    /// backwards meets each with its edges already in their last form.
    fn finish(self) -> Automaton {
        let mut known: HashMap<(bool, Vec<(char, State)>), State> = HashMap::new();
        let mut last_form = vec![0; self.nodes.len()];
        let mut nodes = Vec::new();
        for (state, node) in self.nodes.into_iter().enumerate().rev() {
            let moved = |(character, target): (char, State)| (character, last_form.get(target).copied().unwrap_or(0));
            let edges: Vec<(char, State)> = node.edges.into_iter().map(moved).collect();
            let form = match known.entry((node.accepting, edges)) {
                Entry::Occupied(same) => *same.get(),
                Entry::Vacant(new) => {
                    nodes.push(AutomatonState {
                        edges: edges_by_target(&new.key().1),
                        accepting: node.accepting,
                    });
                    *new.insert(nodes.len() - 1)
                }
            };
            if let Some(slot) = last_form.get_mut(state) {
                *slot = form;
            }
        }
        // The start was met last.
        let last = nodes.len().saturating_sub(1);
        let turned = |state: State| last - state;
        nodes.reverse();
        for edge in nodes.iter_mut().flat_map(|node| &mut node.edges) {
            edge.target = turned(edge.target);
        }
        Automaton::trimmed_nodes(nodes)
    }
}

/// One edge to each target, with all the characters that lead there.
fn edges_by_target(edges: &[(char, State)]) -> Vec<AutomatonEdge> {
    let mut by_target: BTreeMap<State, Vec<char>> = BTreeMap::new();
    for (character, target) in edges {
        by_target.entry(*target).or_default().push(*character);
    }
    let edge = |(target, characters): (State, Vec<char>)| AutomatonEdge {
        class: characters.into_iter().collect(),
        counted: true,
        target,
    };
    by_target.into_iter().map(edge).collect()
}

/// An automaton under construction, with empty moves. Construction starts in state 0.
pub(crate) struct Builder {
    nodes: Vec<AutomatonState>,
    jumps: Vec<Vec<State>>,
}

impl Builder {
    pub(crate) fn new() -> Self {
        Self {
            nodes: vec![AutomatonState::default()],
            jumps: vec![vec![]],
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.nodes.len()
    }

    pub(crate) fn add_state(&mut self) -> State {
        self.nodes.push(AutomatonState::default());
        self.jumps.push(Vec::new());
        self.nodes.len() - 1
    }

    pub(crate) fn add_jump(&mut self, from: State, to: State) {
        if let Some(jumps) = self.jumps.get_mut(from) {
            jumps.push(to);
        }
    }

    /// A new state, reached from `from` by a character of `class`.
    pub(crate) fn add_step(&mut self, from: State, class: Class) -> State {
        let target = self.add_state();
        push_edge(
            &mut self.nodes,
            from,
            AutomatonEdge {
                class,
                counted: true,
                target,
            },
        );
        target
    }

    /// A new state, reached from `from` by this text.
    pub(crate) fn text(&mut self, from: State, text: &str) -> State {
        text.chars()
            .fold(from, |state, character| self.add_step(state, Class::single(character)))
    }

    /// Adds a whole automaton behind `from`; the new state is where it accepts.
    pub(crate) fn add_automaton(&mut self, from: State, automaton: &Automaton) -> State {
        let base = self.len();
        let end = base + automaton.nodes.len();
        for node in &automaton.nodes {
            let state = self.add_state();
            let edges = node.edges.iter().map(|edge| AutomatonEdge {
                target: base + edge.target,
                ..edge.clone()
            });
            edges.for_each(|edge| push_edge(&mut self.nodes, state, edge));
            if node.accepting {
                self.add_jump(state, end);
            }
        }
        self.add_jump(from, base);
        self.add_state()
    }

    /// The automaton that accepts in `end`: each state takes over what it reaches by empty moves.
    pub(crate) fn finish(self, end: State) -> Automaton {
        let nodes = (0..self.len()).map(|state| {
            let closure = self.closure(state);
            let edges = closure
                .iter()
                .filter_map(|state| self.nodes.get(*state))
                .flat_map(|node| node.edges.clone());
            AutomatonState {
                edges: edges.collect(),
                accepting: closure.contains(&end),
            }
        });
        Automaton::trimmed_nodes(nodes.collect())
    }

    /// Takes the steps of [`Builder::finish`]: one for each state that it looks at, and one for each range of characters
    /// that it copies. False where there are not so many.
    pub(crate) fn can_finish(&self, effort: &Effort) -> bool {
        let ranges = |state: &State| {
            let edges = self.nodes.get(*state).map_or(&[][..], |node| &node.edges);
            1 + edges.iter().map(|edge| edge.class.range_count()).sum::<usize>()
        };
        (0..self.len()).all(|state| effort.take_steps(self.closure(state).iter().map(ranges).sum()))
    }

    /// The states that empty moves lead to, in the order in which they are first met.
    fn closure(&self, state: State) -> Vec<State> {
        if self.jumps.get(state).is_none_or(Vec::is_empty) {
            return vec![state];
        }
        let mut closure = Interner::new(state);
        let mut done = 0;
        while let Some(state) = closure.get(done) {
            for target in self.jumps.get(state).into_iter().flatten() {
                closure.intern(*target);
            }
            done += 1;
        }
        closure.things
    }
}

fn push_edge(nodes: &mut [AutomatonState], from: State, edge: AutomatonEdge) {
    if let Some(node) = nodes.get_mut(from)
        && !edge.class.is_empty()
    {
        node.edges.push(edge);
    }
}

/// Adds paths of several characters from `from` to the target of `edge`, sharing their beginnings.
fn push_sequences(nodes: &mut Vec<AutomatonState>, from: State, mut suffixes: Vec<&str>, edge: &AutomatonEdge) {
    suffixes.sort_unstable();
    for group in suffixes.chunk_by(|one, two| one.chars().next() == two.chars().next()) {
        let Some(first) = group.first().and_then(|suffix| suffix.chars().next()) else {
            continue;
        };
        let rests: Vec<&str> = group
            .iter()
            .filter_map(|suffix| suffix.get(first.len_utf8()..))
            .collect();
        let (ended, open): (Vec<&str>, Vec<&str>) = rests.into_iter().partition(|rest| rest.is_empty());
        let class = Class::single(first);
        if !ended.is_empty() {
            push_edge(
                nodes,
                from,
                AutomatonEdge {
                    class: class.clone(),
                    ..edge.clone()
                },
            );
        }
        if !open.is_empty() {
            nodes.push(AutomatonState::default());
            let middle = nodes.len() - 1;
            push_edge(
                nodes,
                from,
                AutomatonEdge {
                    class,
                    counted: edge.counted,
                    target: middle,
                },
            );
            push_sequences(
                nodes,
                middle,
                open,
                &AutomatonEdge {
                    counted: false,
                    ..edge.clone()
                },
            );
        }
    }
}

/// For each state, whether an accepting one can be reached from it.
fn accepting_ancestors(nodes: &[AutomatonState]) -> Vec<bool> {
    let mut sources: Vec<Vec<State>> = vec![Vec::new(); nodes.len()];
    for (state, node) in nodes.iter().enumerate() {
        for edge in &node.edges {
            if let Some(sources) = sources.get_mut(edge.target) {
                sources.push(state);
            }
        }
    }
    let mut live: Vec<bool> = nodes.iter().map(|node| node.accepting).collect();
    let mut pending: Vec<State> = (0..nodes.len())
        .filter(|state| live.get(*state) == Some(&true))
        .collect();
    while let Some(state) = pending.pop() {
        for source in sources.get(state).into_iter().flatten() {
            if let Some(flag) = live.get_mut(*source).filter(|flag| !**flag) {
                *flag = true;
                pending.push(*source);
            }
        }
    }
    live
}

fn single_character(text: &str) -> Option<char> {
    let mut characters = text.chars();
    characters.next().filter(|_| characters.next().is_none())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::key::encoding::delimiter::Delimiter;

    fn accepts(automaton: &Automaton, text: &str) -> bool {
        let mut states = vec![0];
        for character in text.chars() {
            let edges = states.iter().flat_map(|state| &automaton.node(*state).edges);
            states = edges
                .filter(|edge| edge.class.contains(character))
                .map(|edge| edge.target)
                .collect();
        }
        states.iter().any(|state| automaton.node(*state).accepting)
    }

    #[test]
    fn words_are_accepted_and_nothing_else() {
        let automaton = Automaton::of_words(["", "ab", "ac"]);
        for (text, expected) in [("", true), ("ab", true), ("ac", true), ("a", false), ("abc", false)] {
            assert_eq!(accepts(&automaton, text), expected, "{text}");
        }
        assert!(Automaton::of_words([]).is_empty());
        assert!(!Automaton::of_words([""]).is_empty());
    }

    #[test]
    fn an_image_holds_exactly_the_encoded_texts() {
        let map = CharacterMap::escaped(Delimiter::default());
        let image = Automaton::any().image_under(&map, &Effort::of_one_decision());
        for text in ["", "a", "a$23b$24", "$23"] {
            assert!(accepts(&image, text), "{text}");
        }
        for text in ["#", "$", "$2", "$25", "a$"] {
            assert!(!accepts(&image, text), "{text}");
        }
    }

    #[test]
    fn a_meet_accepts_what_both_do() {
        let meet = Automaton::of_words(["a", "ab", "b"])
            .meet_texts(&Automaton::of_words(["ab", "b", "c"]), &Effort::of_one_decision());
        let accepted: Vec<&str> = ["a", "ab", "b", "c"]
            .into_iter()
            .filter(|text| accepts(&meet, text))
            .collect();
        assert_eq!(accepted, ["ab", "b"]);
        assert!(
            Automaton::of_words(["a"])
                .meet_texts(&Automaton::of_words(["b"]), &Effort::of_one_decision())
                .is_empty()
        );
    }

    #[test]
    fn truncation_keeps_beginnings_of_whole_texts_only() {
        let beginnings = Automaton::of_words(["abc", "axy", "b"]).truncated_texts(2, &Effort::of_one_decision());
        let accepted: Vec<&str> = ["a", "ab", "ax", "b", "abc"]
            .into_iter()
            .filter(|text| accepts(&beginnings, text))
            .collect();
        assert_eq!(accepted, ["ab", "ax"]);
    }
}
