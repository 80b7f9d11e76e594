// SQLite, where root runs it, gives its log to the owner of the database whenever it opens one. Nearly always the log is theirs
// already; to say so again makes the file's record on disk a new one, which the next sync then has to write too.
//
// `.cargo/config.toml` has SQLite call this instead of `fchown`.

#include <sys/stat.h>
#include <unistd.h>

int warp_fchown(int file, uid_t user, gid_t group)
{
    struct stat now;
    if (fstat(file, &now) == 0 && now.st_uid == user && now.st_gid == group) return 0;
    return fchown(file, user, group);
}
