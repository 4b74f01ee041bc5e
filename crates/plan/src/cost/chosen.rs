//! What requests take together of which arguments choose some: not all of those are sent.

use super::RequestCost;

impl RequestCost {
    /// Whether an argument says if it is sent.
    fn is_chosen(&self) -> bool {
        !self.asked_words.is_empty()
    }

    /// Whether both are sent for one selection, or neither.
    fn goes_with(&self, other: &RequestCost) -> bool {
        self.parts == other.parts && self.asked_words == other.asked_words
    }

    /// Whether another is never sent where this one is: an argument is one word.
    fn excludes(&self, other: &RequestCost) -> bool {
        let mut words = self
            .asked_words
            .iter()
            .flat_map(|own| other.asked_words.iter().map(move |other| (own, other)));
        self.parts == other.parts
            && words.any(|(own, other)| own.attribute == other.attribute && own.word != other.word)
    }
}

/// How many requests are sent for one answer, before any reading on: at least, and at most where that is known.
pub fn sent_in_all(requests: &[RequestCost]) -> (u64, Option<u64>) {
    let least = least_in_all(requests, |request| request.requests_sent().0);
    (least, most_in_all(requests, |request| request.requests_sent().1))
}

/// What requests take at least: of those of one selection that arguments choose, the cheapest that go together.
pub fn least_in_all(requests: &[RequestCost], of: impl Fn(&RequestCost) -> u64) -> u64 {
    let mut all: u64 = 0;
    for (at, request) in requests.iter().enumerate() {
        let same = |other: &&RequestCost| other.is_chosen() && other.parts == request.parts;
        if !request.is_chosen() {
            all = all.saturating_add(of(request));
        } else if !requests.iter().take(at).any(|earlier| same(&earlier)) {
            let together = |one: &RequestCost| {
                let them = requests.iter().filter(|other| one.goes_with(other));
                them.map(&of).fold(0, u64::saturating_add)
            };
            let least = requests.iter().filter(same).map(together).min();
            all = all.saturating_add(least.unwrap_or(0));
        }
    }
    all
}

/// What requests take at most, where that is known: of those of one selection that arguments choose, the dearest and all that may be sent beside it.
pub fn most_in_all(requests: &[RequestCost], of: impl Fn(&RequestCost) -> Option<u64>) -> Option<u64> {
    let mut all: u64 = 0;
    for (at, request) in requests.iter().enumerate() {
        let same = |other: &&RequestCost| other.is_chosen() && other.parts == request.parts;
        if !request.is_chosen() {
            all = all.checked_add(of(request)?)?;
        } else if !requests.iter().take(at).any(|earlier| same(&earlier)) {
            let mut most = 0;
            for one in requests.iter().filter(same) {
                let beside = requests.iter().filter(same).filter(|other| !one.excludes(other));
                let beside: Option<Vec<u64>> = beside.map(&of).collect();
                most = most.max(beside?.into_iter().fold(0, u64::saturating_add));
            }
            all = all.checked_add(most)?;
        }
    }
    Some(all)
}
