package engine_test

import (
	"fmt"
	"slices"
	"syscall"
	"testing"

	"ulnet/lnd/lndtest/spec"
	"ulnet/lnet/selftest/console/engine"
	"ulnet/lnet/selftest/wire"
)

// ping returns a PING test from one group to another one, in the batch that every session has.
func ping(from, to string) engine.Test {
	return engine.Test{Batch: "batch", From: from, To: to, Service: wire.PingService, Loop: 3, Concurrency: 1, Distribute: 1, Span: 1}
}

// TestDistribution checks which servers each client gets, and how many buffers a server needs, for some
// distributions (selftest §10).
func TestDistribution(t *testing.T) {
	spec.Covers(t, "ST-25")
	for _, tt := range []struct {
		clients, servers, distribute, span, concurrency int
		want                                            [][]int // servers of each client
		buffers                                         int32
	}{
		{3, 3, 1, 1, 2, [][]int{{0}, {1}, {2}}, 2},
		{4, 2, 1, 1, 1, [][]int{{0}, {1}, {0}, {1}}, 2},
		{2, 5, 1, 1, 1, [][]int{{0}, {1}}, 1},
		{2, 6, 1, 3, 1, [][]int{{0, 1, 2}, {3, 4, 5}}, 1},
		{3, 4, 1, 3, 5, [][]int{{0, 1, 2}, {3, 0, 1}, {2, 3, 0}}, 10},
		{6, 2, 3, 1, 4, [][]int{{0}, {0}, {0}, {1}, {1}, {1}}, 12},
		{7, 3, 3, 1, 1, [][]int{{0}, {0}, {0}, {1}, {1}, {1}, {2}}, 3},
		{5, 3, 2, 2, 1, [][]int{{0, 1}, {0, 1}, {2, 0}, {2, 0}, {1, 2}}, 4},
		{1, 1, 100, 1, 1, [][]int{{0}}, 100},
	} {
		t.Run(fmt.Sprint(tt.clients, tt.servers, tt.distribute, tt.span), func(t *testing.T) {
			l := newLab(t, 1+tt.clients+tt.servers, engine.Config{})
			var clients, servers []int
			for i := range tt.clients {
				clients = append(clients, 1+i)
			}
			for i := range tt.servers {
				servers = append(servers, 1+tt.clients+i)
			}
			l.open(clients...)
			l.must(0, &engine.AddGroup{Key: key, Name: "servers", IDs: hostIDs(servers...)})
			lists := map[*host][]byte{}
			for _, i := range clients {
				h := l.host(i)
				h.fake = func(m *wire.Message) *wire.Message {
					lists[h] = l.host(0).lists[m.Body.(*wire.Test).BulkID]
					return &wire.Message{Header: wire.Header{Features: 1}, Body: &wire.TestReply{Session: m.Body.(*wire.Test).Session}}
				}
			}
			test := ping("g", "servers")
			test.Distribute, test.Span, test.Concurrency = tt.distribute, tt.span, tt.concurrency
			l.must(0, &engine.AddTest{Key: key, Test: test})
			for i, c := range clients {
				var want []wire.Destination
				for _, s := range tt.want[i] {
					want = append(want, hostID(servers[s]))
				}
				b := l.host(c).took(wire.TypeTest)[0].Body.(*wire.Test)
				got, err := wire.ParseDestinations(lists[l.host(c)], int(b.Destinations), false)
				if err != nil || !slices.Equal(got, want) {
					t.Errorf("client %d gets %v, %v, want %v", i, got, err, want)
				}
				if !b.Client || !b.StopOnError || b.Loop != 3 || b.Concurrency != uint32(tt.concurrency) || int(b.Destinations) != tt.span {
					t.Errorf("%+v", b)
				}
			}
			for _, s := range servers {
				b := l.host(s).took(wire.TypeTest)[0].Body.(*wire.Test)
				if b.Client || !b.StopOnError || b.Loop != tt.buffers || b.Destinations != 0 || b.BulkID != 0 || b.Concurrency != uint32(tt.concurrency) {
					t.Errorf("%+v, want %d buffers", b, tt.buffers)
				}
			}
		})
	}
}

