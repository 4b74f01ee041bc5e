//! Paths in a request that goes to another process: their sharing stays behind.

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::{Path, Paths};

pub(crate) fn serialize<S: Serializer>(paths: &Paths, serializer: S) -> Result<S::Ok, S::Error> {
    (**paths).serialize(serializer)
}

pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Paths, D::Error> {
    Ok(Vec::<Path>::deserialize(deserializer)?.into())
}
