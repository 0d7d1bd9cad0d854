package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"

	"ulnet/cmd/internal/cli"
	"ulnet/cmd/internal/config"
	"ulnet/cmd/internal/smallfile"
	"ulnet/cmd/internal/stateversion"
)

// makeDirs makes the directories that lnetd writes to. If the disk is full or read-only it does
// not create the state directory; the modules that need the directory report that.
func makeDirs(cfg config.Config, dirs config.Dirs) error {
	err := makeDir(cfg.StateDir)
	if err != nil && !errors.Is(err, syscall.ENOSPC) && !errors.Is(err, syscall.EROFS) {
		return err
	}
	for _, dir := range []string{cfg.RuntimeDir, filepath.Dir(cfg.Socket)} {
		if err := makeDir(dir); err != nil {
			return err
		}
	}
	return cli.ConfigError(dirs.CheckOwner(cfg.RuntimeDir))
}

// makeDir makes a directory with those above it. ENOTDIR: there is a file. ENOENT: there is a symbolic link
// whose target does not exist, perhaps because a file system is mounted only after the start of lnetd.
func makeDir(dir string) error {
	err := os.MkdirAll(dir, 0o755)
	if failed, ok := errors.AsType[*fs.PathError](err); ok && errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("%s is a symbolic link to what does not exist: %w", failed.Path, syscall.ENOENT)
	}
	return err
}

// dirError adds to an error of a directory what to do.
func dirError(err error) error {
	if isLasting(err) {
		err = cli.ConfigError(err)
	}
	return cli.Hint(err, "choose directories of yours with --state-dir and --runtime-dir")
}

// lasting are errors that every start meets until an administrator changes the directory.
var lasting = []error{smallfile.ErrNotRegular, syscall.ENOTDIR, syscall.EACCES, syscall.EPERM, syscall.ELOOP, syscall.EISDIR, syscall.ENAMETOOLONG}

func isLasting(err error) bool {
	return slices.ContainsFunc(lasting, func(target error) bool { return errors.Is(err, target) })
}

// stateError adds to an error of stateversion.Prepare what to do. An error that every further start would
// meet as well counts as an error of the configuration, after which the service manager starts no daemon.
func stateError(err error) error {
	switch is := func(target error) bool { return errors.Is(err, target) }; {
	case is(stateversion.ErrVersion):
		return cli.Hint(cli.ConfigError(err), "install the newer lnetd again or, if there is none, remove a damaged version file; or name another folder with --state-dir: the node then is as one that never ran")
	case isLasting(err):
		return cli.Hint(cli.ConfigError(err), "lnetd needs a folder that it may read and write, with files of its own: mend the owner, the mode or the kind of the file that the error names, or name another folder with --state-dir")
	}
	return cli.Hint(err, "the state directory cannot be read or written: look at its disk and the limit of open files (ulimit -n), and start lnetd again")
}
