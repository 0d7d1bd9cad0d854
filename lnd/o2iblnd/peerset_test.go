package o2iblnd

import (
	"cmp"
	"testing"
	"time"

	"ulnet/lnd/o2iblnd/kib"
	"ulnet/lnet/nid"
)

var (
	lowNID  = nid.MustParse("10.10.0.1@o2ib") // x86 reads 0x01000A0A from the memory of this address; by such numbers NIDs are compared
	highNID = nid.MustParse("10.10.0.2@o2ib")
)

// setHarness steps a peerSet and keeps the parameters of its requests.
type setHarness struct {
	t    *testing.T
	s    peerSet
	now  time.Duration
	wake time.Duration
	out  peerOut
}

func newSetHarness(t *testing.T, self, peer nid.NID) *setHarness {
	return &setHarness{t: t, now: time.Second, s: newPeerSet(peerSetConfig{self: self, peer: peer, stamp: 77, depth: 8, connsPerPeer: 1})}
}

func (h *setHarness) step(in peerIn) peerOut {
	h.t.Helper()
	h.out = peerOut{}
	h.wake = h.s.Step(h.now, in, &h.out)
	if h.s.have < 0 || h.s.connecting < 0 || h.s.accepting < 0 {
		h.t.Fatalf("counts %+v", h.s)
	}
	return h.out
}

// reject makes the peer reject the request a.
func (h *setHarness) reject(a ask, why kib.Why, r kib.Reject) peerOut {
	h.t.Helper()
	r.Why = why
	if r.Version == 0 {
		r.Version = kib.V2
	}
	private := append(r.AppendTo(nil), make([]byte, 124)...)
	return h.step(peerIn{kind: peerRejected, queued: true, ask: a, reason: 28, private: private})
}

// ack makes a CONNACK, edited by change.
func (h *setHarness) ack(change func(m *kib.Msg)) []byte {
	m := kib.Msg{Params: kib.ConnParams{QueueDepth: 8, MaxFrags: 257, MaxMsgSize: 4096}}
	m.Header = kib.Header{Version: kib.V2, Type: kib.ConnAck, SrcNID: h.s.cfg.peer, SrcStamp: 5, DstNID: h.s.cfg.self, DstStamp: 77}
	if change != nil {
		change(&m)
	}
	b, err := m.AppendBinary(nil)
	if err != nil {
		h.t.Fatal(err)
	}
	return append(b, make([]byte, 196-len(b))...)
}

func (h *setHarness) connect() ask {
	h.t.Helper()
	a := h.s.ask()
	if out := h.step(peerIn{kind: peerSend, queued: true}); out.connect != 1 {
		h.t.Fatalf("asked for %d connections", out.connect)
	}
	return a
}

// TestConnectOnce: however many messages wait, the connections are requested once. When the first one is established,
// lnet is told that the peer is up.
func TestConnectOnce(t *testing.T) {
	h := newSetHarness(t, lowNID, highNID)
	a := h.connect()
	if a != (ask{version: kib.V2, depth: 8, maxFrags: 257}) {
		t.Errorf("asks for %+v", a)
	}
	if out := h.step(peerIn{kind: peerSend, queued: true}); out.connect != 0 {
		t.Error("asked again")
	}
	out := h.step(peerIn{kind: peerConnected, ask: a, private: h.ack(nil)})
	if !out.up || out.refused != nil || out.ack.QueueDepth != 8 || h.s.stamp != 5 {
		t.Errorf("%+v", out)
	}
	out = h.step(peerIn{kind: peerClosed, err: newError(PeerClosed, lustre(highNID), nil)})
	if !out.down || out.err == nil || out.connect != 0 || !h.s.idle() {
		t.Errorf("%+v", out)
	}
	if a := h.s.ask(); a.stamp != 5 {
		t.Errorf("the peer's stamp is forgotten: %+v", a)
	}
}

