package engine

import (
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"

	"ulnet/gossip/zone/wire"
	"ulnet/lnd/lndtest/cputime"
	"ulnet/lnd/lndtest/spec"
)

// tableOf returns a part of a table: n keys that were written after a version.
func tableOf(n int, after uint64) wire.TableData {
	d := wire.TableData{Inc: 7, From: after, To: after + uint64(n), Last: true}
	for i := range n {
		d.Entries = append(d.Entries, wire.Attribute{Key: fmt.Sprintf("key%05d", i), Value: []byte("v"), U: after + uint64(i) + 1})
	}
	return d
}

// split1 divides a table into parts of one entry each.
func split1(d wire.TableData) (parts []wire.TableData) {
	for i, a := range d.Entries {
		parts = append(parts, wire.TableData{Owner: d.Owner, Inc: d.Inc, From: a.U - 1, To: a.U, Last: i == len(d.Entries)-1, Entries: []wire.Attribute{a}})
	}
	return parts
}

// TestAttributesLinear: the time to merge a table grows in proportion to the number of keys,
// not to its square, in whatever order the keys come (MS-83, MS-A22). For 64 times the keys it
// grows about 200 times, because of caches; a quadratic merge would take more than 4000 times
// as long. Some of the tries may be slower, because other programs empty the caches.
func TestAttributesLinear(t *testing.T) {
	spec.Covers(t, "MS-83", "MS-A22")
	const small, times, most, tries = 256, 64, 1500, 5
	again := func(n int) wire.TableData { return tableOf(n, uint64(n)) }
	whole := func(d wire.TableData) wire.TableData { d.From = 0; return d }
	for _, test := range []struct {
		name string
		run  func(s *solo, n int)
	}{
		{"new", func(s *solo, n int) { s.merge(tableOf(n, 0)) }},
		{"written again", func(s *solo, n int) { s.merge(tableOf(n, 0)); s.merge(again(n)) }},
		{"from the beginning", func(s *solo, n int) { s.merge(tableOf(n, 0)); s.merge(whole(again(n))) }},
		{"all others", func(s *solo, n int) {
			others := whole(again(n))
			for i := range others.Entries {
				others.Entries[i].Key += "x"
			}
			s.merge(tableOf(n, 0))
			s.merge(others)
		}},
		{"one message of many parts", func(s *solo, n int) { s.merge(split1(tableOf(n, 0))...); s.merge(split1(again(n))...) }},
		{"deleted and forgotten", func(s *solo, n int) {
			gone := again(n)
			for i := range gone.Entries {
				gone.Entries[i].Deleted, gone.Entries[i].Value = true, nil
			}
			s.merge(tableOf(n, 0))
			s.merge(gone)
			s.m.links, s.m.now = links{}, s.m.now+2*deathAge
			s.m.attributes.compact(s.m)
			if _, u := s.m.Attributes(s.ref[5]); u != uint64(2*n) || s.m.attributes.of[s.ref[5]].keys > 0 {
				s.t.Errorf("version %d, %d keys", u, s.m.attributes.of[s.ref[5]].keys)
			}
		}},
		{"own", func(s *solo, n int) {
			for i := range n {
				s.m.write(wire.Attribute{Key: fmt.Sprint("key", i)})
			}
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			defer debug.SetGCPercent(debug.SetGCPercent(-1))
			takes := func(n int) float64 {
				s := withNeighbours(t)
				s.m.out = &s.out
				runtime.GC()
				return cputime.Of(func() { test.run(s, n) }).Seconds()
			}
			few := takes(small)
			for range tries {
				few = min(few, takes(small))
			}
			ratio := takes(times*small) / few
			for try := 1; try < tries && ratio > most; try++ {
				ratio = min(ratio, takes(times*small)/few)
			}
			if ratio > most {
				t.Errorf("%d times the keys take %.0f times as long", times, ratio)
			}
			t.Logf("%d times the keys take %.0f times as long", times, ratio)
		})
	}
}

// merge makes the machine merge parts of the table of node 5 in one message, without checking
// the invariants, which would take longer.
func (s *solo) merge(parts ...wire.TableData) {
	for i := range parts {
		parts[i].Owner = s.ref[5]
	}
	s.m.in = wire.Message{From: s.ref[1], Lists: &wire.Lists{Data: parts}}
	s.m.attributes.received(s.m)
}

// TestToldOnce: a message with many parts of a table causes one event (MS-85), with all keys
// that changed.
func TestToldOnce(t *testing.T) {
	spec.Covers(t, "MS-85")
	s := withNeighbours(t)
	d := tableOf(40, 0)
	d.Owner = s.ref[5]
	s.hear(1, v(7, 1), wire.Message{Kind: wire.AttributeData, Lists: &wire.Lists{Data: split1(d)}})
	if len(s.out.Events) != 1 || len(s.out.Events[0].Keys) != 40 || len(s.out.Events[0].Attributes) != 40 {
		t.Errorf("%d events", len(s.out.Events))
	}
}

