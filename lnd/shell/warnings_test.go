package shell

import (
	"errors"
	"log/slog"
	"net/netip"
	"strconv"
	"strings"
	"testing"
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

// TestWarnOnce: a peer and an address are warned of once for each reason, and of the
// ordinary only the failures of peers are logged, at another level.
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
			ws.Refused(log, r, netip.MustParseAddrPort("10.0.0.1:1001"), nil) // the same address
		}
	}
	for line, want := range map[string]int{
		`level=WARN msg="peer failed" peer=peer0 reason=broken err="end of stream"`:      1,
		`level=WARN msg="peer failed" peer=peer1 reason=broken err="end of stream"`:      1,
		`level=WARN msg="peer failed" peer=peer0 reason=lost err="end of stream"`:        1,
		`level=DEBUG msg=peer peer=peer0 reason=usual`:                                   3,
		`level=WARN msg="connection refused" reason=broken from=10.0.0.1:1000 err=<nil>`: 1,
		`level=WARN msg="connection refused" reason=lost from=10.0.0.1:1000 err=<nil>`:   1,
		`level=WARN`: 6,
		`msg=`:       12,
	} {
		if got := strings.Count(text.String(), line); got != want {
			t.Errorf("%d times, not %d: %s", got, want, line)
		}
	}
	if t.Failed() {
		t.Log(text.String())
	}
}

func TestWarningsAreBounded(t *testing.T) {
	log := slog.New(slog.DiscardHandler)
	var ws Warnings[reason, peer]
	for p := range peer(3 * maxWarnings) {
		ws.Failed(log, p, broken, nil)
	}
	if n := len(ws.seen); n == 0 || n > maxWarnings {
		t.Errorf("%d warnings remembered", n)
	}
}
