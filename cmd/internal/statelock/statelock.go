// Package statelock keeps a second daemon from using a state directory or a runtime directory: two daemons with one
// directory would use the same incarnations and overwrite each other's records and state files.
//
// The lock of a state directory is a flock on the directory itself, so that it needs no space on the disk. A
// runtime directory can be read by other users, and a process that can open a directory can lock it. So there the
// flock is on a file that only the daemon's user can open. The kernel releases both locks when the process ends. A
// daemon may start while its state directory does not exist, such as on a full disk, and a file system may be
// mounted at the path later. Therefore each module that writes there calls [Lock.Hold] first.
package statelock

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"syscall"

	"ulnet/cmd/internal/cli"
)

// Lock is the lock on a state directory. All methods are safe for concurrent use, and may be called on nil,
// which locks nothing.
type Lock struct {
	dir   string
	flock func(fd, how int) error

	taking   sync.Mutex // held by Hold and HoldRuntime, perhaps while a disk does not answer; taken before mu
	mu       sync.Mutex
	held     []directory  // the runtime directory, and each state directory that was found at the path: a file system may be mounted there later; guarded by mu, like all below
	log      *slog.Logger // log of the daemon; nil: not known yet
	released bool         // a directory that is locked from now on is unlocked at once
}

// directory is a directory that has been locked, or that cannot be locked because its file system has no locks.
type directory struct {
	use
	path    string
	file    *os.File    // the locked directory, or the locked file in it; nil: nothing is locked
	info    fs.FileInfo // of the file
	missing error       // why it is not locked
}

// use is what a directory is for, in errors and warnings.
type use struct{ name, flag, harm string }

var (
	stateUse   = use{"state directory", "--state-dir", "would spoil the incarnations and records of both"}
	runtimeUse = use{"runtime directory", "--runtime-dir", "would remove the state files of both"}
)

// noLocks are errors of flock from file systems that cannot lock a directory. NFS and CIFS return EBADF if they
// pass the lock on to a server, because a directory cannot be open for writing.
var noLocks = []syscall.Errno{syscall.ENOLCK, syscall.ENOTSUP, syscall.ENOSYS, syscall.EINVAL, syscall.EBADF}

// Take locks a state directory until Release is called or the process ends. If the directory does not exist,
// Take locks nothing yet; see Hold. A [*fs.PathError] means that the directory cannot be opened.
func Take(dir string) (*Lock, error) { return take(dir, syscall.Flock) }

func take(dir string, flock func(fd, how int) error) (*Lock, error) {
	l := &Lock{dir: dir, flock: flock}
	return l, l.Hold()
}

// Hold locks the directory to which the path leads now, unless that is locked already. It returns an error if
// another daemon has locked it, or if locking fails for another reason than that the file system has no locks.
// If there is no directory, Hold does nothing.
func (l *Lock) Hold() error {
	if l == nil {
		return nil
	}
	return l.hold(l.dir, stateUse)
}

// runtimeLock is the file in a runtime directory that is locked. It stays there when the daemon ends.
const runtimeLock = "lnetd.lock"

// HoldRuntime locks the runtime directory of the same daemon, by a file in it. It may be the same directory as the
// state directory. If the file cannot be made, as on a full disk, the directory is not locked.
func (l *Lock) HoldRuntime(dir string) error {
	if l == nil {
		return nil
	}
	l.taking.Lock()
	defer l.taking.Unlock()
	f, err := os.OpenFile(filepath.Join(dir, runtimeLock), os.O_RDWR|os.O_CREATE|syscall.O_NOFOLLOW, 0o600)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		l.keep(directory{use: runtimeUse, path: dir, missing: err})
		return nil
	}
	return l.holdFile(f, err, dir, runtimeUse)
}

func (l *Lock) hold(dir string, as use) error {
	l.taking.Lock()
	defer l.taking.Unlock()
	f, err := os.Open(dir)
	return l.holdFile(f, err, dir, as)
}

// holdFile locks the file f for the directory dir. The argument err is the error of opening f.
func (l *Lock) holdFile(f *os.File, err error, dir string, as use) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	info, err := f.Stat()
	if err != nil || l.has(info) {
		return errors.Join(err, f.Close())
	}
	d := directory{use: as, path: dir, file: f, info: info}
	if err := l.lock(f); err != nil {
		f.Close()
		if !lacksLocks(err) {
			return as.explain(dir, err)
		}
		d.file, d.missing = nil, err
	}
	l.keep(d)
	return nil
}

// lock calls flock again for as long as a signal interrupts it.
func (l *Lock) lock(f *os.File) error {
	for {
		if err := l.flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); !errors.Is(err, syscall.EINTR) {
			return err
		}
	}
}

// lacksLocks reports whether an error of flock means that the file system has no locks.
func lacksLocks(err error) bool {
	return slices.ContainsFunc(noLocks, func(none syscall.Errno) bool { return errors.Is(err, none) })
}

// has reports whether a directory or file was locked before.
func (l *Lock) has(info fs.FileInfo) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.ContainsFunc(l.held, func(d directory) bool { return d.info != nil && os.SameFile(d.info, info) })
}

func (l *Lock) keep(d directory) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.released && d.file != nil {
		d.file.Close()
		return
	}
	l.held = append(l.held, d)
	if l.log != nil {
		d.warn(l.log)
	}
}

// explain returns the error of a daemon that cannot lock a directory.
func (u use) explain(dir string, err error) error {
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return cli.Hint(fmt.Errorf("another lnetd uses the %s %s", u.name, dir),
			"each daemon needs one of its own: %s, or stop the other ('fuser -v %s' shows it)", u.flag, dir)
	}
	return cli.Hint(fmt.Errorf("the %s %s cannot be locked: %w", u.name, dir, err),
		"look at its disk and at the kernel's log, or choose another directory with %s", u.flag)
}

// LogTo sets the log for warnings about directories that are not locked because their file system has no locks.
// It logs those of directories that Hold has found before.
func (l *Lock) LogTo(log *slog.Logger) {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.log = log
	for _, d := range l.held {
		d.warn(log)
	}
}

// warn logs why a directory is not locked, if it is not.
func (d *directory) warn(log *slog.Logger) {
	if d.missing != nil {
		log.Warn(fmt.Sprintf("the %s is not locked: nothing keeps a second lnetd from using it, which %s; see that no other has the same %s", d.name, d.harm, d.flag),
			slog.String("dir", d.path), slog.Any("err", d.missing))
	}
}

// Release ends the lock. It does not wait for a Hold whose disk does not answer.
func (l *Lock) Release() {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.released = true
	for _, d := range l.held {
		if d.file != nil {
			d.file.Close()
		}
	}
	l.held = nil
}
