//! Where the words of rows are kept, for searches.

use std::path::Path;

use singlet_following::WordsPlace;

use crate::place::Place;
use crate::private_file::create_folder;

/// The folder of indexes within a folder of data.
const INDEXES: &str = "search";

/// Beside the data, unless a folder is named.
pub(crate) fn words_place(place: &Place, named: Option<&Path>) -> WordsPlace {
    match (named, place) {
        (Some(folder), _) => WordsPlace::Folder(folder.to_owned()),
        (None, Place::Memory) => WordsPlace::Memory,
        (None, Place::Folder(folder)) => WordsPlace::Folder(folder.join(INDEXES)),
        (None, Place::DynamoDb { .. }) => WordsPlace::Nowhere,
    }
}

/// Makes the folder. It is made before anybody is told that the service serves, and never again: where the folder of the data is
/// removed or moved away, nothing of it is made anew.
///
/// # Errors
///
/// Where it cannot be made.
pub(crate) fn prepare_words_place(place: &WordsPlace) -> Result<(), String> {
    let WordsPlace::Folder(folder) = place else {
        return Ok(());
    };
    let made = create_folder(folder);
    made.map_err(|error| format!("the folder `{}` for searches cannot be made: {error}", folder.display()))
}
