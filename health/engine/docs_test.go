package engine

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"ulnet/health/wire"
	"ulnet/lnd/lndtest/spec"
	"ulnet/lnet/nid"
	"ulnet/portals/keyring"
)

// document reads docs/client-health.md.
func document(t *testing.T) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("..", "..", "docs", "client-health.md"))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// tableOf returns the cells of the table that follows the marker with the given name, without
// the header.
func tableOf(t *testing.T, name string) (rows [][]string) {
	t.Helper()
	_, rest, found := strings.Cut(document(t), "<!-- "+name+" -->\n")
	rest, _, _ = strings.Cut(rest, "\n\n")
	lines := strings.Split(rest, "\n")
	if !found || len(lines) < 3 {
		t.Fatalf("no table of %s", name)
	}
	for _, line := range lines[2:] {
		var row []string
		for cell := range strings.SplitSeq(strings.Trim(line, "|"), "|") {
			row = append(row, strings.TrimSpace(cell))
		}
		rows = append(rows, row)
	}
	return rows
}

// TestDocumentTimes: the table of time-outs has every field of Timing, with the
// defaults for its ping intervals (CH-57, CH-A3, CH-A4).
func TestDocumentTimes(t *testing.T) {
	spec.Covers(t, "CH-57", "CH-A3", "CH-A4")
	var want, got [][]string
	for i := range reflect.TypeFor[Timing]().NumField() {
		row := []string{"`" + reflect.TypeFor[Timing]().Field(i).Name + "`"}
		for _, ping := range []time.Duration{5 * time.Second, time.Second, 30 * time.Second} {
			d, err := Timing{Ping: ping}.Filled()
			if err != nil {
				t.Fatal(err)
			}
			row = append(row, reflect.ValueOf(d).Field(i).Interface().(time.Duration).String())
		}
		want = append(want, row)
	}
	for _, row := range tableOf(t, "times") {
		if len(row) != 7 {
			t.Fatalf("row %q", row)
		}
		got = append(got, slices.Concat(row[:1], row[4:]))
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("docs/client-health.md (-code +document):\n%s", diff)
	}
}

// TestDocumentInequalities: each inequality of the document is the one that the code checks, to
// the nanosecond, and its numbers are those of the defaults (CH-A3, CH-A4).
func TestDocumentInequalities(t *testing.T) {
	spec.Covers(t, "CH-A3", "CH-A4")
	const tick = time.Nanosecond
	rows := tableOf(t, "inequalities")
	inequalities := []struct {
		text        string
		left, right func(Timing) time.Duration
		good, bad   Timing // timings for which the inequality just holds, and just fails
	}{
		{
			"T_evict > T_ping", func(d Timing) time.Duration { return d.Evict }, func(d Timing) time.Duration { return d.Ping },
			Timing{},
			Timing{Evict: 5 * time.Second},
		},
		{
			"T_evict ≥ 3·T_ping + RTT", func(d Timing) time.Duration { return d.Evict }, func(d Timing) time.Duration { return 3*d.Ping + d.RTT },
			Timing{RTT: 2500 * time.Millisecond},
			Timing{RTT: 2500*time.Millisecond + tick},
		},
		{
			"T_client > T_ping", func(d Timing) time.Duration { return d.Client }, func(d Timing) time.Duration { return d.Ping },
			Timing{Client: 5*time.Second + tick},
			Timing{Client: 5 * time.Second},
		},
		{
			"T_evict ≥ T_client + T_elect + T_ping",
			func(d Timing) time.Duration { return d.Evict }, func(d Timing) time.Duration { return d.Client + d.Elect + d.Ping },
			Timing{Elect: 5 * time.Second},
			Timing{Elect: 5*time.Second + tick},
		},
		{
			"T_orphan ≥ T_client + T_elect",
			func(d Timing) time.Duration { return d.Orphan }, func(d Timing) time.Duration { return d.Client + d.Elect },
			Timing{Orphan: 12500 * time.Millisecond},
			Timing{Orphan: 12500*time.Millisecond - tick},
		},
		{
			"T_orphan ≥ 1.5·T_elect", func(d Timing) time.Duration { return d.Orphan }, func(d Timing) time.Duration { return d.Elect * 3 / 2 },
			Timing{Evict: time.Minute, Elect: 24 * time.Second, Orphan: 36 * time.Second},
			Timing{Evict: time.Minute, Elect: 24 * time.Second, Orphan: 36*time.Second - 3},
		},
		{
			"T_elect ≥ 2·Try", func(d Timing) time.Duration { return d.Elect }, func(d Timing) time.Duration { return 2 * d.Try },
			Timing{Try: 2500 * time.Millisecond},
			Timing{Try: 2500*time.Millisecond + tick},
		},
	}
	defaults, err := Timing{}.Filled()
	if err != nil {
		t.Fatal(err)
	}
	for i, q := range inequalities {
		sign := strings.Fields(q.text)[1]
		numbers := fmt.Sprintf("%v %s %v", q.left(defaults), sign, q.right(defaults))
		if i >= len(rows) || rows[i][0] != q.text || rows[i][1] != numbers {
			t.Errorf("the document does not say %s: %s", q.text, numbers)
		}
		if _, err := q.good.Filled(); err != nil {
			t.Errorf("%s: %v", q.text, err)
		}
		if _, err := q.bad.Filled(); err == nil {
			t.Errorf("%s does not hold, and is accepted", q.text)
		}
	}
	if len(rows) != len(inequalities) {
		t.Errorf("%d inequalities in the document, not %d", len(rows), len(inequalities))
	}
}

