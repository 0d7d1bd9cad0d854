package shell

import (
	"errors"
	"log/slog"
	"net/netip"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

type reason int

const (
	broken reason = iota
	lost
	usual
)

func (r reason) String() string { return [...]string{"broken", "lost", "usual"}[r] }
func (r reason) Ordinary() bool { return r == usual }

type peer int

func (p peer) String() string { return "peer" + strconv.Itoa(int(p)) }

// TestWarnOnce: each peer and each address is warned of once for each reason. Of the ordinary
// reasons only the failures of peers are logged, at another level.
func TestWarnOnce(t *testing.T) {
	var text strings.Builder
	log := slog.New(slog.NewTextHandler(&text, &slog.HandlerOptions{Level: slog.LevelDebug}))
	var ws Warnings[reason, peer]
	for range 3 {
		for _, r := range []reason{broken, lost, usual} {
			for p := range peer(2) {
				ws.Failed(log, p, r, errors.New("end of stream"))
			}
			ws.Refused(log, r, netip.MustParseAddrPort("10.0.0.1:1000"), nil)
			ws.Refused(log, r, netip.MustParseAddrPort("10.0.0.1:1001"), nil) // the address is the same as before, only the port differs
			ws.Refused(log, r, netip.AddrPort{}, errors.New("too many open files"))
		}
	}
	for line, want := range map[string]int{
		`level=WARN msg="peer failed" peer=peer0 reason=broken err="end of stream"`:      1,
		`level=WARN msg="peer failed" peer=peer1 reason=broken err="end of stream"`:      1,
		`level=WARN msg="peer failed" peer=peer0 reason=lost err="end of stream"`:        1,
		`level=DEBUG msg=peer peer=peer0 reason=usual`:                                   3,
		`level=WARN msg="connection refused" reason=broken from=10.0.0.1:1000 err=<nil>`: 1,
		`level=WARN msg="connection refused" reason=lost from=10.0.0.1:1000 err=<nil>`:   1,
		`level=WARN msg="connection refused" reason=broken err="too many open files"`:    1,
		`level=WARN msg="connection refused" reason=lost err="too many open files"`:      1,
		`level=WARN`: 8,
		`msg=`:       14,
	} {
		if got := strings.Count(text.String(), line); got != want {
			t.Errorf("%d times, not %d: %s", got, want, line)
		}
	}
	if t.Failed() {
		t.Log(text.String())
	}
}

// TestWarningsAreBounded: a host that uses a new name each time fills neither the memory nor
// the log, and some warnings about new names and addresses are still logged.
func TestWarningsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var text strings.Builder
		log := slog.New(slog.NewTextHandler(&text, nil))
		var ws Warnings[reason, peer]
		next := peer(0)
		crowd := func() (logged int) {
			text.Reset()
			for range 3 * maxWarnings {
				ws.Failed(log, next, broken, nil)
				next++
			}
			return strings.Count(text.String(), "peer failed")
		}
		if n := crowd(); n != maxWarnings || len(ws.failed.seen) != maxWarnings {
			t.Errorf("%d lines at first, %d remembered", n, len(ws.failed.seen))
		}
		if n := crowd(); n != 0 {
			t.Errorf("%d lines when the memory is full", n)
		}
		time.Sleep(trickle)
		if n := crowd(); n != 1 {
			t.Errorf("%d lines after %v", n, trickle)
		}
		ws.Refused(log, broken, netip.MustParseAddrPort("10.0.0.1:1000"), nil)
		if !strings.Contains(text.String(), "connection refused") {
			t.Error("peers that fail hide who is refused")
		}
		time.Sleep(warningsLast)
		if n := crowd(); n != maxWarnings || len(ws.failed.seen) != maxWarnings {
			t.Errorf("%d lines an hour later, %d remembered", n, len(ws.failed.seen))
		}
	})
}
