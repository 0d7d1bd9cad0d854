package admin

import (
	"bytes"
	"context"
	"testing"
	"time"

	"ulnet/lnd/lndtest/spec"
	"ulnet/lnd/sim"
	"ulnet/lnd/simlnd"
	"ulnet/lnet/nid"
	"ulnet/scoll"
)

// TestCarried: a member that already has the bulk data does not fetch it if the length is the
// one in the request; all other members do. If the root did not send data by multicast, no
// member looks for such data.
func TestCarried(t *testing.T) {
	bulk, there := bytes.Repeat([]byte("bulk"), 100_000), bytes.Repeat([]byte("else"), 100_000)
	asked := 0
	s := newServers(t, 8, func(i int, cfg *Config, _ *scoll.Config) {
		cfg.Carried = func(root nid.NID, id ID) []byte {
			asked++
			switch {
			case root != nidOf(0) || id == ID{}:
				t.Errorf("asked for %v of %v", id, root)
			case i%4 == 1:
				return bytes.Clone(there) // a copy: if a member wrongly fetched data into this memory, the variable there, with which the test compares, must not change
			case i%4 == 2:
				return there[1:]
			}
			return nil
		}
	})
	g := s.group(0)
	o := Order{Verb: Text, Text: []byte("text"), Bulk: bulk, Timeout: time.Second}
	outcome := s.send(0, g, o)
	if asked != 0 || len(outcome.Unreached) > 0 {
		t.Errorf("asked %d times, %v", asked, outcome.Unreached)
	}
	k := s.nodes[0]
	c := k.admin.newCall(context.Background(), o)
	c.request.Carried = true
	s.fabric.Do(sim.NodeID(0), func(*simlnd.Host) {
		r, err := k.admin.request(g, o, c)
		if err == nil {
			err = k.admin.begin(r, c)
		}
		if err != nil {
			t.Error(err)
		}
	})
	s.run(10 * time.Second)
	select {
	case <-c.done:
	default:
		t.Fatal("it does not end")
	}
	if asked != 7 || len(c.outcome.Answers) != 8 || len(c.outcome.Unreached) > 0 {
		t.Fatalf("asked %d times, %d answers, %v", asked, len(c.outcome.Answers), c.outcome.Unreached)
	}
	for i, p := range c.outcome.Answers {
		// A member that has received the other data by multicast answers with the digest of that data. Members
		// fetch from their parents, so members below it may have got that data, too.
		had := bytes.Equal(p.Data, Sum(o.Text, [][]byte{there}))
		if !had && !bytes.Equal(p.Data, Sum(o.Text, [][]byte{bulk})) || i%4 == 1 && !had {
			t.Errorf("member %d has something else", i)
		}
		want := uint64(0)
		if i%4 == 1 {
			want = 1
		}
		if got := s.nodes[i].admin.Stats().Carried; got != want {
			t.Errorf("member %d: %d, want %d", i, got, want)
		}
	}
}

// TestCarriedOnTheWire: one bit of a request says that the data was sent by multicast. Earlier
// versions ignore the bit.
func TestCarriedOnTheWire(t *testing.T) {
	q := Request{Version: Version, Verb: Text, Carried: true, Answer: MaxAnswer}
	b := q.AppendTo(nil)
	got, err := ParseRequest(b)
	if err != nil || !got.Carried || b[3] != 1 {
		t.Errorf("%+v, %v", got, err)
	}
	b[3] = 0xfe
	if got, err := ParseRequest(b); err != nil || got.Carried {
		t.Errorf("%+v, %v", got, err)
	}
}

// TestCarriedInOrder: RM-30: bulk data is assembled from messages of one root, in their order,
// within a bound. Malformed messages are dropped.
func TestCarriedInOrder(t *testing.T) {
	spec.Covers(t, "RM-30")
	root, other := nid.MustParse("10.0.0.1@tcp"), nid.MustParse("10.0.0.2@tcp")
	bulk := bytes.Repeat([]byte("0123456789"), 10)
	now := time.Unix(1000, 0)
	c := NewCarried(100, 250)
	all := func(id byte, from nid.NID) {
		for at := 0; at < len(bulk); at += 30 {
			c.Put(from, AppendCarried(nil, ID{id}, bulk, at, min(at+30, len(bulk))), now)
		}
	}
	all(1, root)
	if got := c.Take(other, ID{1}); got != nil {
		t.Errorf("another root's: %q", got)
	}
	if got := c.Take(root, ID{1}); !bytes.Equal(got, bulk) {
		t.Errorf("%q", got)
	}
	if got := c.Take(root, ID{1}); got != nil || c.bytes != 0 {
		t.Errorf("twice: %q, %d bytes are kept", got, c.bytes)
	}
	c.Put(root, AppendCarried(nil, ID{2}, bulk, 0, 30), now)
	for range 2 { // bytes 30 to 59 are missing, and bytes 60 to 99 come twice: 110 bytes, but not the 100 of the data
		c.Put(root, AppendCarried(nil, ID{2}, bulk, 60, 100), now)
	}
	if got := c.Take(root, ID{2}); got != nil {
		t.Errorf("with a gap: %q", got)
	}
	for id := byte(3); id < 6; id++ {
		all(id, root)
	}
	if c.bytes != 200 || c.Take(root, ID{3}) != nil || c.Take(root, ID{5}) == nil {
		t.Errorf("%d bytes are kept", c.bytes)
	}
	now = now.Add(2 * carriedKept)
	all(6, root)
	if len(c.list) != 1 || c.Take(root, ID{6}) == nil {
		t.Errorf("old ones are kept: %d", len(c.list))
	}
	good := AppendCarried(nil, ID{7}, bulk, 0, 100)
	for i, bad := range [][]byte{
		nil, good[:39], append([]byte("XXXX"), good[4:]...), good[:4],
		AppendCarried(nil, ID{7}, append(bulk, 'x'), 0, 101), append(good[:len(good):len(good)], 'x'), AppendCarried(nil, ID{7}, nil, 0, 0),
	} {
		c.Put(root, bad, now)
		if len(c.list) != 0 {
			t.Errorf("%d: taken", i)
		}
	}
}

// FuzzCarried: no message breaks the store, or makes it exceed its bound.
func FuzzCarried(f *testing.F) {
	f.Add(AppendCarried(nil, ID{1}, []byte("some data"), 0, 5), AppendCarried(nil, ID{1}, []byte("some data"), 5, 9))
	f.Fuzz(func(t *testing.T, a, b []byte) {
		c := NewCarried(100, 150)
		for _, m := range [][]byte{a, b, a} {
			c.Put(nid.MustParse("10.0.0.1@tcp"), m, time.Unix(1, 0))
			if c.bytes > c.limit {
				t.Errorf("%d bytes are kept", c.bytes)
			}
		}
	})
}