// TestRefusedTests: tests that nodes would refuse, or that would crash kernel nodes, are refused
// before anything is sent.
func TestRefusedTests(t *testing.T) {
	spec.Covers(t, "ST-26")
	l := newLab(t, 3, engine.Config{})
	l.open(1, 2)
	brw := func(length, offset uint32) engine.Test {
		b := ping("g", "g")
		b.Service, b.BRW = wire.BRWService, wire.BRWParams{Op: wire.Read, Check: wire.CheckFull, Length: length, Offset: offset}
		return b
	}
	change := func(b engine.Test, f func(*engine.Test)) engine.Test {
		f(&b)
		return b
	}
	for name, test := range map[string]engine.Test{
		"loop 0":          change(ping("g", "g"), func(t *engine.Test) { t.Loop = 0 }),
		"concurrency 0":   change(ping("g", "g"), func(t *engine.Test) { t.Concurrency = 0 }),
		"concurrency":     change(ping("g", "g"), func(t *engine.Test) { t.Concurrency = 1025 }),
		"distribute 0":    change(ping("g", "g"), func(t *engine.Test) { t.Distribute = 0 }),
		"distribute":      change(ping("g", "g"), func(t *engine.Test) { t.Distribute = 1 << 30 }),
		"span 0":          change(ping("g", "g"), func(t *engine.Test) { t.Span = 0 }),
		"span above 341":  change(ping("g", "g"), func(t *engine.Test) { t.Span = 342 }),
		"span of a group": change(ping("g", "g"), func(t *engine.Test) { t.Span = 3 }),
		"service":         change(ping("g", "g"), func(t *engine.Test) { t.Service = wire.DebugService }),
		"operation":       change(brw(8, 0), func(t *engine.Test) { t.BRW.Op = 3 }),
		"check 0":         change(brw(8, 0), func(t *engine.Test) { t.BRW.Check = 0 }),
		"check":           change(brw(8, 0), func(t *engine.Test) { t.BRW.Check = 5 }),
		"length 0":        brw(0, 0),
		"length":          brw(1<<20+8, 0),
		"odd length":      brw(4097, 0),
		"odd offset":      brw(4096-8, 4),
		"huge offset":     brw(8, 1<<31),
		"page more":       brw(12288, 8), // this test would crash a client of Lustre 2.17
		"last page":       brw(4096, 4088),
		"page of 64 KiB":  brw(1<<16, 1<<12),
	} {
		t.Run(name, func(t *testing.T) { l.t = t; l.fails(0, &engine.AddTest{Key: key, Test: test}, syscall.EINVAL) })
	}
	l.t = t
	if l.sent[wire.TestService] != 0 {
		t.Errorf("%d requests were sent", l.sent[wire.TestService])
	}
	for _, good := range []engine.Test{brw(12280, 8), brw(8, 0), brw(1<<20, 0), brw(1<<20, 1<<16), brw(1<<20-8, 8), brw(4088, 1<<30+8)} {
		l.must(0, &engine.AddTest{Key: key, Test: good})
	}
}

// TestOldFeatures: without the feature BULK_LEN a test has whole pages.
func TestOldFeatures(t *testing.T) {
	spec.Covers(t, "ST-26")
	l := newLab(t, 2, engine.Config{})
	l.must(0, &engine.NewSession{Key: key, Name: "old", Features: 0}, &engine.AddGroup{Key: key, Name: "g", IDs: hostIDs(1)})
	test := ping("g", "g")
	test.Service, test.BRW = wire.BRWService, wire.BRWParams{Op: wire.Write, Check: wire.CheckSimple, Length: 8192}
	l.must(0, &engine.AddTest{Key: key, Test: test})
	for _, m := range l.host(1).took(wire.TypeTest) {
		if got := m.Body.(*wire.Test).BRW; m.Features != 0 || got != (wire.BRWParams{Op: wire.Write, Check: wire.CheckSimple, Pages: 2}) {
			t.Errorf("%+v", m.Body)
		}
	}
	test.BRW.Length = 4088
	l.fails(0, &engine.AddTest{Key: key, Test: test}, syscall.EINVAL)
	test.BRW.Length, test.BRW.Offset = 4096, 4096
	l.fails(0, &engine.AddTest{Key: key, Test: test}, syscall.EINVAL)
}
