use crate::{Context, Findings, design_rule};

design_rule! {
    /// A read that says `together` is no single transaction.
    ///
    /// A transaction reads up to 100 items by their whole keys, all of them known before it is sent. So it can hold a `get` and
    /// what comes `with` it, or `with` alone, as long as each selection asks for keys that the request gives: equalities, lists
    /// with an upper limit, or the key of the read's own row. A range, an index, a count, a list that pages, or a row whose key
    /// stands in another row takes a request of its own, at another instant.
    ///
    /// ```yaml
    /// transferPage:
    ///   get: Transfer
    ///   where: id == args.id
    ///   with:
    ///     from: {get: Account, where: number == row.from}     # known only once the transfer is read
    ///   together: true
    /// ```
    ///
    /// Way out: ask for what the request can name (`args: {from: Account.number}`), or drop `together`; `consistent: true` reads each
    /// row strongly, one after the other.
    "R014" "not-one-transaction" Error
}

fn check(context: &Context<'_>, findings: &mut Findings<'_>) {
    for read in &context.model.reads {
        let Some(span) = read.together else { continue };
        let plan = context.read_plan(read);
        let mut apart = plan.combinations.iter().filter_map(|combination| combination.together.as_ref());
        if let Some(Err(apart)) = apart.find(|together| together.is_err()) {
            let message = format!("`{}` cannot be read in one transaction: {apart}", read.name);
            let help = "ask for up to 100 whole keys that the request gives, or drop `together`";
            findings.push(findings.at(span, &read.name, message).help(help));
        }
    }
}
