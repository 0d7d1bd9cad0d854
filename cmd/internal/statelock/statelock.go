// Package statelock keeps a second daemon from using a state directory: two daemons with one directory would use
// the same incarnations and overwrite each other's records.
//
// The lock is a flock on the directory itself, so that it needs no space on the disk. The kernel releases it when
// the process ends. A daemon may start while its directory does not exist, such as on a full disk, and a file
// system may be mounted at the path later. Therefore each module that writes there calls [Lock.Hold] before.
package statelock

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
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

	taking   sync.Mutex // held by Hold, perhaps while a disk does not answer; taken before mu
	mu       sync.Mutex
	held     []directory  // what was locked: several directories if a file system was mounted at the path; guarded by mu, like all below
	log      *slog.Logger // log of the daemon; nil: not known yet
	released bool         // a directory that is locked from now on is unlocked at once
}

// directory is a directory that has been locked, or that cannot be locked because its file system has no locks.
type directory struct {
	file    *os.File // nil: it is not locked
	info    fs.FileInfo
	missing error // why it is not locked
}

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
	l.taking.Lock()
	defer l.taking.Unlock()
	f, err := os.Open(l.dir)
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
	d := directory{file: f, info: info}
	if err := l.lock(f); err != nil {
		f.Close()
		if !lacksLocks(err) {
			return explain(l.dir, err)
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

// has reports whether a directory was locked by an earlier Hold.
func (l *Lock) has(info fs.FileInfo) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.ContainsFunc(l.held, func(d directory) bool { return os.SameFile(d.info, info) })
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
		warn(l.log, l.dir, d.missing)
	}
}

// explain returns the error of a daemon that cannot lock its state directory.
func explain(dir string, err error) error {
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return cli.Hint(fmt.Errorf("another lnetd uses the state directory %s", dir),
			"each daemon needs one of its own: --state-dir, or stop the other ('fuser -v %s' shows it)", dir)
	}
	return cli.Hint(fmt.Errorf("the state directory %s cannot be locked: %w", dir, err),
		"look at its disk and at the kernel's log, or choose another directory with --state-dir")
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
		warn(log, l.dir, d.missing)
	}
}

// warn logs why the state directory is not locked, unless why is nil.
func warn(log *slog.Logger, dir string, why error) {
	if why != nil {
		log.Warn("the state directory is not locked: nothing keeps a second lnetd from using it, which would spoil the incarnations and records of both; see that no other has the same --state-dir",
			slog.String("dir", dir), slog.Any("err", why))
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
