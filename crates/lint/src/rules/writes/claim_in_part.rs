use singlet_model::expression::{Expr, ExprKind, FunctionId};

use crate::{Context, Findings, design_rule};

design_rule! {
    /// A part of a word lets callers in.
    ///
    /// A claim is one text, and `contains` of a text is true where the other stands anywhere in it: `helpdesk-guest` contains `desk`.
    /// Where the token has a list of groups, the claim is absent and nobody is let in, for only plain values of a token are claims.
    ///
    /// ```yaml
    /// closeTicket: {allow: 'caller.groups.contains("desk")', …}
    /// ```
    ///
    /// Way out: compare the whole claim (`caller.group == "desk"`), and have the token carry one plain value for what is asked; or
    /// keep who belongs to what in rows, and name the row by the caller's id.
    "W028" "claim-in-part" Warning
}

fn check(context: &Context<'_>, findings: &mut Findings<'_>) {
    let reads = context.model.reads.iter().map(|read| (read.name.as_str(), &read.allow));
    let writes = context.model.writes.iter().map(|write| (write.name.as_str(), &write.allow));
    for (owner, allow) in reads.chain(writes) {
        allow.walk(&mut |part| {
            if let Some(claim) = claim_looked_into(part) {
                let message = format!("`{owner}` lets in whoever has a text anywhere in `{claim}`, also within another word");
                let help = "compare the whole claim, with `==` or `in`";
                findings.push(findings.at(part.span, owner, message).help(help));
            }
        });
    }
}

/// The claim in which a text is looked for.
fn claim_looked_into(part: &Expr) -> Option<String> {
    let ExprKind::Call(FunctionId::Contains, args) = &part.kind else { return None };
    let claim = args.first().filter(|claim| matches!(claim.kind, ExprKind::Caller(_)))?;
    claim.path()
}
