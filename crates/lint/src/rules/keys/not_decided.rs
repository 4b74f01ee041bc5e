use crate::context::counted_thing;
use crate::{Context, Findings, design_rule};

design_rule! {
    /// A question about keys was too much to decide.
    ///
    /// Whether keys can be equal is decided over all values, by following both keys character by character. That is exact, and
    /// for some keys it takes more steps than a check may: a part of many forms beside another without a delimiter between,
    /// a value that stands in a key twice beside others, or very many such keys. The number of steps has a bound, the same
    /// on every machine. Past it the answer is neither yes nor no, and silence would pass for no.
    ///
    /// ```yaml
    /// key: {PK: "{a}{b}{a}", SK: "X"}     # `a` is any text, and where it ends nothing says
    /// ```
    ///
    /// Way out: put the delimiter between the parts, so that each is compared alone; give a part one length or a shorter
    /// pattern; write a list of words as an `enum`; let a value stand in a key once; begin the keys of each entity with text of its own.
    "K019" "not-decided" Warning
}

/// How many questions are listed.
const QUESTIONS_SHOWN: usize = 20;

fn check(context: &Context<'_>, findings: &mut Findings<'_>) {
    let undecided = context.take_undecided();
    let more = undecided.len().saturating_sub(QUESTIONS_SHOWN);
    for (at, undecided) in undecided.into_iter().take(QUESTIONS_SHOWN).enumerate() {
        let mut message = format!("whether {} is too much to decide", undecided.question);
        if more > 0 && at + 1 == QUESTIONS_SHOWN {
            message.push_str(&format!("; so {} of the model", counted_thing(more as u64, "other question")));
        }
        let help = "put the delimiter between the parts, give them one length or shorter patterns, or begin each entity's keys with text of its own";
        findings.push(findings.at(undecided.span, undecided.subject, message).help(help));
    }
}
