package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// violation is an error that proves a defect of LNet.
type violation struct{ text string }

func (v *violation) Error() string { return v.text }

// note writes a line to the log of the run.
func (s *soak) note(format string, args ...any) {
	fmt.Fprintf(s.notes, "%10.3f "+format+"\n", append([]any{time.Since(s.began).Seconds()}, args...)...)
}

// tail returns the end of a worker's log.
func (s *soak) tail(m *member) string {
	b, _ := os.ReadFile(s.logFile(m))
	lines := strings.Split(strings.TrimSpace(string(b)), "\n")
	return strings.Join(lines[max(0, len(lines)-30):], "\n")
}

// close ends a run. After a violation it keeps the evidence, and prints how to repeat the run;
// otherwise it removes all files.
func (s *soak) close(err error) error {
	s.note("ends: %v", err)
	s.notes.Close()
	if v, bad := errors.AsType[*violation](err); bad {
		_ = s.keepJournal() // an error is ignored, because the violation is more important
		return fmt.Errorf("VIOLATION after %v, seed %d: %w\n  evidence in %s\n  again: %s",
			time.Since(s.began).Round(time.Millisecond), s.cfg.seed, v, s.dir, s.cfg.command)
	}
	if !s.cfg.keep {
		_ = os.RemoveAll(s.dir) // an error is ignored, because the folder is no longer needed
	}
	return err
}

// keepJournal writes the latest records to a file, in the order in which they were read, with the
// times at which they were written.
func (s *soak) keepJournal() error {
	var b strings.Builder
	for _, r := range s.ledger.records() {
		fmt.Fprintf(&b, "%10.3f %v\n", time.UnixMicro(r.At).Sub(s.began).Seconds(), r)
	}
	return os.WriteFile(filepath.Join(s.dir, "journal.txt"), []byte(b.String()), 0o644)
}
