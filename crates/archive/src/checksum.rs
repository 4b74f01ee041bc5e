//! MD5 sums as the manifests spell them.

use std::io::{self, Read, Write};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use md5::{Digest, Md5};

/// How much of a file is looked at in one piece.
const PIECE_BYTES: usize = 64 * 1024;

/// An MD5 sum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Sum([u8; 16]);

impl Sum {
    pub fn of(bytes: &[u8]) -> Self {
        Sum(Md5::digest(bytes).into())
    }

    /// Of all that can be read.
    pub fn of_rest(from: &mut impl Read) -> io::Result<Self> {
        let mut hasher = Md5::new();
        let mut piece = vec![0; PIECE_BYTES];
        loop {
            let read = from.read(&mut piece)?;
            if read == 0 {
                return Ok(Sum(hasher.finalize().into()));
            }
            hasher.update(piece.get(..read).unwrap_or_default());
        }
    }

    /// As `md5Checksum` and the files `.md5` have it.
    pub fn text(self) -> String {
        STANDARD.encode(self.0)
    }

    /// The tag that S3 gives an object which was uploaded in one part of a multipart upload: the sum of the parts' sums, and how many.
    pub fn etag(self) -> String {
        format!("{}-1", Sum::of(&self.0).hex())
    }

    pub fn hex(self) -> String {
        self.0.iter().map(|byte| format!("{byte:02x}")).collect()
    }
}

/// Passes on what is written, and sums it up.
pub(crate) struct SummingWriter<W> {
    to: W,
    hasher: Md5,
}

impl<W: Write> SummingWriter<W> {
    pub fn new(to: W) -> Self {
        SummingWriter { to, hasher: Md5::new() }
    }

    pub fn finish(self) -> (W, Sum) {
        (self.to, Sum(self.hasher.finalize().into()))
    }
}

impl<W: Write> Write for SummingWriter<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.to.write(bytes)?;
        self.hasher.update(bytes.get(..written).unwrap_or_default());
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.to.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sums_of_a_real_export_are_met() {
        // Of an export that DynamoDB made: a line of its manifest, and the file beside it.
        let line = "{\"itemCount\":6,\"md5Checksum\":\"EV+2HwdmZ3AyD9j+Yxd+Mg==\",\"etag\":\"a88f6b426e940985d4ef97076c8f40f6-1\",\
                    \"dataFileS3Key\":\"AWSDynamoDB/01668227450456-b6733290/data/enpvklgbwq7gta42yshirxd6ea.json.gz\"}\n";
        assert_eq!(Sum::of(line.as_bytes()).text(), "eF9XArdBefG4NFSVs2U2ow==");
        let data: [u8; 16] = STANDARD.decode("EV+2HwdmZ3AyD9j+Yxd+Mg==").unwrap().try_into().unwrap();
        assert_eq!(Sum(data).etag(), "a88f6b426e940985d4ef97076c8f40f6-1");
    }
}
