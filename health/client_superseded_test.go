package health

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"

	"ulnet/lnet/nid"
)

// TestStalePeer: CH-61: every refusal for a later life says where that runs: of a
// connect, of a ping, and of the life whose place is taken while it is saved.
func TestStalePeer(t *testing.T) {
	later := nid.ProcessID{NID: nid.MustParse("10.1.0.9@tcp"), PID: nid.LustrePID}
	connect := Message{Kind: Connect, Incarnation: 6, Server: me, Epoch: 1}
	h := newHarness(t, nil)
	h.message(later, connect)
	for _, m := range []Message{{Kind: Connect, Incarnation: 5, Server: me, Epoch: 1}, {Kind: Ping, Incarnation: 5, Epoch: 1}} {
		h.message(host, m)
		answer := h.last(map[Kind]Kind{Connect: Reject, Ping: Pong}[m.Kind])
		if answer.Code != Stale || answer.Server != later.NID {
			t.Errorf("%v: %v, which names %v", m.Kind, answer.Code, answer.Server)
		}
	}
	h = newHarness(t, nil)
	h.hold = true
	h.connect(5, me, 1)
	h.message(later, connect)
	if r := h.last(Reject); r.Code != Stale || r.Server != later.NID {
		t.Errorf("of the life that is saved: %v, which names %v", r.Code, r.Server)
	}
}

// TestSupersededBy: CH-61: a client that ends says who took its place, if the server
// does; a server of an older version names a master there.
func TestSupersededBy(t *testing.T) {
	elsewhere := nid.MustParse("10.1.0.9@tcp")
	for _, old := range []bool{false, true} {
		h := newClientHarness(t, me, otherA)
		master := h.settled()
		by, want := elsewhere, elsewhere
		if old {
			by, want = master, nid.NID{}
		}
		h.from(master, Message{Kind: Notice, Code: Stale, Incarnation: 9, Server: by})
		h.want("superseded:stale")
		if got := h.out.Effects[len(h.out.Effects)-1].Event; got.Peer != want || got.Server != master {
			t.Errorf("old %v: %+v", old, got)
		}
	}
	var text bytes.Buffer
	logSuperseded(slog.New(slog.NewTextHandler(&text, nil)), &ClientEvent{Peer: elsewhere, Server: me})
	if !strings.Contains(text.String(), "elsewhere=10.1.0.9@tcp") {
		t.Errorf("log says %s", &text)
	}
}
