package engine

import (
	"bytes"
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/sha256"
	"errors"
	"slices"
	"testing"
	"time"

	"ulnet/health/wire"
	"ulnet/lnd/lndtest/spec"
	"ulnet/lnet/nid"
	"ulnet/portals/keyring"
)

// testKeys returns a key for each letter. The first letter is the key that signs.
func testKeys(t *testing.T, letters string) keyring.Keys {
	t.Helper()
	var list [][]byte
	for _, r := range []byte(letters) {
		list = append(list, bytes.Repeat([]byte{r}, keyring.MinKey))
	}
	keys, err := keyring.NewKeys(list...)
	if err != nil {
		t.Fatal(err)
	}
	return keys
}

// signed returns a connect that a process has signed for a server.
func signed(keys keyring.Keys, m wire.Message, from nid.ProcessID, to nid.NID) []byte {
	m.Kind, m.Client, m.Proof = wire.Connect, testClient, noProof[:]
	return sign(keys.Ring(keyLabel), m.AppendTo(nil), 0, from, to)
}

// newKeyed returns a server with keys that verify connects.
func newKeyed(t *testing.T, letters string) *harness {
	t.Helper()
	return newHarness(t, func(c *ServerConfig) { c.Keys = testKeys(t, letters) })
}

func (h *harness) raw(from nid.ProcessID, data []byte) {
	h.t.Helper()
	h.step(ServerInput{Kind: Arrived, From: from, Data: data})
}

// TestSignedConnect: CH-A15: a server that has keys accepts a connect only with an
// authentication code made with one of them. The code covers every field, and is bound to the
// process that sends the connect and to the server.
func TestSignedConnect(t *testing.T) {
	spec.Covers(t, "CH-A15")
	m := wire.Message{Incarnation: 5, Server: otherA, Epoch: 2, Sequence: 9, Name: []byte("host"), Retry: 5 * time.Second, ServerIncarnation: 12500, Token: make([]byte, wire.TokenSize)}
	good := signed(testKeys(t, "a"), m, host, me)
	other := host
	other.PID++
	plain := m
	plain.Kind, plain.Client = wire.Connect, testClient
	for _, test := range []struct {
		name    string
		from    nid.ProcessID
		data    []byte
		refused bool
	}{
		{"the first key", host, good, false},
		{"the second key", host, signed(testKeys(t, "b"), m, host, me), false},
		{"another key", host, signed(testKeys(t, "c"), m, host, me), true},
		{"no code", host, plain.AppendTo(nil), true},
		{"for another server", host, signed(testKeys(t, "a"), m, host, otherA), true},
		{"of another process", other, good, true},
		{"of another node", stranger, good, true},
		{"of another protocol", host, testKeys(t, "a").Ring("gossip").Append(slices.Clone(good[:len(good)-keyring.CodeSize]), 0, proofOf(host, me)), true},
	} {
		t.Run(test.name, func(t *testing.T) {
			h := newKeyed(t, "ab")
			h.raw(test.from, test.data)
			if !test.refused {
				h.want("save connected accept")
				return
			}
			h.want("reject:other-key")
			if s := h.s.Stats(); s.Rejected[wire.OtherKey] != 1 || h.s.Status().Keys != 2 {
				t.Errorf("%+v", s)
			}
		})
	}
	h := newKeyed(t, "a")
	for i := range good { // whichever byte is changed, the connect is refused
		data := slices.Clone(good)
		data[i] ^= 1
		h.raw(host, data)
		h.wantState("none")
	}
	plain.Retry, plain.ServerIncarnation = 0, 0
	h.raw(host, plain.AppendTo(nil))
	h.want("reject:bad-claim") // a connect without an authentication code, as older versions send it
	newHarness(t, nil).raw(host, good)
}

// TestSignedConnectBytes: the authentication code at the end of the message is an HMAC (RFC
// 2104), whose key is derived as in RFC 5869.
func TestSignedConnectBytes(t *testing.T) {
	got := signed(testKeys(t, "a"), wire.Message{Incarnation: 5, Server: me, Epoch: 2, Name: []byte("host")}, host, otherA)
	plain := wire.Message{Kind: wire.Connect, Client: testClient, Incarnation: 5, Server: me, Epoch: 2, Name: []byte("host")}
	want := plain.AppendTo(nil)
	want[79] |= 0x80
	key, err := hkdf.Key(sha256.New, bytes.Repeat([]byte("a"), keyring.MinKey), nil, "ulnet health", sha256.Size)
	if err != nil {
		t.Fatal(err)
	}
	mac := hmac.New(sha256.New, key)
	mac.Write(otherA.AppendExtended(host.NID.AppendExtended(nil)))
	mac.Write([]byte{byte(host.PID), byte(host.PID >> 8), byte(host.PID >> 16), byte(host.PID >> 24), 0, 0, 0, 0})
	mac.Write(want)
	if want = append(want, mac.Sum(nil)[:12]...); !bytes.Equal(got, want) {
		t.Errorf("got  %x\nwant %x", got, want)
	}
	m, err := wire.ParseMessage(got)
	if err != nil || !bytes.Equal(m.Proof, want[len(want)-12:]) || string(m.Name) != "host" || len(m.Token) != 0 || !bytes.Equal(m.AppendTo(nil), got) {
		t.Errorf("%+v, %v", m, err)
	}
	for i := range got {
		if _, err := wire.ParseMessage(got[:i]); err == nil {
			t.Errorf("%d bytes are a message", i)
		}
	}
	got[5] = byte(wire.Ping) // a ping, which is never signed
	if _, err := wire.ParseMessage(got); !errors.Is(err, wire.ErrBody) {
		t.Errorf("a ping: %v", err)
	}
}

