//! Files in places where somebody else may write: a link is not followed, and what is no plain file is not waited for.

use std::{
    fs::{File, OpenOptions},
    io,
    os::unix::fs::OpenOptionsExt as _,
    path::Path,
};

use rustix::{fs::OFlags, io::Errno};

/// Opens a plain file; whatever else has its name is an error.
pub fn open(path: &Path, options: &mut OpenOptions) -> io::Result<File> {
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
    let file = options.custom_flags(flags.bits().cast_signed()).open(path);
    let file = file.map_err(|error| match Errno::from_io_error(&error) {
        Some(Errno::LOOP | Errno::NXIO) => not_plain(),
        Some(_) | None => error,
    })?;
    if file.metadata()?.is_file() { Ok(file) } else { Err(not_plain()) }
}

fn not_plain() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, "it is no plain file")
}

#[cfg(test)]
mod tests {
    use std::{fs, os::unix::fs::symlink};

    use rustix::fs::{CWD, FileType, Mode, mknodat};

    use super::*;

    #[test]
    fn neither_a_link_nor_a_pipe_nor_a_directory_is_opened() {
        let directory = tempfile::tempdir().unwrap();
        let of = |name: &str| directory.path().join(name);
        fs::write(of("file"), "text").unwrap();
        symlink(of("file"), of("link")).unwrap();
        mknodat(CWD, of("pipe"), FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
        fs::create_dir(of("directory")).unwrap();
        assert!(open(&of("file"), OpenOptions::new().read(true)).is_ok());
        for name in ["link", "pipe", "directory"] {
            for options in [OpenOptions::new().read(true), OpenOptions::new().write(true)] {
                assert!(open(&of(name), options).is_err(), "{name}");
            }
        }
        assert_eq!(fs::read_to_string(of("file")).unwrap(), "text");
    }
}
