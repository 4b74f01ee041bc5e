//! Files of a lake in S3, or in what speaks as it does.
//!
//! Of two who put a new object under one name S3 tells one that it is there (`If-None-Match: *`): that is all that a lake needs of its place. An object
//! is there whole or not at all, so that nothing unfinished is ever left.

use std::collections::BTreeMap;
use std::io;

use bytes::Bytes;
use object_store::aws::{AmazonS3, AmazonS3Builder, AmazonS3ConfigKey};
use object_store::path::Path;
use object_store::{Error, ObjectStore, ObjectStoreExt, PutMode, PutPayload};
use tokio::runtime::Handle;

use crate::error::LakeError;
use crate::files::{FileEntry, LakeFiles};

/// The variables that name an endpoint other than Amazon's, the more special first.
const ENDPOINT_VARIABLES: [&str; 3] = ["AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL", "AWS_ENDPOINT"];

/// The same for the region.
const REGION_VARIABLES: [&str; 2] = ["AWS_REGION", "AWS_DEFAULT_REGION"];

/// Files under a prefix of a bucket.
pub(crate) struct S3Files {
    store: AmazonS3,
    prefix: String,
    runtime: Handle,
}

impl S3Files {
    /// As the usual variables say: key, secret and session, region, endpoint.
    pub(crate) fn from_variables(
        variables: &BTreeMap<String, String>,
        bucket: &str,
        prefix: &str,
    ) -> Result<Self, LakeError> {
        let refused = |reason: String| LakeError::Refused(format!("`s3://{bucket}`: {reason}"));
        let set = |name: &&str| variables.get(*name).filter(|value| !value.is_empty()).cloned();
        let first = |names: &[&str]| names.iter().find_map(set);
        // The client of HTTP takes what the process has, and panics where that is nothing. Somebody else's choice stays.
        let _chosen = tokio_rustls::rustls::crypto::ring::default_provider().install_default();
        let mut builder = AmazonS3Builder::new();
        for (name, value) in variables {
            let key = name
                .starts_with("AWS_")
                .then(|| name.to_ascii_lowercase().parse::<AmazonS3ConfigKey>());
            if let Some(Ok(key)) = key {
                builder = builder.with_config(key, value);
            }
        }
        builder = builder.with_bucket_name(bucket);
        if let Some(region) = first(&REGION_VARIABLES) {
            builder = builder.with_region(region);
        }
        if let Some(endpoint) = first(&ENDPOINT_VARIABLES) {
            let is_plain = endpoint.starts_with("http://");
            builder = builder.with_endpoint(endpoint).with_allow_http(is_plain);
        }
        if builder.get_config_value(&AmazonS3ConfigKey::Region).is_none() {
            let names = REGION_VARIABLES.join("` or `");
            return Err(refused(format!("its region is not known: set `{names}`")));
        }
        Ok(S3Files {
            store: builder.build().map_err(|error| refused(error.to_string()))?,
            prefix: prefix.to_owned(),
            runtime: Handle::try_current().map_err(|error| refused(error.to_string()))?,
        })
    }

    fn place(&self, path: &str) -> Path {
        Path::from(format!("{}/{path}", self.prefix))
    }

    fn put(&self, path: &str, bytes: &[u8], mode: PutMode) -> Result<(), Error> {
        let payload = PutPayload::from(Bytes::copy_from_slice(bytes));
        let place = self.place(path);
        let put = self.store.put_opts(&place, payload, mode.into());
        self.runtime.block_on(put).map(drop)
    }
}

/// Files wait for the network on threads that may wait: nothing here may be called by what is asynchronous itself.
impl LakeFiles for S3Files {
    fn put_new(&self, path: &str, bytes: &[u8]) -> io::Result<bool> {
        match self.put(path, bytes, PutMode::Create) {
            Ok(()) => Ok(true),
            Err(Error::AlreadyExists { .. } | Error::Precondition { .. }) => Ok(false),
            Err(error) => Err(io::Error::other(error)),
        }
    }

    fn put_over(&self, path: &str, bytes: &[u8]) -> io::Result<()> {
        self.put(path, bytes, PutMode::Overwrite).map_err(io::Error::other)
    }

    fn get(&self, path: &str) -> io::Result<Option<Bytes>> {
        let place = self.place(path);
        let bytes = async { self.store.get(&place).await?.bytes().await };
        match self.runtime.block_on(bytes) {
            Ok(bytes) => Ok(Some(bytes)),
            Err(Error::NotFound { .. }) => Ok(None),
            Err(error) => Err(io::Error::other(error)),
        }
    }

    fn list(&self, folder: &str) -> io::Result<Vec<FileEntry>> {
        let place = self.place(folder);
        let listed = self.store.list_with_delimiter(Some(&place));
        let listed = self.runtime.block_on(listed).map_err(io::Error::other)?;
        let entry = |object: object_store::ObjectMeta| {
            Some(FileEntry {
                name: object.location.filename()?.to_owned(),
                made_at_millis: object.last_modified.timestamp_millis(),
            })
        };
        let mut found: Vec<FileEntry> = listed.objects.into_iter().filter_map(entry).collect();
        found.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(found)
    }

    fn remove(&self, path: &str) -> io::Result<()> {
        match self.runtime.block_on(self.store.delete(&self.place(path))) {
            Err(error) if !matches!(error, Error::NotFound { .. }) => Err(io::Error::other(error)),
            _ => Ok(()),
        }
    }
}