// TestKeyLimits: the number of a node's keys is bounded: the owner gets an error, and data of
// others with more keys is refused. Each refusal is counted.
func TestKeyLimits(t *testing.T) {
	spec.Covers(t, "MS-110")
	s := newSolo(t, 8, Config{MaxKeys: 20})
	s.link(1, v(7, 1))
	s.alive(5, v(7, 1))
	for i := range 20 {
		s.step(Input{Kind: Set, Key: fmt.Sprint(i)})
	}
	s.step(Input{Kind: Set, Key: "0", Value: []byte("again")})
	if err := s.m.Fits("20", nil); !errors.Is(err, ErrKeys) || !strings.Contains(err.Error(), "21 keys of 20") {
		t.Errorf("one more: %v", err)
	}
	s.step(Input{Kind: Delete, Key: "none"})
	s.step(Input{Kind: Delete, Key: "1"})
	if len(s.out.Events) > 0 || s.m.stats.NotWritten != 0 {
		t.Errorf("deletions: told %+v, %d not written", s.out.Events, s.m.stats.NotWritten)
	}
	s.step(Input{Kind: Set, Key: "20"}) // refused: the death certificate of key 1 counts as a key, too
	s.want(Event{Kind: Refused, Node: s.ref[0]})
	if list, u := s.m.Attributes(s.m.self); len(list) != 19 || u != 22 || s.m.stats.NotWritten != 1 {
		t.Errorf("%d attributes, version %d, %d not written", len(list), u, s.m.stats.NotWritten)
	}
	s.give(1, tableOfNode5(s, wire.MaxTableKeys+1, 0))
	if _, u := s.m.Attributes(s.ref[5]); u != 0 || s.m.stats.TooManyKeys != 1 {
		t.Errorf("version %d, %d with too many keys", u, s.m.stats.TooManyKeys)
	}
	s.give(1, tableOfNode5(s, wire.MaxTableKeys, 0))
	s.give(1, tableOfNode5(s, wire.MaxTableKeys, wire.MaxTableKeys)) // accepted: later writes of the same keys
	more := wire.TableData{Owner: s.ref[5], Inc: 7, From: 2 * wire.MaxTableKeys, To: 2*wire.MaxTableKeys + 1, Last: true}
	more.Entries = []wire.Attribute{{Key: "x", U: more.To}}
	s.give(1, more)
	if list, u := s.m.Attributes(s.ref[5]); len(list) != wire.MaxTableKeys || u != 2*wire.MaxTableKeys || s.m.stats.TooManyKeys != 2 {
		t.Errorf("%d attributes, version %d, %d with too many keys", len(list), u, s.m.stats.TooManyKeys)
	}
	more.From, more.To = 0, 2*wire.MaxTableKeys+2 // accepted: a whole table with this key alone, whose owner has deleted all others
	s.give(1, more)
	if list, u := s.m.Attributes(s.ref[5]); len(list) != 1 || u != more.To {
		t.Errorf("%d attributes, version %d", len(list), u)
	}
}

func tableOfNode5(s *solo, n int, after uint64) wire.TableData {
	d := tableOf(n, after)
	d.Owner = s.ref[5]
	for i := range d.Entries {
		d.Entries[i].Value = nil
	}
	return d
}

// TestRepeatedKey: data that names one key again and again cannot exceed the limit of a table,
// although each repetition counts the size of the existing entry as freed.
func TestRepeatedKey(t *testing.T) {
	spec.Covers(t, "MS-110")
	s := withNeighbours(t)
	big := make([]byte, wire.MaxTable/2)
	s.give(1, wire.TableData{Owner: s.ref[5], Inc: 7, To: 1, Last: true, Entries: []wire.Attribute{{Key: "k", Value: big, U: 1}}})
	d := wire.TableData{Owner: s.ref[5], Inc: 7, From: 1, To: 7, Last: true}
	for u := uint64(2); u <= 4; u++ {
		d.Entries = append(d.Entries, wire.Attribute{Key: "k", U: u})
	}
	for u := uint64(5); u <= 7; u++ {
		d.Entries = append(d.Entries, wire.Attribute{Key: fmt.Sprint(u), Value: big, U: u})
	}
	s.give(1, d)
	if r := s.m.attributes.of[s.ref[5]]; r.u != 1 || s.m.stats.RepeatedKeys != 1 {
		t.Errorf("version %d, %d bytes, %d refused", r.u, r.bytes, s.m.stats.RepeatedKeys)
	}
	// Data for the whole table that declares existing entries smaller than they are.
	whole := wire.TableData{Owner: s.ref[5], Inc: 7, To: 9, Last: true, Entries: []wire.Attribute{{Key: "k", U: 1}, {Key: "l", Value: big, U: 9}}}
	s.give(1, whole)
	if r := s.m.attributes.of[s.ref[5]]; r.bytes > wire.MaxTable || s.m.stats.TooLarge != 1 {
		t.Errorf("%d bytes, %d too large", r.bytes, s.m.stats.TooLarge)
	}
}

// TestRepeatedRequest: a request that names one table many times gets the table once. Otherwise
// a request of a few bytes could cause thousands of copies.
func TestRepeatedRequest(t *testing.T) {
	spec.Covers(t, "MS-110")
	s := withNeighbours(t)
	s.give(1, tableOfNode5(s, 1000, 0))
	s.alive(6, v(7, 1))
	six := tableOf(3, 0)
	six.Owner = s.ref[6]
	s.give(1, six)
	request := func() (data []wire.TableData) {
		list := []wire.TableVersion{{Owner: s.ref[6], Inc: 7, U: 1}}
		for range 400 {
			list = append(list, wire.TableVersion{Owner: s.ref[5], Inc: 7, U: 0})
		}
		s.hear(2, v(7, 1), wire.Message{Kind: wire.AttributeRequest, Lists: &wire.Lists{Tables: list}})
		if len(s.out.Sends) != 1 {
			t.Fatalf("sent %d messages", len(s.out.Sends))
		}
		return s.out.Sends[0].Message.Lists.Data
	}
	for range 2 { // the second request is a new one, not a repetition
		if d := request(); len(d) != 2 || len(d[0].Entries) != 2 || len(d[1].Entries) != 1000 {
			t.Errorf("%d tables", len(d))
		}
	}
	if n := s.m.stats.RepeatedAsks; n != 2*399 {
		t.Errorf("%d requests were repeated", n)
	}
}
