package health

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"time"

	"ulnet/health/engine"
	"ulnet/lnet/nid"
)

var first, second, third = nid.MustParse("10.0.0.1@tcp"), nid.MustParse("10.0.0.2@tcp"), nid.MustParse("10.0.0.3@tcp")

// TestLonelyLog: the log of a client that no server accepts names the servers, their reasons,
// and what to do about a wrong clock.
func TestLonelyLog(t *testing.T) {
	var b bytes.Buffer
	log := slog.New(slog.NewTextHandler(&b, nil))
	logLonely(log, []engine.Answer{{Server: first, Code: NoQuorum}, {Server: third}})
	if text := b.String(); !strings.Contains(text, `answers="10.0.0.1@tcp: no-quorum, 10.0.0.3@tcp: no answer"`) || strings.Contains(text, "hint") {
		t.Error(text)
	}
	b.Reset()
	logLonely(log, []engine.Answer{{Server: second, Code: Ahead}})
	if text := b.String(); !strings.Contains(text, "remove the file 'incarnation'") {
		t.Error(text)
	}
}

// TestOtherTimesLog: if servers refuse a client because of its timeouts, the client's log tells
// what to do about it.
func TestOtherTimesLog(t *testing.T) {
	var b bytes.Buffer
	log := slog.New(slog.NewTextHandler(&b, nil))
	logLonely(log, []engine.Answer{{Server: first, Code: OtherTimes, Evict: time.Second, Needs: 2 * time.Second, Ping: time.Second}, {Server: second, Code: Ahead}})
	logRefused(log, &ClientEvent{Server: third, Code: OtherTimes, Evict: time.Second})
	for _, want := range []string{"10.0.0.1@tcp: other-times (it evicts", "; other-times: give this client the times", "'incarnation'", "server=10.0.0.3@tcp"} {
		if text := b.String(); !strings.Contains(text, want) {
			t.Errorf("no %q in %s", want, text)
		}
	}
	b.Reset()
	if logRefused(log, &ClientEvent{Server: third, Code: Busy}); b.Len() > 0 {
		t.Error(b.String())
	}
}

// TestSupersededLog: the log of a superseded client names the node of the later incarnation.
func TestSupersededLog(t *testing.T) {
	var text bytes.Buffer
	logSuperseded(slog.New(slog.NewTextHandler(&text, nil)), &ClientEvent{Peer: nid.MustParse("10.1.0.9@tcp"), Server: first})
	if !strings.Contains(text.String(), "elsewhere=10.1.0.9@tcp") {
		t.Errorf("log says %s", &text)
	}
}
