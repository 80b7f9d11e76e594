//! Reading small files that anybody may have put there.

use std::{
    fs::File,
    io::{self, Read as _},
    path::Path,
};

use rustix::fs::{Mode, OFlags};

/// Reads a text file of at most `largest` bytes, as [`bytes`] does.
pub fn read(path: &Path, largest: u64) -> io::Result<String> {
    String::from_utf8(bytes(path, largest)?).map_err(|error| {
        let problem = format!("it is not text: byte {} is no UTF-8", error.utf8_error().valid_up_to());
        io::Error::new(io::ErrorKind::InvalidData, problem)
    })
}

/// Reads a text file of a tree as [`read`] does, if no link on the way leads out of the tree.
pub fn read_inside(root: &Path, file: &str, largest: u64) -> io::Result<String> {
    let real = root.join(file).canonicalize()?;
    if !real.starts_with(root.canonicalize()?) {
        return Err(io::Error::other("it leads out of the tree"));
    }
    read(&real, largest)
}

/// Reads a file of at most `largest` bytes.
///
/// Anything but an ordinary file is refused unread: a pipe would never answer, a device would never end.
pub fn bytes(path: &Path, largest: u64) -> io::Result<Vec<u8>> {
    // Without `NONBLOCK` the opening of a pipe would wait for somebody to write into it.
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK;
    let file = File::from(rustix::fs::open(path, flags, Mode::empty())?);
    let metadata = file.metadata()?;
    if !metadata.is_file() {
        return Err(io::Error::other("it is not a file"));
    }
    // One byte more shows the end without another growth.
    let expected = metadata.len().min(largest).saturating_add(1);
    let mut bytes = Vec::with_capacity(usize::try_from(expected).unwrap_or(0));
    file.take(largest.saturating_add(1)).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > largest {
        let problem = format!("it has more than {largest} bytes");
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, problem));
    }
    Ok(bytes)
}
