// Package incarnation numbers the incarnations of a node: each gets a higher number than all
// earlier ones, even if the clock was put back. The number is kept in a file of twelve bytes in
// the state directory. Protocols that have raised the number of their own incarnation keep it in
// further files of this format, since their numbers after a restart must be higher, too.
package incarnation

import (
	"errors"
	"io/fs"
	"log/slog"
	"math"
	"os"
	"path/filepath"
	"time"
)

// File is the name of the file in the state directory.
const File = "incarnation"

const (
	// aside is appended to the name of a file that cannot be used any more.
	aside = ".aside"
	// database is the file that versions before 2026-11-23 wrote. It is never opened, since a
	// damaged one crashes a process that maps it into memory.
	database = "incarnation.db"
	// slack is how far above its own wall clock every peer accepts an incarnation. It is the limit of
	// members of a zone (Ahead of zone.Config); that of members of collectives is higher, a day.
	slack = 1 << 44 * time.Nanosecond
)

// Next returns the number of an incarnation that begins now, and stores it in dir. The number is
// the wall clock in nanoseconds since 1970, or one more than the previous number if that is
// larger. Next always returns a number, and logs a warning if it does not know the previous number
// or cannot store the new one: if the clock is put back then, a number may be used twice.
func Next(dir string, now time.Time, log *slog.Logger) uint64 {
	path := filepath.Join(dir, File)
	next := uint64(max(now.UnixNano(), 1))
	wall := next
	setAsideDatabase(dir, log)
	last, err := read(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		log.Warn("the number of this node's last incarnation is lost; this one's is the clock's. If the clock was put back since, peers take this node for its "+
			"earlier self until the clock has caught up", slog.String("file", path), slog.Any("err", errors.Join(err, setAside(path, err))))
	case last >= next:
		next = last + 1
	}
	if err := write(path, next); err != nil {
		log.Warn("the incarnation of this node is not kept, so the clock must not be put back: make room, or see --state-dir",
			slog.Uint64("incarnation", next), slog.Any("err", err))
	}
	if ahead := next - wall; ahead > uint64(slack) {
		log.Warn("the incarnation of this node is far above its clock, and peers refuse it as \"ahead\" or \"far ahead\". If the clock is behind, set it. "+
			"If it is right it was ahead once: stop lnetd, remove the file, and start it again",
			slog.String("file", path), slog.Duration("ahead", time.Duration(min(ahead, math.MaxInt64))))
	}
	return next
}

// setAsideDatabase renames the file that earlier versions used.
func setAsideDatabase(dir string, log *slog.Logger) {
	path := filepath.Join(dir, database)
	_, err := os.Lstat(path)
	if err == nil {
		err = os.Rename(path, path+aside)
	}
	switch {
	case err == nil:
		log.Info("the file of an earlier version is set aside unread, and this incarnation's number is the clock's", slog.String("file", path+aside))
	case !errors.Is(err, fs.ErrNotExist):
		log.Warn("the file of an earlier version stays, unread: remove it", slog.String("file", path), slog.Any("err", err))
	}
}