// TestBadAck: each kind of invalid CONNACK fails the request and the waiting messages
// (o2iblnd-wire §6, §7).
func TestBadAck(t *testing.T) {
	for _, tt := range []struct {
		name   string
		change func(m *kib.Msg)
		cut    func(b []byte) []byte
		want   Reason
	}{
		{"short", nil, func(b []byte) []byte { return b[:40] }, AckBad},
		{"magic", nil, func(b []byte) []byte { b[0] ^= 1; return b }, AckBad},
		{"checksum", func(m *kib.Msg) { m.Checksum = 5 }, nil, AckBad},
		{"type", func(m *kib.Msg) { m.Type = kib.ConnReq }, nil, AckBad},
		{"version", func(m *kib.Msg) { m.Version = kib.V1 }, nil, AckPeer},
		{"source", func(m *kib.Msg) { m.SrcNID = lowNID }, nil, AckPeer},
		{"destination", func(m *kib.Msg) { m.DstNID = highNID }, nil, AckPeer},
		{"stamp", func(m *kib.Msg) { m.DstStamp = 1 }, nil, AckPeer},
		{"deeper queue", func(m *kib.Msg) { m.Params.QueueDepth = 9 }, nil, AckParams},
		{"no queue", func(m *kib.Msg) { m.Params.QueueDepth = 0 }, nil, AckParams},
		{"more fragments", func(m *kib.Msg) { m.Params.MaxFrags = 258 }, nil, AckParams},
		{"longer messages", func(m *kib.Msg) { m.Params.MaxMsgSize = 8192 }, nil, AckParams},
	} {
		t.Run(tt.name, func(t *testing.T) {
			h := newSetHarness(t, lowNID, highNID)
			a := h.connect()
			b := h.ack(tt.change)
			if tt.cut != nil {
				b = tt.cut(b)
			}
			out := h.step(peerIn{kind: peerConnected, ask: a, private: b})
			if out.refused == nil || out.refused.Reason != tt.want || !out.failPending || !out.down || out.up || !h.s.idle() {
				t.Errorf("%+v, want %v", out, tt.want)
			}
		})
	}
}

// TestRejects: after each kind of reject by o2iblnd, this side repeats its request with the right
// parameters, or gives up (o2iblnd-wire §7.2).
func TestRejects(t *testing.T) {
	for _, tt := range []struct {
		name  string
		why   kib.Why
		r     kib.Reject
		want  Reason
		again bool
		ask   ask
	}{
		{"resources", kib.NoResources, kib.Reject{}, RejectedLimit, false, ask{}},
		{"fatal", kib.Fatal, kib.Reject{}, Rejected, false, ask{}},
		{"old peer", kib.Fatal, kib.Reject{Version: kib.V1}, RejectedVersion, false, ask{}},
		{"version", kib.ConnUncompat, kib.Reject{Version: kib.V1}, RejectedVersion, false, ask{}},
		{"stale", kib.ConnStale, kib.Reject{Stamp: 99}, RejectedStale, true, ask{kib.V2, 99, 8, 257, 0, false}},
		{"fragments", kib.RDMAFrags, kib.Reject{Params: kib.ConnParams{MaxFrags: 32}}, RejectedFrags, true, ask{kib.V2, 0, 8, 32, 0, false}},
		{"fragments, as many", kib.RDMAFrags, kib.Reject{Params: kib.ConnParams{MaxFrags: 257}}, RejectedFrags, false, ask{}},
		{"depth", kib.MsgQueueSize, kib.Reject{Params: kib.ConnParams{QueueDepth: 4}}, RejectedDepth, true, ask{kib.V2, 0, 4, 257, 0, false}},
		{"depth, as deep", kib.MsgQueueSize, kib.Reject{Params: kib.ConnParams{QueueDepth: 8}}, RejectedDepth, false, ask{}},
		{"depth, none", kib.MsgQueueSize, kib.Reject{}, RejectedDepth, false, ask{}},
		{"service", kib.InvalidSrvID, kib.Reject{}, Rejected, false, ask{}},
		{"early", kib.Early, kib.Reject{}, RejectedEarly, false, ask{}},
		{"unknown", 77, kib.Reject{}, Rejected, false, ask{}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			h := newSetHarness(t, lowNID, highNID)
			out := h.reject(h.connect(), tt.why, tt.r)
			if out.reason != tt.want || (out.connect == 1) != tt.again || out.failPending == tt.again {
				t.Errorf("%+v, want %v, again %v", out, tt.want, tt.again)
			}
			if got := h.s.ask(); tt.again && got != tt.ask {
				t.Errorf("asks for %+v, want %+v", got, tt.ask)
			}
		})
	}
}

