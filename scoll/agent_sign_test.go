package scoll_test

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"ulnet/lnd/lndtest/spec"
	"ulnet/lnd/simlnd"
	"ulnet/portals/keyring"
	"ulnet/scoll"
	"ulnet/scoll/wire"
)

// keys returns one key for each letter.
func keys(t *testing.T, letters string) keyring.Keys {
	t.Helper()
	var all [][]byte
	for _, letter := range letters {
		all = append(all, bytes.Repeat([]byte{byte(letter)}, keyring.MinKey))
	}
	k, err := keyring.NewKeys(all...)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// signed makes n stacks. The function of returns, for a node, the letters of its keys (see keys); "" stands
// for no keys.
func signed(t *testing.T, n int, of func(int) string) *stacks {
	t.Helper()
	return newStacks(t, n, func(id int, cfg *scoll.Config) {
		if letters := of(id); letters != "" {
			cfg.Keys = keys(t, letters)
		}
	})
}

func alike(letters string) func(int) string { return func(int) string { return letters } }

// TestKeys: nodes with the same key work like nodes without keys, even while the key changes.
// The test has lists sent with requests and lists that are fetched, bulk data at once and in
// segments, and answers in parts.
func TestKeys(t *testing.T) {
	spec.Covers(t, "SC-165")
	for name, of := range map[string]func(int) string{
		"one": alike("a"), "while it changes": func(id int) string { return []string{"ab", "ba", "b"}[min(id, 1)] },
	} {
		t.Run(name, func(t *testing.T) {
			s := signed(t, 9, of)
			var ran []string
			for _, now := range []bool{false, true} {
				for _, segment := range []int{0, scoll.MinSegment} {
					g := s.group(0, now, scoll.Tree{})
					g.SetSegment(segment)
					for _, bulk := range [][][]byte{nil, {bytes.Repeat([]byte("bulk"), 5000)}} {
						ran = append(ran, "x")
						s.all(s.broadcast(0, g, scoll.RequestConfig{Payload: []byte("x"), Bulk: bulk}), ran)
					}
				}
			}
			for _, k := range s.nodes {
				if n := k.agent.Stats().Unsigned; n != 0 {
					t.Errorf("node %d has refused %d messages", k.id, n)
				}
			}
		})
	}
}

// TestKeysInParts: an answer in several messages has an authentication code in each of them.
func TestKeysInParts(t *testing.T) {
	s := signed(t, 2, alike("a"))
	const size = 1<<20 - wire.ReplyHeaderSize - wire.TrailerEntrySize - keyring.CodeSize
	for _, k := range s.nodes {
		k.parts, k.size = 3, size
	}
	o := s.broadcast(0, s.group(0, false, scoll.Tree{}), scoll.RequestConfig{})
	if n := len(s.nodes[0].replies); n != 3 || len(o.unreached) > 0 || len(s.nodes[1].errs) > 0 {
		t.Errorf("%d parts, unreached %v, errors %v", n, o.unreached, s.nodes[1].errs)
	}
}

// TestMaxPayloadSigned: the longest payload that MaxPayload allows fits into a message together with the message's
// authentication code.
func TestMaxPayloadSigned(t *testing.T) {
	s := signed(t, 4, alike("a"))
	g := s.group(0, true, scoll.Tree{})
	room, err := g.MaxPayload()
	if err != nil || room != scoll.MaxMessage-wire.RequestHeaderSize-16-keyring.CodeSize {
		t.Fatalf("%d bytes, %v", room, err)
	}
	payload := strings.Repeat("x", room)
	s.all(s.broadcast(0, g, scoll.RequestConfig{Payload: []byte(payload), Bulk: [][]byte{make([]byte, 100)}}), []string{payload})
}

// TestOtherKeys: a node with another key than the rest, or a node without a key while the rest have one,
// runs no request, and the root learns that at once.
func TestOtherKeys(t *testing.T) {
	spec.Covers(t, "SC-165")
	for name, other := range map[string]string{"another": "b", "none": ""} {
		s := signed(t, 8, func(id int) string {
			if id == 6 { // node 6 has other keys, and node 7 is below it
				return other
			}
			return "a"
		})
		o := s.broadcast(0, s.group(0, false, scoll.Tree{}), scoll.RequestConfig{Processing: time.Second})
		want := []scoll.Unreached{{NID: simlnd.NID(6), Status: scoll.EKEY}, {NID: simlnd.NID(7), Status: scoll.EKEY}}
		if !slices.Equal(o.unreached, want) || o.at > 100*time.Millisecond || len(s.nodes[6].ran) > 0 {
			t.Errorf("%s: %v after %v, it ran %q", name, o.unreached, o.at, s.nodes[6].ran)
		}
	}
}

// TestForgedCodes: a request without a code, with a code of another key or for another pair of
// nodes, or with any byte changed, is answered with EKEY. No service gets it.
func TestForgedCodes(t *testing.T) {
	s := signed(t, 8, alike("a"))
	k := s.nodes[4]
	flag := func(h *wire.RequestHeader) { h.Flags |= wire.FlagSigned }
	message := s.request(flag, 5)
	code := func(letter string, from, to int) []byte {
		return keys(t, letter).Ring("scoll").Append(slices.Clone(message), 0, keyring.Between(s.members.NID(from), s.members.NID(to)))
	}
	bad := map[string][]byte{
		"no code": s.request(nil, 5), "the flag alone": message, "another key": code("b", 0, 4), "for another node": code("a", 0, 5),
		"of another node": code("a", 1, 4), "cut": code("a", 0, 4)[:len(message)+5],
	}
	good := code("a", 0, 4)
	for at := range good {
		changed := slices.Clone(good)
		changed[at] ^= 4
		if at >= 4 { // the first four bytes are the magic, and a message with another magic gets no answer
			bad["byte "+string(rune(at))] = changed
		}
	}
	for name, b := range bad {
		s.put(0, 4, wire.RequestPortal, 0, 5555, b)
		if k.kept != nil || len(k.ran) > 0 {
			t.Fatalf("%s: the service was called", name)
		}
	}
	if n := k.agent.Stats().Unsigned; n != uint64(len(bad)) {
		t.Errorf("%d of %d are refused for that", n, len(bad))
	}
	if s.put(0, 4, wire.RequestPortal, 0, 5555, good); len(k.ran) != 1 {
		t.Error("the true one does not run")
	}
}

// TestChangedBulk: bulk data that was changed on the way reaches no service of members with a
// key.
func TestChangedBulk(t *testing.T) {
	spec.Covers(t, "SC-165")
	s := signed(t, 3, alike("a"))
	g := s.group(0, false, scoll.Tree{Type: scoll.KAry, K: 1}) // the tree is a chain
	s.nodes[1].writes = true                                   // node 1 changes the bulk data before the next node fetches it
	o := s.broadcast(0, g, scoll.RequestConfig{Payload: []byte("x"), Bulk: [][]byte{make([]byte, 10_000)}})
	want := []scoll.Unreached{{NID: simlnd.NID(2), Status: scoll.EKEY}}
	if !slices.Equal(o.unreached, want) || len(s.nodes[2].ran) != 0 || len(s.nodes[1].ran) != 1 {
		t.Errorf("%v; %q ran", o.unreached, s.nodes[2].ran)
	}
}

// TestKeyRotation: the key changes on one node after another, in three steps. All requests are
// answered and none is refused. The counters show which key verifies messages; afterwards the
// old key does not verify any.
func TestKeyRotation(t *testing.T) {
	s := signed(t, 5, alike("a"))
	g := s.group(0, true, scoll.Tree{})
	bulk := [][]byte{bytes.Repeat([]byte("bulk"), 5000)}
	var ran []string
	for _, letters := range []string{"ab", "ba", "b"} {
		for _, k := range s.nodes {
			if err := k.agent.SetKeys(keys(t, letters)); err != nil {
				t.Fatal(err)
			}
			ran = append(ran, "x")
			s.all(s.broadcast(0, g, scoll.RequestConfig{Payload: []byte("x"), Bulk: bulk}), ran)
		}
		want := map[string][2]bool{"ab": {true, false}, "ba": {true, true}, "b": {true, false}}[letters]
		st := s.nodes[0].agent.KeyStats() // the node whose keys changed first has received messages with both keys
		if got := [2]bool{st.Verified[0] > 0, st.Verified[1] > 0}; st.Keys != len(letters) || got != want || st.NotSigned != 0 {
			t.Errorf("%s: %+v", letters, st)
		}
	}
	if err := s.nodes[3].agent.SetKeys(keys(t, "a")); err != nil {
		t.Fatal(err)
	}
	o := s.broadcast(0, g, scoll.RequestConfig{Processing: time.Second})
	if !slices.Contains(o.unreached, scoll.Unreached{NID: simlnd.NID(3), Status: scoll.EKEY}) || s.nodes[3].agent.KeyStats().NotSigned == 0 {
		t.Errorf("the old key: %v, %+v", o.unreached, s.nodes[3].agent.KeyStats())
	}
}

// TestKeysOnOff: SetKeys cannot change whether messages are signed.
func TestKeysOnOff(t *testing.T) {
	s := signed(t, 2, func(id int) string { return []string{"a", ""}[id] })
	for id, k := range []keyring.Keys{{}, keys(t, "a")} {
		if err := s.nodes[id].agent.SetKeys(k); !errors.Is(err, keyring.ErrOnOff) || s.nodes[id].agent.KeyStats().Keys != 1-id {
			t.Errorf("node %d: %v, %+v", id, err, s.nodes[id].agent.KeyStats())
		}
	}
	if err := s.nodes[1].agent.SetKeys(keyring.Keys{}); err != nil {
		t.Error(err)
	}
}

// TestKeysSetBeside: keys change while other goroutines sign and verify; the race detector
// checks this.
func TestKeysSetBeside(t *testing.T) {
	s := signed(t, 3, alike("a"))
	g := s.group(0, false, scoll.Tree{})
	stop, done := make(chan bool), make(chan bool)
	both, other := keys(t, "ab"), keys(t, "ac")
	go func() {
		defer close(done)
		for {
			select {
			case <-stop:
				return
			default:
			}
			for _, k := range s.nodes {
				_, _ = k.agent.SetKeys(both), k.agent.SetKeys(other)
			}
		}
	}()
	var ran []string
	for range 20 {
		ran = append(ran, "x")
		s.all(s.broadcast(0, g, scoll.RequestConfig{Payload: []byte("x")}), ran)
	}
	close(stop)
	<-done
}
