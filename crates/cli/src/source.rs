//! Model files from disk or from standard input.

use std::fs;
use std::io::Read;
use std::path::Path;

use singlet_model::source::SOURCE_BYTES_MAX;

/// The bytes of a file; `-` is standard input. What is longer than any model is not read to its end.
///
/// # Errors
///
/// A sentence that names the file and the reason.
pub(crate) fn read_source(path: &Path) -> Result<Vec<u8>, String> {
    read_within(path, SOURCE_BYTES_MAX as u64)
}

/// The bytes of a file, and one more than the most where it has more.
pub(crate) fn read_within(path: &Path, bytes_max: u64) -> Result<Vec<u8>, String> {
    let failed = |error: std::io::Error| format!("`{}` cannot be read: {}", path.display(), io_reason(&error));
    let mut bytes = Vec::new();
    let bytes_max = bytes_max.saturating_add(1);
    if path.as_os_str() == "-" {
        std::io::stdin()
            .take(bytes_max)
            .read_to_end(&mut bytes)
            .map_err(failed)?;
    } else {
        let file = fs::File::open(path).map_err(failed)?;
        file.take(bytes_max).read_to_end(&mut bytes).map_err(failed)?;
    }
    Ok(bytes)
}

/// What the operating system says, without its number.
pub(crate) fn io_reason(error: &std::io::Error) -> String {
    match error.kind() {
        std::io::ErrorKind::NotFound => "there is no such file".to_owned(),
        std::io::ErrorKind::PermissionDenied => "permission denied".to_owned(),
        std::io::ErrorKind::IsADirectory => "it is a folder".to_owned(),
        _ => error.to_string().to_lowercase(),
    }
}