// TestSmallerMTUs: if a peer's CM refuses the path MTU, the request is repeated with the next
// smaller one, until there is none. That also holds for a request because of a stale connection,
// for which no message waits.
func TestSmallerMTUs(t *testing.T) {
	refuse := func(h *setHarness, queued bool) peerOut {
		a := h.s.ask()
		a.mtu = cmp.Or(a.mtu, 4096)
		return h.step(peerIn{kind: peerRejected, queued: queued, ask: a, mtu: 4096, reason: cmInvalidMTU, private: make([]byte, 148)})
	}
	for _, queued := range []bool{true, false} {
		h := newSetHarness(t, lowNID, highNID)
		if queued {
			h.connect()
		} else {
			h.step(peerIn{kind: peerStale})
		}
		for mtu := 2048; mtu >= 256; mtu /= 2 {
			out := refuse(h, queued)
			if a := h.s.ask(); out.connect != 1 || out.reason != RejectedMTU || out.failPending || a.mtu != mtu || a.redial == queued {
				t.Fatalf("%+v; asks for %+v, want an MTU of %d", out, a, mtu)
			}
		}
		if out := refuse(h, queued); out.connect != 0 || out.failPending != queued || h.s.expecting() {
			t.Errorf("at the smallest: %+v", out)
		}
	}
}

// TestCMRejects: after a reject by the peer's connection manager, this side repeats its request if the
// reason of the reject permits.
func TestCMRejects(t *testing.T) {
	for _, tt := range []struct {
		reason uint16
		want   Reason
		again  bool
	}{{8, NoListener, false}, {10, RejectedStale, true}, {25, Rejected, false}, {26, RejectedMTU, true}, {28, Rejected, false}} {
		h := newSetHarness(t, lowNID, highNID)
		a := h.connect()
		a.mtu = 1024
		out := h.step(peerIn{kind: peerRejected, queued: true, ask: a, mtu: 1024, reason: tt.reason, private: make([]byte, 148)})
		if out.reason != tt.want || (out.connect == 1) != tt.again {
			t.Errorf("reason %d: %+v, want %v, again %v", tt.reason, out, tt.want, tt.again)
		}
	}
}

// TestReconnectPause: after ten requests in a row further ones are a second apart, and none
// is made if no message waits.
func TestReconnectPause(t *testing.T) {
	h := newSetHarness(t, lowNID, highNID)
	a := h.connect()
	for range fastReconnects {
		if out := h.reject(a, kib.ConnStale, kib.Reject{}); out.connect != 1 {
			t.Fatalf("%+v", out)
		}
	}
	if out := h.reject(a, kib.ConnStale, kib.Reject{}); out.connect != 0 || out.failPending || h.s.idle() {
		t.Fatalf("%+v", out)
	}
	h.now += time.Second - 1
	if out := h.step(peerIn{queued: true}); out.connect != 0 {
		t.Error("too early")
	}
	h.now++
	if out := h.step(peerIn{queued: true}); out.connect != 1 || h.s.connecting != 1 {
		t.Errorf("%+v", out)
	}
	out := h.step(peerIn{kind: peerRejected, ask: a, reason: 10})
	if out.connect != 0 || !h.s.idle() {
		t.Errorf("asked for nothing: %+v", out)
	}
}

