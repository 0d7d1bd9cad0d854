package lndtest

import (
	"context"
	"errors"
	"slices"
	"syscall"
	"testing"
	"time"

	"ulnet/lnd"
	"ulnet/lnet/nid"
	"ulnet/lnet/wire"
)

// multicastNIs is how many NIs a MulticastHarness starts.
const multicastNIs = 3

// MulticastHarness starts a driver whose NIs have multicast.
type MulticastHarness struct {
	// Start returns NIs of one net that reach each other, one for each of the upcalls. The
	// few datagrams that the suite sends between them must not be lost.
	Start func(t *testing.T, ups []lnd.Upcalls) []lnd.NI
	// Await waits for a condition, as [Harness.Await] does.
	Await func(cond func() bool) bool
}

// RunMulticast runs the suite for NIs that are an [lnd.Multicaster] (RM-A22).
func RunMulticast(t *testing.T, h MulticastHarness) {
	for _, c := range []struct {
		name string
		test func(*testing.T, *casters)
	}{
		{"members alone", testMembers},
		{"sizes and segments", testDatagrams},
		{"too long", testTooLong},
		{"groups", testGroups},
		{"leave and join again", testLeave},
		{"dropped and truncated payload", testCastDropped},
		{"send from upcalls", testCastReentrant},
		{"shutdown", testCastShutdown},
	} {
		t.Run(c.name, func(t *testing.T) { c.test(t, newCasters(t, h)) })
	}
}

// casters are the NIs with multicast that are under test.
type casters struct {
	t     *testing.T
	wait  func(cond func() bool) bool
	ups   []*recorder
	nis   []lnd.Multicaster
	match uint64
}

func newCasters(t *testing.T, h MulticastHarness) *casters {
	t.Helper()
	f := &casters{t: t, wait: h.Await}
	if f.wait == nil {
		f.wait = Poll
	}
	var ups []lnd.Upcalls
	for range multicastNIs {
		r := newRecorder()
		f.ups, ups = append(f.ups, r), append(ups, r)
	}
	for i, ni := range h.Start(t, ups) {
		m, ok := lnd.AsMulticaster(ni)
		if !ok {
			t.Fatalf("NI %v has no multicast", ni.NID())
		}
		f.ups[i].ni, f.nis = ni, append(f.nis, m)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 60*time.Second)
		defer cancel()
		for _, ni := range f.nis {
			if err := ni.Shutdown(ctx); err != nil {
				t.Errorf("shutdown: %v", err)
			}
		}
	})
	return f
}

func (f *casters) join(g lnd.Group, members ...int) {
	f.t.Helper()
	for _, i := range members {
		if err := f.nis[i].Join(g); err != nil {
			f.t.Fatalf("join: %v", err)
		}
	}
}

// make makes a datagram. Its match bits are its number, counted from 1.
func (f *casters) make(from int, g lnd.Group, segments ...[]byte) *lnd.Message {
	f.match++
	ni := f.nis[from]
	m := &lnd.Message{Group: g, Target: nid.ProcessID{NID: ni.GroupNID(g), PID: nid.LustrePID}}
	for _, s := range segments {
		m.Payload.Length += len(s)
	}
	m.Payload.Segments = segments
	m.Header.SrcNID, m.Header.SrcPID = ni.NID(), nid.LustrePID
	m.Header.DestNID, m.Header.DestPID = m.Target.NID, m.Target.PID
	m.Header.SetPut(wire.PutCmd{AckMD: wire.NoHandle(), MatchBits: f.match, Portal: 7})
	m.Header.PayloadLength = uint32(m.Payload.Length)
	return m
}

// cast sends a datagram and waits until it has left.
func (f *casters) cast(from int, g lnd.Group, segments ...[]byte) *lnd.Message {
	f.t.Helper()
	m := f.make(from, g, segments...)
	f.nis[from].Multicast(m)
	f.await("finalize", f.ups[from].ended(m))
	if err := f.ups[from].result(m); err != nil {
		f.t.Fatalf("multicast: %v", err)
	}
	return m
}

func (f *casters) await(what string, cond func() bool) {
	f.t.Helper()
	if !f.wait(cond) {
		f.t.Fatalf("%s: did not happen; %v", what, f.ups)
	}
}

// numbers returns the match bits of the datagrams that have arrived at an NI.
func (f *casters) numbers(at int) (bits []uint64) {
	r := f.ups[at]
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, in := range r.got {
		bits = append(bits, in.header.Put().MatchBits)
	}
	return bits
}

// wantOnly waits until the last of the wanted datagrams has arrived and checks that no other
// datagram has. A datagram that must not arrive was sent before that last one by the same NI, so it would
// have arrived already.
func (f *casters) wantOnly(at int, want ...uint64) {
	f.t.Helper()
	f.await("arrival", func() bool { return slices.Contains(f.numbers(at), want[len(want)-1]) })
	if got := f.numbers(at); !slices.Equal(got, want) {
		f.t.Errorf("NI %d got %v, want %v", at, got, want)
	}
}

// wantAll waits until all wanted datagrams have arrived, in any order, and checks that no other
// datagram has so far.
func (f *casters) wantAll(at int, want ...uint64) {
	f.t.Helper()
	f.await("arrivals", func() bool { return len(f.numbers(at)) >= len(want) })
	if got := f.numbers(at); !slices.Equal(slices.Sorted(slices.Values(got)), want) {
		f.t.Errorf("NI %d got %v, want %v in any order", at, got, want)
	}
}

func (r *recorder) result(m *lnd.Message) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.finalized[m]
}

// shut ends an NI, from which the test sends nothing afterwards.
func (f *casters) shut(at int) {
	f.t.Helper()
	if err := f.nis[at].Shutdown(f.t.Context()); err != nil {
		f.t.Error(err)
	}
}

func isErr(t *testing.T, what string, err error, want syscall.Errno) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Errorf("%s: %v, want %v", what, err, want)
	}
}
