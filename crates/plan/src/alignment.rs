//! How a template of a condition by hand lies on the template of the stored keys, part by part.

use singlet_item::key::{Domain, Form, Part, Template, Variable};

/// A condition's template laid on a stored key's.
#[derive(Debug)]
pub struct Alignment<'t> {
    /// What the condition gives for each variable of the stored key that it reaches.
    pub pairs: Vec<Pair<'t>>,
    /// Every stored key that has those values goes on after the condition's text ends.
    pub goes_on: bool,
}

/// A variable of the stored key, and what the condition gives for it.
#[derive(Debug)]
pub struct Pair<'t> {
    /// The variable's place among the stored template's parts.
    pub position: usize,
    /// What is given.
    pub given: Given<'t>,
}

/// What a condition gives for a variable of a stored key.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Given<'t> {
    /// A value of the request.
    Variable(&'t Variable),
    /// A text written out.
    Text(&'t str),
}

/// Lays `given` on `stored`; nothing where texts differ, or where a value and a text overlap so that nothing is certain.
pub fn align_templates<'t>(stored: &Template, given: &'t Template) -> Option<Alignment<'t>> {
    let mut rest = Rest::new(given);
    let mut pairs = Vec::new();
    for (position, part) in stored.parts().iter().enumerate() {
        if rest.is_done() {
            let goes_on = stored.parts().iter().skip(position).any(is_never_empty);
            return Some(Alignment { pairs, goes_on });
        }
        match part {
            Part::Text(text) => match rest.take_text(text)? {
                Taken::Whole => {}
                Taken::Beginning => return Some(Alignment { pairs, goes_on: true }),
            },
            Part::Variable(variable) => {
                let value = rest.take_value(next_text(stored, position))?;
                pairs.push(Pair { position, given: value });
                if is_beginning(value, variable) {
                    return rest.is_done().then_some(Alignment { pairs, goes_on: true });
                }
            }
            Part::Number(_) | Part::Anything => return None,
        }
    }
    rest.is_done().then_some(Alignment { pairs, goes_on: false })
}

fn next_text(stored: &Template, position: usize) -> Option<&str> {
    match stored.parts().get(position + 1)? {
        Part::Text(text) => Some(text),
        _ => None,
    }
}

fn is_never_empty(part: &Part) -> bool {
    match part {
        Part::Variable(variable) => match &variable.domain {
            Domain::Text(text) => text.min_chars > 0,
            _ => true,
        },
        Part::Text(_) | Part::Number(_) => true,
        Part::Anything => false,
    }
}

/// A day given for an instant: the instant's text begins with the day's.
fn is_beginning(given: Given<'_>, stored: &Variable) -> bool {
    let Given::Variable(given) = given else { return false };
    let as_it_is = |form: &Form| matches!(form, Form::Fixed | Form::Whole);
    let coarser = matches!(
        (&given.domain, &stored.domain),
        (Domain::Date | Domain::Month | Domain::Year, Domain::Time)
            | (Domain::Month | Domain::Year, Domain::Date)
            | (Domain::Year, Domain::Month)
    );
    coarser && as_it_is(&given.form) && as_it_is(&stored.form)
}

/// What of a condition's template is not laid yet.
struct Rest<'t> {
    text: &'t str,
    parts: std::slice::Iter<'t, Part>,
}

enum Taken {
    Whole,
    Beginning,
}

impl<'t> Rest<'t> {
    fn new(template: &'t Template) -> Self {
        let mut rest = Rest {
            text: "",
            parts: template.parts().iter(),
        };
        rest.load();
        rest
    }

    fn load(&mut self) {
        if let (true, Some(Part::Text(text))) = (self.text.is_empty(), self.parts.as_slice().first()) {
            self.parts.next();
            self.text = text;
        }
    }

    fn is_done(&self) -> bool {
        self.text.is_empty() && self.parts.as_slice().is_empty()
    }

    fn take_text(&mut self, text: &str) -> Option<Taken> {
        if let Some(rest) = self.text.strip_prefix(text) {
            self.text = rest;
            self.load();
            return Some(Taken::Whole);
        }
        let ends = text.starts_with(self.text) && self.parts.as_slice().is_empty();
        ends.then(|| {
            self.text = "";
            Taken::Beginning
        })
    }

    fn take_value(&mut self, next: Option<&str>) -> Option<Given<'t>> {
        if self.text.is_empty() {
            let Some(Part::Variable(variable)) = self.parts.next() else {
                return None;
            };
            self.load();
            return Some(Given::Variable(variable));
        }
        let end = next.and_then(|next| self.text.find(next)).unwrap_or(self.text.len());
        let (value, rest) = self.text.split_at_checked(end)?;
        self.text = rest;
        let followed = rest.is_empty() && !self.parts.as_slice().is_empty();
        (!followed).then_some(Given::Text(value))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use singlet_item::key::Delimiter;

    fn template(parts: Vec<Part>) -> Template {
        Template::new(parts, Delimiter::default()).unwrap()
    }

    fn stored() -> Template {
        template(vec![
            Part::text("DUE#"),
            Part::bare_variable("due", Domain::Date),
            Part::text("#"),
            Part::bare_variable("id", Domain::Ulid),
        ])
    }

    #[test]
    fn a_beginning_goes_on() {
        for rest in ["", "#"] {
            let given = template(vec![
                Part::text("DUE#"),
                Part::bare_variable("args.to", Domain::Date),
                Part::text(rest),
            ]);
            let aligned = align_templates(&stored(), &given).unwrap();
            assert!(aligned.goes_on && aligned.pairs.len() == 1);
        }
    }

    #[test]
    fn an_end_past_every_key_is_no_beginning() {
        let given = template(vec![
            Part::text("DUE#"),
            Part::bare_variable("args.to", Domain::Date),
            Part::text("$"),
        ]);
        assert!(align_templates(&stored(), &given).is_none());
    }

    #[test]
    fn a_text_stands_for_a_value() {
        let status = template(vec![
            Part::text("S#"),
            Part::bare_variable("status", Domain::one_of(["open", "done"])),
            Part::text("#"),
            Part::bare_variable("id", Domain::Ulid),
        ]);
        let given = Template::text("S#done#", Delimiter::default());
        let aligned = align_templates(&status, &given).unwrap();
        assert_eq!(aligned.pairs.first().unwrap().given, Given::Text("done"));
        assert!(aligned.goes_on);
    }

    #[test]
    fn a_day_begins_an_instant() {
        let at = template(vec![Part::bare_variable("at", Domain::Time)]);
        let day = template(vec![Part::bare_variable("args.to", Domain::Date)]);
        assert!(align_templates(&at, &day).unwrap().goes_on);
        assert!(!align_templates(&at, &at).unwrap().goes_on);
    }
}