// TestReplayedConnect: CH-A1, CH-A20: a copy of a signed connect arrives again, perhaps from its
// sender's own NID. The copy changes nothing while its incarnation is connected, is superseded,
// or has a tombstone. After the tombstone has expired, the copy makes a connection that does not
// last.
func TestReplayedConnect(t *testing.T) {
	spec.Covers(t, "CH-A1", "CH-A20")
	keys := testKeys(t, "a")
	at := func(incarnation uint64, epoch uint32, sequence uint64) []byte {
		return signed(keys, wire.Message{Incarnation: incarnation, Server: me, Epoch: epoch, Sequence: sequence}, host, me)
	}
	h := newKeyed(t, "a")
	old := at(5, 1, 9)
	h.raw(host, old)
	h.message(host, wire.Message{Kind: wire.Choose, Incarnation: 5, Server: otherA, Epoch: 2, Sequence: 10})
	h.raw(host, at(5, 3, 12))
	h.wantState("connected 5 10.0.0.1@tcp/3")
	h.raw(host, old)
	h.wantState("connected 5 10.0.0.1@tcp/3")
	h.message(host, wire.Message{Kind: wire.Disconnect, Incarnation: 5, Sequence: 11}) // this disconnect arrives late, like the copy
	h.wantState("connected 5 10.0.0.1@tcp/3")
	h.raw(host, at(6, 1, 13)) // this connect waits for the eviction, and the server has already checked its authentication code
	h.done(wire.Reply{Evicted: 1}, gone)
	h.wantState("connected 6 10.0.0.1@tcp/1")
	h.raw(host, old)
	h.want("reject:global")
	h.advance(h.s.cfg.Evict + h.s.cfg.Tick)
	h.done(wire.Reply{Evicted: 1}, gone)
	h.wantState("none")
	h.raw(host, old)
	h.want("reject:global")
	h.advance(h.s.cfg.tombstone() + h.s.cfg.Tick)
	h.raw(host, old)
	h.wantState("connected 5 10.0.0.1@tcp/1")
	h.advance(h.s.cfg.Evict + h.s.cfg.Tick)
	h.wantState("evicting 5 10.0.0.1@tcp/1")
	h.raw(host, at(7, 1, 20)) // the client itself connects while that eviction is under way
	h.done(wire.Reply{Evicted: 1}, gone)
	h.wantState("connected 7 10.0.0.1@tcp/1")
}

// TestSignedTakeover: a connect of another process must wait for the answer of the old process. The
// server checks the connect's authentication code as soon as it arrives, and asks only if it is valid.
func TestSignedTakeover(t *testing.T) {
	h := newKeyed(t, "a")
	h.raw(host, signed(testKeys(t, "a"), wire.Message{Incarnation: 5, Server: otherA, Epoch: 1}, host, me))
	h.raw(stranger, signed(testKeys(t, "b"), wire.Message{Incarnation: 6, Server: otherA, Epoch: 1, Retry: time.Second}, stranger, me))
	h.want("reject:other-key") // the server does not ask the connected process whether it is alive
	h.raw(stranger, signed(testKeys(t, "a"), wire.Message{Incarnation: 6, Server: otherA, Epoch: 1}, stranger, me))
	h.want("reject:busy ask:stale")
	h.advance(h.s.cfg.Evict)
	h.wantState("connected 6 10.0.0.2@tcp/1")
}

// TestClientSigns: a client signs each connect for the server that gets it, and signs no other
// message.
func TestClientSigns(t *testing.T) {
	keys := testKeys(t, "a")
	c, err := NewClient(ClientConfig{ID: testClient, Incarnation: 5, Servers: []nid.NID{me, otherA}, Keys: keys, From: host})
	if err != nil {
		t.Fatal(err)
	}
	h := &clientHarness{t: t, c: c, now: time.Hour}
	proven := func(k int) bool {
		e := h.out.Effects[slices.IndexFunc(h.out.Effects, func(e ClientEffect) bool { return e.Kind == SendTo })+k]
		_, ok := keys.Ring(keyLabel).Verify(h.out.Data(&e), proofOf(host, e.To.NID))
		return ok
	}
	h.step(ClientInput{Kind: ClientStart})
	if h.sent[0].Kind != wire.Connect || !proven(0) {
		t.Errorf("%+v", h.sent)
	}
	h.answer(0, wire.Message{Kind: wire.Accept, ServerIncarnation: 7})
	h.step(ClientInput{Kind: Attach, Server: h.other()})
	if h.sent[0].Kind != wire.Connect || !proven(0) {
		t.Errorf("%+v", h.sent)
	}
	h.step(ClientInput{Kind: ClientLeave})
	if h.sent[0].Kind != wire.Disconnect || h.sent[0].Proof != nil {
		t.Errorf("%+v", h.sent)
	}
	if err := c.SetKeys(keyring.Keys{}); !errors.Is(err, keyring.ErrOnOff) {
		t.Error(err)
	}
	keys = testKeys(t, "b")
	if err := c.SetKeys(keys); err != nil {
		t.Error(err)
	}
	h.step(ClientInput{Kind: ClientStart})
	if !proven(0) {
		t.Error("not signed with the new key")
	}
	s := newKeyed(t, "a").s
	if err := s.SetKeys(keyring.Keys{}); !errors.Is(err, keyring.ErrOnOff) {
		t.Error(err)
	}
	if err := newHarness(t, nil).s.SetKeys(keys); !errors.Is(err, keyring.ErrOnOff) {
		t.Error(err)
	}
}