// TestRestart: a peer with a new incarnation is refused once, while its old connections are
// ended, and accepted then (o2iblnd-wire §7.1 step 6, §7.4).
func TestRestart(t *testing.T) {
	h := newSetHarness(t, lowNID, highNID)
	h.step(peerIn{kind: peerRequest, stamp: 5, version: kib.V2})
	h.step(peerIn{kind: peerAccepted, stamp: 5, version: kib.V2})
	out := h.step(peerIn{kind: peerRequest, stamp: 6, version: kib.V2})
	if out.why != kib.ConnStale || !out.closeStale || out.reason != RefusedRestart {
		t.Errorf("%+v", out)
	}
	if out := h.step(peerIn{kind: peerRequest, stamp: 6, version: kib.V2}); out.why != 0 {
		t.Errorf("%+v", out)
	}
	if out := h.step(peerIn{kind: peerAccepted, stamp: 6, version: kib.V2}); out.up || h.s.have != 2 {
		t.Errorf("%+v", out)
	}
	if out := h.step(peerIn{kind: peerClosed}); out.down {
		t.Errorf("the last of the old ones is not the last: %+v", out)
	}
}

// TestAcceptFailed: if the peer's request fails, this side sends its own for waiting messages. The
// messages fail only if that request fails, too. If no message waits, lnet is not told.
func TestAcceptFailed(t *testing.T) {
	failed := func(h *setHarness, queued bool) peerOut {
		return h.step(peerIn{kind: peerAcceptFailed, queued: queued, err: newError(PeerClosed, lustre(highNID), nil)})
	}
	h := newSetHarness(t, lowNID, highNID)
	h.request()
	if out := failed(h, false); out.failPending || out.down || !h.s.idle() {
		t.Errorf("no message waits: %+v", out)
	}
	h.request()
	if out := h.step(peerIn{kind: peerSend, queued: true}); out.connect != 0 {
		t.Errorf("%+v", out)
	}
	if out := failed(h, true); out.failPending || out.down || out.connect != 1 {
		t.Errorf("a message waits: %+v", out)
	}
	if out := h.fails(peerFailed, Unreachable); !out.failPending || !out.down || !h.s.idle() {
		t.Errorf("its own request failed: %+v", out)
	}
}

// TestAcceptFailedOften: requests of the peer fail one after the other, as if they were forged. Because
// of that this side requests at most fastReconnects connections without a pause.
func TestAcceptFailedOften(t *testing.T) {
	h := newSetHarness(t, lowNID, highNID)
	asked := 0
	for range 3 * fastReconnects {
		h.request()
		if h.s.connecting > 0 {
			h.fails(peerFailed, RejectedRace) // our request is withdrawn in favor of that of the peer
		}
		asked += h.fails(peerAcceptFailed, PeerClosed).connect
	}
	if asked > fastReconnects {
		t.Errorf("requested %d connections at once", asked)
	}
}

// TestAcceptFailedForEver: each time that this side has sent a request, a request of the peer comes and
// then fails, as if an attacker forged it at that time. Such requests delay this side by two seconds at most.
func TestAcceptFailedForEver(t *testing.T) {
	h := newSetHarness(t, lowNID, highNID)
	began := h.now
	for out := h.request(); h.s.connecting == 0 || out.withdraw; out = h.request() {
		if h.now > began+2*time.Second {
			t.Fatalf("after %v: %+v", h.now-began, h.s)
		}
		h.now += time.Millisecond
		if h.s.connecting > 0 {
			h.fails(peerFailed, RejectedRace) // our request is withdrawn in favor of that of the peer
		}
		h.fails(peerAcceptFailed, PeerClosed)
	}
}

