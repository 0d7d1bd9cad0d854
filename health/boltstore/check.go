package boltstore

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"runtime/debug"
	"strings"
	"syscall"
	"time"

	"go.etcd.io/bbolt"

	"ulnet/health"
)

// verb is the first argument of a process that checks a database. The second argument is the path of
// the database.
const verb = "boltstore-check"

// greeting is the first output of such a process. A process that does not print it is another
// program, whatever its exit code is.
const greeting = verb + " 1\n"

// Exit codes of the check. If the check itself crashes, with Go's exit code 2 or by a signal,
// the file is damaged, unless the check lacked a thread or memory.
const (
	exitSound   = 0
	exitCrash   = 2
	exitDamaged = 3
	exitInUse   = 4
	exitVersion = 5
	exitFailed  = 6
)

// lacks matches the first line of the standard error of a Go program that crashes because the system gives it no
// thread or no memory, as when its user or control group has as much as it may have. The text with which boundMemory
// ends a check does not match: the file of such a check is damaged.
var lacks = regexp.MustCompile(`^(runtime|fatal error): .*(failed to create new OS thread|out of memory|cannot allocate memory)`)

// Bounds of the memory of a check: in a damaged file pages can refer to themselves, or claim
// very long runs of pages.
const (
	maxStack = 32 << 20
	maxHeap  = 128 << 20
)

// mapped is the address space that the check reserves for a file. The position of a key or value
// is a number of 32 bits in a page. A damaged position points into this reserved space behind
// the end of the file, where a read kills the process, instead of into other memory of the
// process.
const mapped = 1 << (30 + 3*(math.MaxUint>>63)) // 8 GiB; 1 GiB if addresses have 32 bits

// Child checks a database if args ask for that, and returns the code with which the process must
// exit. Otherwise asked is false. The parameter args has the arguments of the process without the
// name of the program. Every program that calls [Open] must call Child first in main.
func Child(args []string, stdout io.Writer) (code int, asked bool) {
	if len(args) != 2 || args[0] != verb {
		return 0, false
	}
	fmt.Fprint(stdout, greeting)
	debug.SetMaxStack(maxStack)
	if info, err := os.Stat(args[1]); err == nil {
		over := make(chan struct{})
		defer close(over)
		go boundMemory(info.Size(), over)
	}
	records, tombstones, err := inspect(args[1])
	if err == nil {
		fmt.Fprintf(stdout, "sound: %d records, %d tombstones\n", records, tombstones)
		return exitSound, true
	}
	fmt.Fprintln(stdout, err)
	return checkCode(err), true
}

// checkCode returns the exit code for an error of inspect.
func checkCode(err error) int {
	switch {
	case errors.Is(err, ErrInUse):
		return exitInUse
	case errors.Is(err, ErrVersion):
		return exitVersion
	case isSystemError(err):
		return exitFailed
	}
	return exitDamaged
}

// errNoChild is the error of a process that was started to check a database, but opens one
// itself.
var errNoChild = errors.New("boltstore: main has to call boltstore.Child before it opens a database")

// isSystemError reports whether an error is one of the operating system, which says nothing about the content of
// the file. bbolt returns errors of flock and mmap without a path, such as ENOLCK and ENOMEM.
func isSystemError(err error) bool {
	_, withPath := errors.AsType[*fs.PathError](err)
	_, bare := errors.AsType[syscall.Errno](err)
	return withPath || bare
}

// inspect reads all of a database. If the database is damaged, inspect may crash, or return
// without closing it.
func inspect(path string) (records, tombstones int, err error) {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return 0, 0, err
	case !info.Mode().IsRegular():
		return 0, 0, &fs.PathError{Op: "check", Path: path, Err: errors.New("not a regular file")}
	case info.Size() == 0:
		return 0, 0, fmt.Errorf("%w: the file is empty", errDamaged)
	}
	if err := metas(path); err != nil {
		return 0, 0, err
	}
	options := bbolt.Options{ReadOnly: true, PreLoadFreelist: true, Timeout: time.Second, InitialMmapSize: mapped}
	db, err := bbolt.Open(path, 0, &options)
	if errors.Is(err, syscall.ENOMEM) { // the address space of the process is limited (ulimit -v): try again without the reserved space
		options.InitialMmapSize = 0
		db, err = bbolt.Open(path, 0, &options)
	}
	if err != nil {
		return 0, 0, openError(err)
	}
	tx, err := db.Begin(false)
	if err != nil {
		return 0, 0, errors.Join(err, db.Close())
	}
	if err := newer(tx); err != nil { // checked first: other rules may hold for the pages of a newer version
		return 0, 0, errors.Join(err, tx.Rollback(), db.Close())
	}
	if err := sound(tx); err != nil {
		return 0, 0, err // the database stays open: bbolt's own check still reads it in a goroutine
	}
	clients := make(map[health.ClientID]uint64)
	err = scan(tx, func(key uint64, r health.Record) error {
		if first, twice := clients[r.Client]; twice {
			return fmt.Errorf("%w: %v is there twice, first as %x", errDamaged, r.Client, first)
		}
		clients[r.Client] = key
		records++
		return nil
	}, func(health.Tombstone) { tombstones++ })
	return records, tombstones, errors.Join(err, tx.Rollback(), db.Close())
}

