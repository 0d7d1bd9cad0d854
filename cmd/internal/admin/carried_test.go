package admin

import (
	"bytes"
	"context"
	"testing"
	"time"

	"ulnet/lnd/sim"
	"ulnet/lnd/simlnd"
	"ulnet/lnet/nid"
	"ulnet/scoll"
)

// TestCarried: bulk data that has come already is not fetched, by whoever has it in the
// length that the request says; all others fetch it. Nobody looks for what the root did
// not send.
func TestCarried(t *testing.T) {
	bulk, there := bytes.Repeat([]byte("bulk"), 100_000), bytes.Repeat([]byte("else"), 100_000)
	asked := 0
	s := newServers(t, 8, func(i int, cfg *Config, _ *scoll.AgentConfig) {
		cfg.Carried = func(root nid.NID, id ID) []byte {
			asked++
			switch {
			case root != nidOf(0) || id == ID{}:
				t.Errorf("asked for %v of %v", id, root)
			case i%4 == 1:
				return bytes.Clone(there) // to tell it from what is fetched
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
		// Children fetch from their parents: what is below one that had it has the same.
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

// TestCarriedOnTheWire: the mark is one bit, which others ignore.
func TestCarriedOnTheWire(t *testing.T) {
	q := Request{Version: Version, Verb: Text, Carried: true, Answer: MaxAnswer}
	b := q.AppendBinary(nil)
	got, err := ParseRequest(b)
	if err != nil || !got.Carried || b[3] != 1 {
		t.Errorf("%+v, %v", got, err)
	}
	b[3] = 0xfe
	if got, err := ParseRequest(b); err != nil || got.Carried {
		t.Errorf("%+v, %v", got, err)
	}
}
