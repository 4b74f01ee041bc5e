//! The manifests of an archive.

use serde::{Deserialize, Serialize};

/// The version of the format.
pub(crate) const VERSION: &str = "2020-06-30";

/// The only format of items that is read and written.
pub(crate) const DYNAMODB_JSON: &str = "DYNAMODB_JSON";

/// What `exportType` says of an archive of a whole table, where it says anything.
pub(crate) const FULL_EXPORT: &str = "FULL_EXPORT";

pub(crate) const SUMMARY_FILE: &str = "manifest-summary.json";
pub(crate) const FILES_FILE: &str = "manifest-files.json";

/// What the name of a manifest's sum ends with in place of `.json`: as DynamoDB writes it, and as its documentation has it.
pub(crate) const SUM_ENDINGS: [&str; 2] = ["md5", "checksum"];

/// The folder that every export goes to.
pub(crate) const EXPORTS_FOLDER: &str = "AWSDynamoDB";
pub(crate) const DATA_FOLDER: &str = "data";

/// `manifest-summary.json`, as it is read: what is not here says nothing of the items.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SummaryRead {
    pub table_arn: Option<String>,
    pub item_count: u64,
    pub output_format: String,
    #[serde(default)]
    pub export_type: Option<String>,
}

/// `manifest-summary.json`, as it is written: every field that DynamoDB writes, in its order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SummaryWritten {
    pub version: &'static str,
    pub export_arn: String,
    pub start_time: String,
    pub end_time: String,
    pub table_arn: String,
    pub table_id: String,
    pub export_time: String,
    #[serde(rename = "s3Bucket")]
    pub s3_bucket: &'static str,
    #[serde(rename = "s3Prefix")]
    pub s3_prefix: Option<String>,
    #[serde(rename = "s3SseAlgorithm")]
    pub s3_sse_algorithm: Option<String>,
    #[serde(rename = "s3SseKmsKeyId")]
    pub s3_sse_kms_key_id: Option<String>,
    #[serde(rename = "manifestFilesS3Key")]
    pub manifest_files_s3_key: String,
    pub billed_size_bytes: u64,
    pub item_count: u64,
    pub output_format: &'static str,
}

/// A line of `manifest-files.json`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct DataFile {
    pub item_count: u64,
    pub md5_checksum: String,
    #[serde(default)]
    pub etag: String,
    #[serde(rename = "dataFileS3Key")]
    pub data_file_s3_key: String,
}

impl DataFile {
    /// The name of the file in the folder of data; none, where the key leads elsewhere.
    pub fn name(&self) -> Option<&str> {
        let (before, name) = self.data_file_s3_key.rsplit_once('/')?;
        let is_data = before.rsplit('/').next() == Some(DATA_FOLDER);
        let is_name = !name.is_empty() && name != "." && name != ".." && !name.contains('\\');
        (is_data && is_name).then_some(name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_data_file_lies_in_the_folder_of_data() {
        let named = |key: &str| {
            let file = DataFile {
                item_count: 0,
                md5_checksum: String::new(),
                etag: String::new(),
                data_file_s3_key: key.to_owned(),
            };
            file.name().map(str::to_owned)
        };
        assert_eq!(
            named("backups/AWSDynamoDB/1/data/a.json.gz").as_deref(),
            Some("a.json.gz")
        );
        for key in [
            "a.json.gz",
            "AWSDynamoDB/1/a.json.gz",
            "x/data/..",
            "x/data/",
            "data\\..\\a",
            "x/data/..\\a",
        ] {
            assert_eq!(named(key), None, "{key}");
        }
    }
}