// TestDocumentLimits: the limits in the document, and the times that follow from others, are
// those of the code.
func TestDocumentLimits(t *testing.T) {
	self := nid.MustParse("10.0.0.1@tcp")
	s, err := NewServer(ServerConfig{Self: self, Incarnation: 1, Servers: []nid.NID{self}})
	if err != nil {
		t.Fatal(err)
	}
	c, err := NewClient(ClientConfig{ID: wire.ClientID{1}, Incarnation: 1, Servers: []nid.NID{self}})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		strconv.Itoa(s.cfg.MaxClients), strconv.Itoa(s.cfg.MaxIDs), strconv.Itoa(s.cfg.MaxUserIDs), strconv.Itoa(s.cfg.MaxTombstones), strconv.Itoa(s.cfg.MaxClients), strconv.Itoa(s.cfg.MaxBroadcasts), strconv.Itoa(wire.MaxBatch),
		fmt.Sprintf("%d in %v", s.cfg.MaxIncarnations, s.cfg.FlapWindow), fmt.Sprintf("%d bytes, printable", wire.MaxName), strconv.Itoa(wire.MaxEntries),
		fmt.Sprintf("%d, the youngest", maxPages*wire.MaxEntries), fmt.Sprintf("%d bytes at least", keyring.MinKey),
	}
	var got []string
	for _, row := range tableOf(t, "limits") {
		got = append(got, row[1])
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("docs/client-health.md (-code +document):\n%s", diff)
	}
	long := Timing{Evict: time.Hour}
	for _, same := range [][2]time.Duration{
		{s.cfg.tombstone(), 10 * time.Minute},
		{long.tombstone(), 2 * long.Evict},
		{c.cfg.MaxBackoff, 2 * c.cfg.Ping},
		{s.pauses.limit, s.cfg.Tick},
		{c.pauses.limit, c.cfg.Ping / 5},
		{(s.cfg.Orphan / 3).Truncate(time.Millisecond), 7500 * time.Millisecond},
		{s.cfg.Evict - s.cfg.Ping, 12500 * time.Millisecond},
		{wire.BatchHeaderSize + wire.MaxBatch*wire.EntrySize, 3880},
	} {
		if same[0] != same[1] {
			t.Errorf("the code has %v, the document %v", same[0], same[1])
		}
	}
}

// TestDocumentWords: the document explains every event, cause and code.
func TestDocumentWords(t *testing.T) {
	text := document(t)
	var codes []string
	for c := range wire.Codes {
		codes = append(codes, c.String())
	}
	for _, words := range [][]string{clientEventNames[:], eventNames[:], wire.CauseNames(), codes} {
		for _, word := range words {
			if !strings.Contains(text, "\n| `"+word+"`") && !strings.Contains(text, "\n| `quorum-lost`, `"+word+"`") {
				t.Errorf("no row for %q", word)
			}
		}
	}
	for _, word := range slices.Concat(stateNames[1:], phaseNames[:]) {
		if !strings.Contains(text, word) {
			t.Errorf("%q is in no picture", word)
		}
	}
}