// TestInspectRequest: each kind of request that is invalid by itself is refused (o2iblnd-wire
// §7.1).
func TestInspectRequest(t *testing.T) {
	good := func() kib.Msg {
		m := kib.Msg{Params: kib.ConnParams{QueueDepth: 8, MaxFrags: 257, MaxMsgSize: 4096}}
		m.Header = kib.Header{Version: kib.V2, Type: kib.ConnReq, SrcNID: highNID, SrcStamp: 5, DstNID: lowNID}
		return m
	}
	for _, tt := range []struct {
		name   string
		change func(m *kib.Msg)
		cut    func(b []byte) []byte
		want   Reason
	}{
		{"good", nil, nil, ReasonNone},
		{"padded", nil, func(b []byte) []byte { return append(b, make([]byte, 36)...) }, ReasonNone},
		{"big-endian", func(m *kib.Msg) { m.BigEndian = true }, nil, ReasonNone},
		{"nothing", nil, func([]byte) []byte { return nil }, RequestCut},
		{"five bytes", nil, func(b []byte) []byte { return b[:5] }, RequestCut},
		{"cut", nil, func(b []byte) []byte { return b[:20] }, RequestCut},
		{"claims more", nil, func(b []byte) []byte { return b[:52] }, RequestBad},
		{"magic", nil, func(b []byte) []byte { b[1] = 0; return b }, RequestMagic},
		{"unified magic", nil, func(b []byte) []byte { copy(b, "\x63\x69\x72\x45"); return b }, RequestMagic},
		{"version 3", func(m *kib.Msg) { m.Version = 0x13 }, nil, RequestVersion},
		{"version 1", func(m *kib.Msg) { m.Version = kib.V1 }, nil, RequestVersion},
		{"type", func(m *kib.Msg) { m.Type = kib.Noop }, nil, RequestType},
		{"wildcard", func(m *kib.Msg) { m.SrcNID = nid.Any() }, nil, RequestBad},
		{"checksum", func(m *kib.Msg) { m.Checksum = 5 }, nil, RequestBad},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := good()
			if tt.change != nil {
				tt.change(&m)
			}
			b, err := m.AppendBinary(nil)
			if err != nil {
				t.Fatal(err)
			}
			if tt.cut != nil {
				b = tt.cut(b)
			}
			_, why, version, err := inspectRequest(b)
			if why != tt.want || (err == nil) != (why == ReasonNone) || version != kib.V2 {
				t.Errorf("%v %v %v, want %v", why, version, err, tt.want)
			}
		})
	}
	for _, tt := range []struct {
		p    kib.ConnParams
		want kib.Why
	}{
		{kib.ConnParams{QueueDepth: 8, MaxFrags: 1, MaxMsgSize: 4096}, 0},
		{kib.ConnParams{QueueDepth: 9, MaxFrags: 1, MaxMsgSize: 4096}, kib.MsgQueueSize},
		{kib.ConnParams{QueueDepth: 0, MaxFrags: 1, MaxMsgSize: 4096}, kib.MsgQueueSize},
		{kib.ConnParams{QueueDepth: 8, MaxFrags: 258, MaxMsgSize: 4096}, kib.RDMAFrags},
		{kib.ConnParams{QueueDepth: 8, MaxFrags: 0, MaxMsgSize: 4096}, kib.RDMAFrags},
		{kib.ConnParams{QueueDepth: 8, MaxFrags: 1, MaxMsgSize: 4097}, kib.Fatal},
	} {
		if why, _ := inspectParams(tt.p, 8); why != tt.want {
			t.Errorf("%+v: %v, want %v", tt.p, why, tt.want)
		}
	}
}

// TestMostConns: the connections of a peer are bounded, whatever it requests.
func TestMostConns(t *testing.T) {
	h := newSetHarness(t, lowNID, highNID)
	for range maxConns {
		h.step(peerIn{kind: peerRequest, stamp: 5, version: kib.V2})
		h.step(peerIn{kind: peerAccepted, stamp: 5, version: kib.V2})
	}
	if out := h.step(peerIn{kind: peerRequest, stamp: 5, version: kib.V2}); out.why != kib.NoResources || out.reason != RefusedLimit {
		t.Errorf("%+v", out)
	}
}
