use singlet_plan::bounds::Bounds;
use singlet_plan::meaning;

use crate::{Context, Findings, design_rule};

design_rule! {
    /// A read has more combinations of optional arguments than can be planned.
    ///
    /// Which arguments are sent decides which key answers, so every combination has a plan of its own: two of them for one
    /// optional argument, 1,024 for ten. More than that nobody could look through.
    ///
    /// ```yaml
    /// args: {a: string?, b: string?, c: string?, d: string?, e: string?, f: string?, g: string?, h: string?, i: string?, j: string?, k: string?}
    /// ```
    ///
    /// Way out: `combinations` lists which of them may be sent together; or give those that only filter a default.
    "R017" "too-many-combinations" Error
}

fn check(context: &Context<'_>, findings: &mut Findings<'_>) {
    let most = Bounds::USUAL.combinations_max;
    for read in &context.model.reads {
        let count = meaning::combinations_count(read);
        if count.is_some_and(|count| count <= most) {
            continue;
        }
        let optional = meaning::optional_arguments(read).count();
        let message = format!(
            "`{}` has {optional} optional arguments, which make more than {most} combinations",
            read.name
        );
        let help = "list under `combinations` which of them may be sent together";
        findings.push(findings.at(read.span, &read.name, message).help(help));
    }
}
