use crate::context::is_constant;
use crate::{Context, Findings, design_rule};

design_rule! {
    /// All rows of an entity share one partition.
    ///
    /// A partition key without a variable part puts every row under one key. One partition serves 1,000 write units and
    /// 3,000 read units a second, for all of them together, whatever the table's capacity is.
    ///
    /// ```yaml
    /// key: {PK: "COUNTRIES", SK: "{code}"}
    /// ```
    ///
    /// Way out: put something that spreads the traffic into the partition key, such as the owner or the id; or add a shard
    /// (`{shard}` of an `int 0..9 = hash(id) % 10`) that reads fan out over. For a handful of rows that seldom change,
    /// accept it and say so.
    "K001" "constant-partition-key" Warning
}

fn check(context: &Context<'_>, findings: &mut Findings<'_>) {
    for path in context.own_paths().filter(|path| is_constant(path.partition_templates())) {
        let Some(key) = path.partition_templates().first() else { continue };
        let message = format!(
            "every `{}` has the partition key `{}` in {}",
            path.entity.name,
            key.text,
            path.name()
        );
        findings.push(
            findings
                .at(key.span, context.path_subject(&path), message)
                .help("put the owner, the id or a shard into it; one partition takes 1,000 writes a second"),
        );
    }
}
