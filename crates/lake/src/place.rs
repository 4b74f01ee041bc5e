//! Where lakes lie: a folder of this machine, or a bucket.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;
use std::sync::Arc;

use crate::error::LakeError;
use crate::files::{LakeFiles, LocalFiles};
use crate::s3_files::S3Files;

/// How a place in S3 begins.
const S3: &str = "s3://";

/// The place of the lakes of several systems; each has its own in it, under its name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LakePlace {
    /// A folder.
    Folder(PathBuf),
    /// A bucket, and what all names in it begin with; that may be empty.
    S3 {
        /// The bucket's name.
        bucket: String,
        /// Folders, without a `/` at either end.
        prefix: String,
    },
}

impl FromStr for LakePlace {
    type Err = LakeError;

    fn from_str(text: &str) -> Result<Self, LakeError> {
        let Some(rest) = text.strip_prefix(S3) else {
            return match text.split_once("://") {
                Some((scheme, _)) => Err(LakeError::Refused(format!(
                    "a lake lies in a folder or under `{S3}`, not under `{scheme}://`"
                ))),
                None => Ok(LakePlace::Folder(PathBuf::from(text))),
            };
        };
        let (bucket, prefix) = rest.split_once('/').unwrap_or((rest, ""));
        let prefix = prefix.trim_matches('/');
        let is_fine = |part: &str| !part.is_empty() && part != "." && part != "..";
        if bucket.is_empty() || !prefix.is_empty() && !prefix.split('/').all(is_fine) {
            return Err(LakeError::Refused(format!(
                "`{text}` is no place in S3: it is `{S3}BUCKET/PREFIX`"
            )));
        }
        Ok(LakePlace::S3 {
            bucket: bucket.to_owned(),
            prefix: prefix.to_owned(),
        })
    }
}

impl fmt::Display for LakePlace {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LakePlace::Folder(folder) => folder.display().fmt(out),
            LakePlace::S3 { bucket, prefix } if prefix.is_empty() => write!(out, "{S3}{bucket}"),
            LakePlace::S3 { bucket, prefix } => write!(out, "{S3}{bucket}/{prefix}"),
        }
    }
}

impl LakePlace {
    /// The place of one system's lake.
    #[must_use]
    pub fn of_system(&self, system: &str) -> LakePlace {
        match self {
            LakePlace::Folder(folder) => LakePlace::Folder(folder.join(system)),
            LakePlace::S3 { bucket, prefix } => LakePlace::S3 {
                bucket: bucket.clone(),
                prefix: format!("{prefix}/{system}").trim_matches('/').to_owned(),
            },
        }
    }

    /// The files there. In S3 it is reached as the usual variables of AWS say.
    ///
    /// # Errors
    ///
    /// Where the variables are not enough to reach it, or nothing asynchronous runs here.
    pub fn open_files(&self) -> Result<Arc<dyn LakeFiles>, LakeError> {
        Ok(match self {
            LakePlace::Folder(folder) => Arc::new(LocalFiles::new(folder.clone())),
            LakePlace::S3 { bucket, prefix } => {
                let text =
                    |(name, value): (OsString, OsString)| Some((name.into_string().ok()?, value.into_string().ok()?));
                let variables: BTreeMap<String, String> = std::env::vars_os().filter_map(text).collect();
                Arc::new(S3Files::from_variables(&variables, bucket, prefix)?)
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_a_folder_or_in_a_bucket() {
        let shown = |text: &str| text.parse::<LakePlace>().map(|place| place.to_string());
        assert_eq!(shown("lakes/all").unwrap(), "lakes/all");
        assert_eq!(shown("s3://bucket").unwrap(), "s3://bucket");
        assert_eq!(shown("s3://bucket/").unwrap(), "s3://bucket");
        assert_eq!(shown("s3://bucket/a/b/").unwrap(), "s3://bucket/a/b");
        for wrong in [
            "s3://",
            "s3:///a",
            "s3://bucket/a//b",
            "s3://bucket/../b",
            "gs://bucket",
        ] {
            assert!(shown(wrong).is_err(), "{wrong}");
        }
        let of_system = |text: &str| text.parse::<LakePlace>().unwrap().of_system("todo").to_string();
        assert_eq!(of_system("s3://bucket"), "s3://bucket/todo");
        assert_eq!(of_system("s3://bucket/a"), "s3://bucket/a/todo");
        assert_eq!(of_system("lakes"), "lakes/todo");
    }
}
