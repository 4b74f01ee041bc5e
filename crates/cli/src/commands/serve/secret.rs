//! The secret of a deployment: given, or kept beside the data.

use std::fs;
use std::path::Path;

use singlet_http::auth::Secret;

use crate::private_file::{self, Readers};

/// The file beside the data.
const FILE: &str = "secret";

/// The secret from a file, from the environment, or from beside the data; in that order.
pub(crate) fn find_secret(
    file: Option<&Path>,
    given: Option<&str>,
    data: Option<&Path>,
    readers: Readers,
) -> Result<Option<Secret>, String> {
    if let Some(path) = file {
        return read(path, readers).map(Some);
    }
    if let Some(text) = given {
        return Secret::new(text)
            .map(Some)
            .map_err(|reason| format!("`SINGLET_SECRET`: {reason}"));
    }
    match data.map(|folder| folder.join(FILE)).filter(|path| path.exists()) {
        Some(path) => read(&path, readers).map(Some),
        None => Ok(None),
    }
}

fn read(path: &Path, readers: Readers) -> Result<Secret, String> {
    readers.check(path)?;
    let text = fs::read_to_string(path).map_err(|error| format!("`{}` cannot be read: {error}", path.display()))?;
    Secret::new(&text).map_err(|reason| format!("`{}`: {reason}", path.display()))
}

/// Makes a secret; keeps it beside the data, for its owner alone, where there is such a place.
pub(crate) fn create_secret(data: Option<&Path>) -> Result<Secret, String> {
    let text = Secret::random_text().map_err(|error| error.to_string())?;
    if let Some(folder) = data {
        let path = folder.join(FILE);
        let failed = |error: std::io::Error| format!("`{}` cannot be written: {error}", path.display());
        private_file::create_folder(folder).map_err(failed)?;
        private_file::create_new(&path, &format!("{text}\n")).map_err(failed)?;
    }
    Secret::new(&text).map_err(|error| error.to_string())
}
