//! Small files that are replaced whole, and files that are set aside.

use std::{
    fs::{self, File},
    io::{self, Write as _},
    os::unix::fs::{FileExt as _, MetadataExt as _, OpenOptionsExt as _},
    path::{Path, PathBuf},
};

use adapters::boundary;
use rustix::fs::{CWD, OFlags, RenameFlags};

/// Replaces a file: readers see the old text or the new, never a part.
///
/// It is not synced: what is written here are views, which the journal can always make again. The temporary
/// name is fixed, so a crash leaves at most one; callers hold the workspace's lock.
pub fn replace(path: &Path, text: &str) -> io::Result<()> {
    let draft = draft(path)?;
    write(&draft, text)?;
    boundary::around(name_of(path), || fs::rename(&draft, path))
}

/// Takes a file away, to where [`replace`] writes the next one: no file is made and removed for each.
pub fn withdraw(path: &Path) -> io::Result<()> {
    retire(path, &draft(path)?)
}

/// Takes a file away that [`exchange`] has put there. It is kept for the next time there is one: to make a file and to remove
/// it takes longer than all that is done with it.
pub fn withdraw_exchanged(path: &Path, spare: &Path) -> io::Result<()> {
    retire(path, &second(spare))
}

/// Moves a file to where it is written anew.
fn retire(path: &Path, place: &Path) -> io::Result<()> {
    match path.symlink_metadata() {
        // What is no file is not moved.
        Ok(data) if data.is_dir() => return Err(io::ErrorKind::IsADirectory.into()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Ok(_) | Err(_) => {}
    }
    let moved = boundary::around(name_of(path), || gone(fs::rename(path, place)));
    // Something that is no file may be in the way, or it is on another disk.
    moved.or_else(|_| gone(fs::remove_file(path)))
}

/// Replaces a file as [`replace`] does, and does not wait for the disk. The file that was there becomes the spare one, in
/// which the next text is written.
///
/// File systems that guess that a file renamed over another should outlive a power cut write it out before they go
/// on. Two files that change places are not taken for that: after a power cut the new one may be empty, so this is
/// for what can be made again. Whoever has a file open while the text after next is written may read a part of that.
pub fn exchange(path: &Path, spare: &Path, text: &str) -> io::Result<()> {
    write(spare, text)?;
    let exchange = || rustix::fs::renameat_with(CWD, spare, CWD, path, RenameFlags::EXCHANGE);
    match boundary::around(name_of(path), exchange) {
        Ok(()) if spare.symlink_metadata().is_ok_and(|data| data.is_dir()) => {
            // What is no file belongs where it was.
            exchange()?;
            Err(io::ErrorKind::IsADirectory.into())
        }
        Ok(()) => Ok(()),
        // There is none yet, or the file system cannot do it.
        Err(_) if fs::rename(spare, path).is_ok() => {
            // The last one that was taken away is the spare one then. Without one, the next text makes a file.
            let _ = fs::rename(second(spare), spare);
            Ok(())
        }
        Err(_) => replace(path, text),
    }
}

/// Returns where a file is kept that was taken away, beside the spare one.
fn second(spare: &Path) -> PathBuf {
    spare.with_extension("old")
}

/// Returns where a file is written before it is renamed into place.
fn draft(path: &Path) -> io::Result<PathBuf> {
    let mut name = path.file_name().ok_or(io::ErrorKind::InvalidInput)?.to_owned();
    name.push(".new");
    Ok(path.with_file_name(name))
}

/// Writes a file that nobody looks at yet, over what was written there before if that is a file of its own: no link and
/// no pipe under its name is written to.
fn write(path: &Path, text: &str) -> io::Result<()> {
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
    let flags = i32::try_from(flags.bits()).unwrap_or_default();
    let found = match File::options().write(true).custom_flags(flags).open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return make(path, text),
        found => found,
    };
    if let Ok(file) = found
        && let Some(data) = file.metadata().ok().filter(|data| data.is_file() && data.nlink() == 1)
    {
        file.write_all_at(text.as_bytes(), 0)?;
        let length = text.len() as u64;
        return if data.len() > length { file.set_len(length) } else { Ok(()) };
    }
    gone(fs::remove_file(path))?;
    make(path, text)
}

/// Writes a file that is not there yet.
fn make(path: &Path, text: &str) -> io::Result<()> {
    let made = match File::create_new(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            fs::create_dir_all(path.parent().ok_or(io::ErrorKind::InvalidInput)?)?;
            File::create_new(path)
        }
        made => made,
    };
    made?.write_all(text.as_bytes())
}

/// Removes a file that may not be there.
pub fn remove(path: &Path) -> io::Result<()> {
    boundary::around(name_of(path), || gone(fs::remove_file(path)))
}

fn gone(removed: io::Result<()>) -> io::Result<()> {
    match removed {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// Names the point at which a file comes or goes.
fn name_of(path: &Path) -> &str {
    path.file_name().and_then(|name| name.to_str()).unwrap_or("file")
}

/// Moves whatever is at `path` into `directory` under a name that nothing has, and returns where it is.
pub fn set_aside(path: &Path, directory: &Path, label: &str) -> io::Result<PathBuf> {
    fs::create_dir_all(directory)?;
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let name = name.trim_start_matches('.');
    for number in 0..10_000 {
        let target = directory.join(format!("{label}-{number}-{name}"));
        if target.symlink_metadata().is_ok() {
            continue;
        }
        match boundary::around("set_aside", || fs::rename(path, &target)) {
            Ok(()) => return Ok(target),
            Err(error) if error.kind() == io::ErrorKind::CrossesDevices => {
                let beside = path.with_file_name(format!("{name}.set-aside-{label}-{number}"));
                fs::rename(path, &beside)?;
                return Ok(beside);
            }
            Err(error) => return Err(error),
        }
    }
    Err(io::Error::other(format!("`{}` is full of files set aside", directory.display())))
}