// sound runs bbolt's own check of its pages, and checks the list of free pages. It stops at the first
// error, because one page with a wrong length could cause millions of errors.
func sound(tx *bbolt.Tx) error {
	for err := range tx.Check() {
		return fmt.Errorf("%w: %w", errDamaged, err)
	}
	return freePages(tx)
}

// boundMemory ends the process if the check takes more memory than an undamaged file of that
// size needs. A damaged file can cause that: bbolt trusts the length of a run of pages that is
// in the file, and records each page of the run. boundMemory watches until the caller closes the
// channel.
func boundMemory(size int64, over <-chan struct{}) {
	limit := maxHeap + 2*uint64(size)
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-over:
			return
		}
		var m runtime.MemStats
		if runtime.ReadMemStats(&m); m.HeapAlloc > limit {
			fmt.Fprintf(os.Stderr, "it takes more than %d MiB of memory\n", limit>>20)
			os.Exit(exitCrash)
		}
	}
}

// check checks the file in a child process.
func (s *Store) check() (damage, err error) {
	if s.cfg.inspect != nil {
		return s.cfg.inspect(s.cfg.Path)
	}
	info, err := os.Stat(s.cfg.Path)
	if err != nil {
		return nil, err
	}
	command := s.cfg.Checker
	if command == nil {
		if len(os.Args) > 1 && os.Args[1] == verb { // this process is the child, and must not start another one
			return nil, errNoChild
		}
		command = []string{"/proc/self/exe", verb} // starts this program, even after an update has replaced its file
	}
	limit := s.cfg.CheckTimeout
	if limit == 0 {
		limit = time.Minute + time.Duration(info.Size()/(10<<20))*time.Second
	}
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	var stdout, stderr bytes.Buffer
	cmd := exec.CommandContext(ctx, command[0], append(command[1:len(command):len(command)], s.cfg.Path)...)
	cmd.Stdout, cmd.Stderr = &limited{&stdout, 64 << 10}, &limited{&stderr, 64 << 10}
	cmd.WaitDelay = time.Second
	run := cmd.Run()
	if ctx.Err() != nil {
		return nil, fmt.Errorf("the check of %s took longer than %v: move the file away, or give it more time", s.cfg.Path, limit)
	}
	return s.outcome(cmd.ProcessState, run, stdout.String(), stderr.String())
}

// outcome interprets how the child process ended.
func (s *Store) outcome(state *os.ProcessState, run error, stdout, stderr string) (damage, err error) {
	said, greeted := strings.CutPrefix(stdout, greeting)
	said = strings.TrimSpace(said)
	if state == nil || !greeted {
		return nil, fmt.Errorf("%s cannot be checked: %w: %s", s.cfg.Path, errors.Join(errors.New("the program for it did not start"), run), firstLine(stderr))
	}
	switch code := state.ExitCode(); code {
	case exitSound:
		return nil, nil
	case exitDamaged:
		return errors.New(said), nil
	case exitInUse:
		return nil, ErrInUse
	case exitVersion:
		return nil, fmt.Errorf("%s: %w", s.cfg.Path, ErrVersion)
	case exitFailed:
		return nil, fmt.Errorf("%s cannot be checked: %s", s.cfg.Path, said)
	case exitCrash:
		if lacks.MatchString(firstLine(stderr)) {
			break
		}
		return fmt.Errorf("the check crashed: %s", firstLine(stderr)), nil
	}
	if status, ok := state.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		switch status.Signal() {
		case syscall.SIGSEGV, syscall.SIGBUS, syscall.SIGABRT:
			return fmt.Errorf("the check crashed: %v", status.Signal()), nil
		}
	}
	return nil, fmt.Errorf("%s cannot be checked: %w: %s", s.cfg.Path, run, firstLine(stderr))
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(s), "\n")
	return line
}

// limited is a writer that keeps the first bytes and drops the rest.
type limited struct {
	b    *bytes.Buffer
	left int
}

func (l *limited) Write(p []byte) (int, error) {
	n := min(len(p), l.left)
	l.left -= n
	l.b.Write(p[:n])
	return len(p), nil
}
