//! What stops a benchmark.

/// A failure in words.
#[derive(Debug)]
pub struct Failure(pub String);

/// What a step of a benchmark gives.
pub type Outcome<T> = Result<T, Failure>;

impl std::fmt::Display for Failure {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str(&self.0)
    }
}

impl<E: std::error::Error> From<E> for Failure {
    fn from(error: E) -> Self {
        Failure(error.to_string())
    }
}
