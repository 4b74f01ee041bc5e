//! Whether a service's changes can be brought into lakes.

use std::sync::Arc;

use singlet_lake::{LakePlace, check_model};
use singlet_model::Model;

/// Checks that the models can be brought into lakes.
///
/// # Errors
///
/// Where one cannot be, or nothing is followed.
pub(crate) fn check_lakes<'m>(
    place: &LakePlace,
    follows: bool,
    models: impl Iterator<Item = &'m Arc<Model>>,
) -> Result<(), String> {
    if !follows {
        return Err(format!(
            "nothing is brought into `{place}` with `--no-follow` or `--read-only`"
        ));
    }
    for model in models {
        check_model(model).map_err(|error| format!("`{}`: {error}", model.name))?;
    }
    match place {
        LakePlace::Folder(folder) => {
            std::fs::create_dir_all(folder).map_err(|error| format!("`{place}` cannot be made: {error}"))
        }
        LakePlace::S3 { .. } => place.open_files().map(drop).map_err(|error| error.to_string()),
    }
}
