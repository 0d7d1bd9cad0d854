package journal

import (
	"bytes"
	"log/slog"
	"net"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// busy is a connection to a journald that reads nothing while it is stuck.
type busy struct {
	net.Conn // nil: it only supplies the methods that the handler does not call
	stuck    bool
	deadline time.Time
	lines    []map[string]string
	late     int // writes that ended at their deadline
	t        *testing.T
}

func (b *busy) SetWriteDeadline(at time.Time) error {
	b.deadline = at
	return nil
}

func (b *busy) Write(line []byte) (int, error) {
	if b.stuck {
		b.late++
		time.Sleep(time.Until(b.deadline))
		return 0, os.ErrDeadlineExceeded
	}
	fields, err := parse(line)
	if err != nil {
		b.t.Error(err)
	}
	b.lines = append(b.lines, fields)
	return len(line), nil
}

// TestStuckJournald: while journald does not read, a line waits once per pause, and the others are
// dropped at once. None goes to standard error, whose reader is the same journald. When it reads
// again, a line tells how many were dropped.
func TestStuckJournald(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		conn := &busy{stuck: true, t: t}
		var rest bytes.Buffer
		h := &handler{socket: newSocket(""), name: "lnetd", level: slog.LevelInfo, fallback: slog.NewTextHandler(&rest, nil)}
		h.socket.dial = func(string, string) (net.Conn, error) { return conn, nil }
		log, began := slog.New(h), time.Now()
		for range 50 {
			log.Info("dropped")
		}
		if took := time.Since(began); took != sendTimeout || conn.late != 1 {
			t.Errorf("50 lines took %v, and %d waited; want %v, and one", took, conn.late, sendTimeout)
		}
		time.Sleep(pause)
		log.Info("dropped, too")
		if conn.late != 2 {
			t.Errorf("%d lines waited after the pause, want one more", conn.late)
		}
		conn.stuck = false
		log.Info("dropped in the pause")
		time.Sleep(pause)
		log.Info("first")
		log.Info("second")
		if rest.Len() > 0 {
			t.Errorf("to standard error: %s", &rest)
		}
		var texts []string
		for _, l := range conn.lines {
			texts = append(texts, l["MESSAGE"])
		}
		if len(texts) != 3 || !strings.HasSuffix(texts[0], " lines=52") || texts[1] != "first" || texts[2] != "second" {
			t.Errorf("%q", texts)
		}
	})
}
