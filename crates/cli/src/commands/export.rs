//! `singlet export`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, ValueEnum};
use serde_json::Value;
use singlet_export::steps::{Step, steps_between};
use singlet_export::{TableDesign, cloudformation, iam, terraform, workbench};
use singlet_model::Model;
use singlet_runtime::table::table_spec;

use crate::model;

/// What an identity of Cognito is called in a policy.
const CALLER_USUAL: &str = "${cognito-identity.amazonaws.com:sub}";

/// Write the table of a model for CloudFormation, Terraform, NoSQL Workbench or IAM.
///
/// `singlet export systems/todo/model.yaml --to cloudformation`
///
/// CloudFormation updates one index at a time. With `--from OLD` and `--out DIR` you get one numbered template for each update that leads
/// from the table of `OLD` to that of the model; deploy them in order.
#[derive(Args)]
pub struct Export {
    /// The model file.
    model: PathBuf,
    /// What to write.
    #[arg(long, value_enum, value_name = "FORMAT")]
    to: Format,
    /// With `cloudformation`: the model of the table that exists.
    #[arg(long, value_name = "OLD")]
    from: Option<PathBuf>,
    /// The folder to write to, instead of standard output.
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// With `iam`: the policy of a caller who reads their own partitions without the service, whose id this stands for in a policy.
    #[arg(long, value_name = "VARIABLE", num_args = 0..=1, default_missing_value = CALLER_USUAL)]
    caller: Option<String>,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    /// A template with the table, which stays when its stack goes, and its alarms.
    Cloudformation,
    /// A configuration in Terraform's JSON syntax, with the same.
    Terraform,
    /// A data model of NoSQL Workbench, version 3.0.
    Workbench,
    /// The policy of the service: the least that the model's plans need.
    Iam,
}

/// A file that is exported.
struct ExportedFile {
    name: String,
    content: Value,
}

impl Export {
    /// Runs the command.
    pub fn run(self) -> ExitCode {
        self.exported().unwrap_or_else(|code| code)
    }

    fn exported(&self) -> Result<ExitCode, ExitCode> {
        if self.from.is_some() && self.to != Format::Cloudformation {
            return Err(model::fail_command("`--from` goes with `--to cloudformation` alone"));
        }
        if self.caller.is_some() && self.to != Format::Iam {
            return Err(model::fail_command("`--caller` goes with `--to iam` alone"));
        }
        let files = self.files(&model::load_model(&self.model)?)?;
        match (&self.out, files.as_slice()) {
            (Some(folder), files) => written(folder, files),
            (None, [file]) => Ok(super::print_text(&text_of(&file.content))),
            (None, files) => Err(model::fail_command(&format!(
                "this takes {} templates, one after another: give the folder to write them to with `--out`",
                files.len()
            ))),
        }
    }

    fn files(&self, model: &Model) -> Result<Vec<ExportedFile>, ExitCode> {
        let design = TableDesign::new(model, table_spec(model));
        let one = |name: &str, content| {
            let name = name.to_owned();
            Ok(vec![ExportedFile { name, content }])
        };
        match self.to {
            Format::Cloudformation => self.templates(&design),
            Format::Terraform => one("table.tf.json", terraform::terraform_configuration(&design)),
            Format::Workbench => one("workbench.json", workbench::data_model(model, &design)),
            Format::Iam => match &self.caller {
                None => one("policy.json", iam::service_policy(model, &design)),
                Some(variable) => {
                    let policy = iam::caller_policy(model, &design, variable).ok_or_else(|| {
                        model::fail_command("no partition that every caller may read begins with the caller's id: there is no policy to give")
                    })?;
                    one("caller-policy.json", policy)
                }
            },
        }
    }

    fn templates(&self, design: &TableDesign) -> Result<Vec<ExportedFile>, ExitCode> {
        let whole = || ExportedFile {
            name: "template.json".to_owned(),
            content: cloudformation::cloudformation_template(design),
        };
        let Some(from) = &self.from else {
            return Ok(vec![whole()]);
        };
        let old = model::load_model(from)?;
        let old = TableDesign::new(&old, table_spec(&old));
        let steps = steps_between(&old, design).map_err(|why| {
            model::fail_command(&format!(
                "table `{}` cannot be updated to this: {why}\nhelp: this needs a new table, with another name",
                old.spec.name
            ))
        })?;
        if steps.is_empty() {
            return Ok(vec![whole()]);
        }
        Ok(steps.iter().zip(1..).map(numbered).collect())
    }
}

fn numbered((step, number): (&Step, usize)) -> ExportedFile {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '-' | '_' | '.');
    let what: String = step
        .what
        .chars()
        .map(|letter| if is_plain(letter) { letter } else { '-' })
        .collect();
    ExportedFile {
        name: format!("{number:02}-{what}.json"),
        content: cloudformation::cloudformation_template(&step.design),
    }
}

fn written(folder: &Path, files: &[ExportedFile]) -> Result<ExitCode, ExitCode> {
    let failed = |path: &Path, error: std::io::Error| {
        model::fail_command(&format!("`{}` cannot be written: {}", path.display(), error.kind()))
    };
    fs::create_dir_all(folder).map_err(|error| failed(folder, error))?;
    let mut said = String::new();
    for file in files {
        let path = folder.join(&file.name);
        fs::write(&path, text_of(&file.content)).map_err(|error| failed(&path, error))?;
        said.push_str(&format!("{}\n", path.display()));
    }
    Ok(super::print_text(&said))
}

fn text_of(content: &Value) -> String {
    format!("{content:#}\n")
}
