package history

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"ulnet/lnd/sim"
)

// script makes a log of lines such as
//
//	1s 3 death 7
//	2s 3 delivery 1 =42
//	9s - partition 1-2 | 3
//
// with the time, the node (or - for the network), the kind, the subject and the value. In a
// record of the ground truth, all words after the kind are its text. The incarnation of a node
// is the number of its kills and crashes so far. A line "up 4" starts the first four nodes at
// time 0.
func script(t *testing.T, lines string) *Log {
	t.Helper()
	l := New()
	for line := range strings.Lines(lines) {
		words := strings.Fields(line)
		switch {
		case len(words) == 0:
			continue
		case words[0] == "up":
			for i := range number(t, words[1]) {
				l.Append(Record{Node: sim.NodeID(i), Kind: Start, Subject: NoNode})
			}
			continue
		}
		r := parse(t, words)
		if r.Node != NoNode {
			r.Incarnation = l.incarnations[r.Node]
		}
		l.Append(r)
		if r.Kind == Kill || r.Kind == Crash {
			l.incarnations[r.Node]++
		}
	}
	return l
}

func parse(t *testing.T, words []string) Record {
	t.Helper()
	at, err := time.ParseDuration(words[0])
	if err != nil {
		t.Fatal(err)
	}
	r := Record{At: at, Node: node(t, words[1]), Kind: kind(t, words[2]), Subject: NoNode}
	for i, w := range words[3:] {
		switch value, isValue := strings.CutPrefix(w, "="); {
		case r.Kind.isGroundTruth():
			r.Text = strings.Join(words[3+i:], " ")
			return r
		case isValue:
			r.Value = uint64(number(t, value))
		default:
			r.Subject = node(t, w)
		}
	}
	return r
}

func node(t *testing.T, word string) sim.NodeID {
	t.Helper()
	if word == "-" {
		return NoNode
	}
	return sim.NodeID(number(t, word) - 1)
}

func number(t *testing.T, word string) int {
	t.Helper()
	n, err := strconv.Atoi(word)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func kind(t *testing.T, word string) Kind {
	t.Helper()
	for k, name := range kinds {
		if name == word {
			return k
		}
	}
	t.Fatalf("no kind %q", word)
	return 0
}

func TestRecordString(t *testing.T) {
	for _, test := range []struct {
		record Record
		want   string
	}{
		{Record{At: 1500 * time.Millisecond, Node: 2, Incarnation: 1, Kind: Death, Subject: 6}, "1.5s node 3.1: death of 7"},
		{Record{At: time.Second, Node: 0, Kind: Delivery, Subject: 1}, "1s node 1.0: delivery of 2 value 0"},
		{Record{Node: 0, Kind: Send, Subject: NoNode, Value: 7}, "0s node 1.0: send value 7"},
		{Record{Node: NoNode, Kind: Partition, Subject: NoNode, Text: "1 | 2"}, "0s network: partition 1 | 2"},
		{Record{Node: 4, Kind: Skew, Subject: NoNode, Value: ^uint64(0)}, "0s node 5.0: skew -1ppm"},
		{Record{Node: 4, Kind: Slow, Subject: NoNode, Value: 1000}, "0s node 5.0: slow 1µs"},
		{Record{Node: 4, Kind: Own + 1, Subject: 0, Value: 3}, "0s node 5.0: kind 257 of 1 value 3"},
		{Record{Node: 4, Kind: Join, Subject: 0, Value: 3}, "0s node 5.0: join of 1 value 3"},
	} {
		if got := test.record.String(); got != test.want {
			t.Errorf("%+v: %q, want %q", test.record, got, test.want)
		}
	}
}

func TestViolationString(t *testing.T) {
	l := script(t, "up 2\n1s 1 death 2")
	f := findings{rule: "Rule", log: l}
	f.add([]int32{2, -1, 1, 2}, "node %d", 7)
	want := "Rule: node 7\n  0s node 2.0: start\n  1s node 1.0: death of 2"
	if got := f.list[0].String(); got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestBounds(t *testing.T) {
	l := New()
	for i := range 100 {
		l.Append(Record{At: time.Duration(i), Kind: Delivery})
	}
	f := findings{log: l}
	for range 100 {
		f.add(pick(l, Delivery), "")
	}
	if len(f.list) != maxViolations || len(f.list[0].Records) != maxRecords {
		t.Errorf("%d violations, the first with %d records", len(f.list), len(f.list[0].Records))
	}
}

func ExampleLog_All() {
	l := New()
	l.Append(Record{Node: 0, Kind: Start, Subject: NoNode})
	l.Append(Record{At: time.Second, Node: 0, Kind: Join, Subject: 1})
	for r := range l.All() {
		fmt.Println(r)
	}
	// Output:
	// 0s node 1.0: start
	// 1s node 1.0: join of 2
}
