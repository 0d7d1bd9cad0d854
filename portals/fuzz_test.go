package portals_test

import (
	"bytes"
	"errors"
	"syscall"
	"testing"
	"time"

	"ulnet/lnd"
	"ulnet/lnet"
	"ulnet/lnet/nid"
	"ulnet/lnet/wire"
	"ulnet/portals"
)

// arena is memory for an MD between two rows of guard bytes. No message may change the guard bytes.
type arena struct{ whole, middle []byte }

func newArena(n int) arena {
	a := arena{whole: bytes.Repeat([]byte{0x5A}, n+64)}
	a.middle = a.whole[32 : 32+n]
	return a
}

func (a arena) intact(readOnly bool) bool {
	guarded := [][]byte{a.whole[:32], a.whole[len(a.whole)-32:]}
	if readOnly {
		guarded = [][]byte{a.whole}
	}
	for _, g := range guarded {
		for _, b := range g {
			if b != 0x5A {
				return false
			}
		}
	}
	return true
}

// FuzzArrive feeds a node with headers of any content. The node must not panic, must not
// write outside of the memory that was offered, and must end every MD exactly once.
func FuzzArrive(f *testing.F) {
	for _, h := range []wire.Header{
		putHeader(8, wire.PutCmd{AckMD: handle(5), Portal: 1, MatchBits: 1}),
		putHeader(1<<20, wire.PutCmd{AckMD: wire.NoHandle(), Portal: 2, Offset: 1<<32 - 1}),
		getHeader(wire.GetCmd{ReturnMD: handle(5), Portal: 1, MatchBits: 1, SrcOffset: 60, SinkLength: 1<<32 - 1}),
		replyHeader(64, handle(1<<26|1)),
		replyHeader(64, handle(1<<26|1<<2|1)),
		ackHeader(handle(1<<26|1<<2|1), 64),
		putHeader(8, wire.PutCmd{Portal: 3}),
	} {
		b, err := h.AppendBinary(nil)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(bytes.Repeat(b, 3), uint8(len(b)))
		f.Add(bytes.Repeat(b, 3), uint8(0x80))
		f.Add(bytes.Repeat(b, 3), uint8(0x40))
	}
	f.Fuzz(func(t *testing.T, b []byte, choices uint8) {
		cfg := lnet.Config{SourceUnchecked: choices&0x40 != 0}
		h, net, clock := timed(t, cfg, lnd.Tunables{}) // a timer of the real clock would keep the table alive
		victims := newVictims(t, h.Table, net)
		for i := 0; len(b) >= wire.HeaderSize && i < 64; i++ {
			h, rest, err := wire.ParseHeader(b)
			if err != nil {
				t.Fatal(err)
			}
			b = rest
			if choices>>(i%8)&1 == 0 { // change the header so that it passes the first checks
				h.DestNID, h.Type = here.NID, h.Type%4
			}
			by := there
			if i%5 == 4 {
				by = nid.ProcessID{NID: h.SrcNID, PID: h.SrcPID}
			}
			var failure error
			if i%3 == 2 {
				failure = syscall.EIO
			}
			_ = net.arriveFrom(by, h, failure) // any refusal is correct
			if i%2 == 1 {
				if m := net.next(); m != nil {
					net.finalize(m, failure)
				}
			}
		}
		if choices&0x80 != 0 { // requests without an answer by now are given up
			clock.advance(time.Hour)
		}
		victims.check(t)
	})
}

// victims are MDs of every kind, at which hostile headers are directed.
type victims struct {
	table  *portals.Table
	net    *network
	arenas map[string]arena
	mds    []portals.MDHandle
	last   []int // by MD: number of events with Unlinked set
}

func newVictims(t *testing.T, table *portals.Table, net *network) *victims {
	v := &victims{table: table, net: net, arenas: make(map[string]arena)}
	get := v.bind(t, "get")
	put := v.bind(t, "put")
	v.attach(t, 1, "for all", portals.OpPut|portals.OpGet|portals.ManageRemote|portals.Truncate)
	v.attach(t, 1, "local", portals.OpPut|portals.OpGet)
	v.attach(t, 2, "read only", portals.OpGet|portals.ManageRemote|portals.Truncate)
	if err := table.SetLazy(3); err != nil {
		t.Fatal(err)
	}
	if err := table.Get(portals.GetRequest{MD: get, Target: there}); err != nil {
		t.Fatal(err)
	}
	if err := table.Put(portals.PutRequest{MD: put, Ack: true, Target: there}); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		net.finalize(net.next(), nil)
	}
	return v
}

func (v *victims) md(name string, options portals.MDOption) portals.MD {
	a := newArena(64)
	v.arenas[name] = a
	i := len(v.last)
	v.last = append(v.last, 0)
	return portals.MD{
		Segments: []lnd.Segment{a.middle[:20:20], nil, a.middle[20:64:64]}, Threshold: inf, Options: options,
		Handler: func(e *portals.Event) {
			_ = e.Bytes()
			if e.Unlinked {
				v.last[i]++
			}
		},
	}
}

func (v *victims) bind(t *testing.T, name string) portals.MDHandle {
	md, err := v.table.MDBind(v.md(name, 0), portals.Unlink)
	if err != nil {
		t.Fatal(err)
	}
	v.mds = append(v.mds, md)
	return md
}

func (v *victims) attach(t *testing.T, portal int, name string, options portals.MDOption) {
	me, err := v.table.MEAttach(portal, portals.Match{Ignore: ^uint64(0)}, portals.Unlink, portals.After)
	if err != nil {
		t.Fatal(err)
	}
	md, err := v.table.MDAttach(me, v.md(name, options), portals.Unlink)
	if err != nil {
		t.Fatal(err)
	}
	v.mds = append(v.mds, md)
}

func (v *victims) check(t *testing.T) {
	t.Helper()
	for name, a := range v.arenas {
		if readOnly := name == "read only" || name == "put"; !a.intact(readOnly) {
			t.Errorf("memory of the MD %q was written to where it must not be", name)
		}
	}
	for _, md := range v.mds {
		if err := v.table.MDUnlink(md); err != nil && !errors.Is(err, syscall.ENOENT) {
			t.Error(err)
		}
	}
	for m := v.net.next(); m != nil; m = v.net.next() {
		v.net.finalize(m, nil)
	}
	if err := v.table.ClearLazy(3); err != nil {
		t.Error(err)
	}
	for i, n := range v.last {
		if n != 1 {
			t.Errorf("MD %d had %d last events", i, n)
		}
	}
	if n := v.net.holding(); n != 0 {
		t.Errorf("%d deliveries are still held", n)
	}
}
