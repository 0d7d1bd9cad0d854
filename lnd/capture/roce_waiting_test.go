package capture_test

import (
	"fmt"
	"net/netip"
	"runtime"
	"testing"
	"time"

	"pgregory.net/rapid"

	"ulnet/lnd/capture"
	"ulnet/lnd/o2iblnd/kib"
	"ulnet/lnd/verbs/ibta"
	"ulnet/lnet/wire"
)

// roceGaps dissects packets of RoCE whose PSNs have gaps.
type roceGaps struct {
	*capture.Dissector
	at   time.Time
	lost uint64 // number of missing packets that the dissector has given up
}

func newRoCEGaps() *roceGaps {
	g := &roceGaps{at: time.Unix(1, 0)}
	g.Dissector = capture.NewDissector(capture.Options{KeepPayload: -1}, func(r *capture.Record) {
		if r.Kind == capture.Lost {
			g.lost += r.Length
		}
	})
	return g
}

// put dissects a packet to the queue pair with this number, with n bytes of data.
func (g *roceGaps) put(qp, psn, n int) {
	p := ibta.Packet{BTH: ibta.BTH{OpCode: ibta.SendOnly, DestQP: ibta.QPN(qp), PSN: ibta.PSN(psn)}, Payload: make([]byte, n)}
	c := ipPacketOf(netip.MustParseAddr("10.0.0.7"), netip.MustParseAddr("10.0.0.8"), p.AppendTo(nil))
	g.Packet(g.at, c.Link, c.Data)
}

// check checks the bounds of the packets that wait behind gaps.
func (g *roceGaps) check(t interface{ Fatalf(string, ...any) }) {
	packets, pages, size := g.RoCEWaiting()
	if packets > pages || pages >= capture.MaxWaiting || size > pages*pageSize {
		t.Fatalf("%d packets with %d bytes wait, counted as %d pages", packets, size, pages)
	}
}

// TestRoCEWaitingIsBounded: packets that wait behind gaps on many queue pairs take a bounded amount of memory in all, and
// keep no more memory alive than they are counted for.
func TestRoCEWaitingIsBounded(t *testing.T) {
	for name, tt := range map[string]struct {
		qps, size int
		released  bool // all packets but the last are released again
	}{
		"large packets":    {qps: 60, size: 4096},
		"small packets":    {qps: 80, size: 1},
		"released packets": {qps: 300, size: 1000, released: true},
	} {
		t.Run(name, func(t *testing.T) {
			g := newRoCEGaps()
			before := heap()
			for qp := 2; qp < 2+tt.qps; qp++ {
				g.put(qp, 1, 0)
				for i := range 255 {
					g.put(qp, 3+i, tt.size)
				}
				if tt.released {
					g.put(qp, 300, 1)
					g.put(qp, 2, 1)
				}
			}
			g.check(t)
			_, pages, _ := g.RoCEWaiting()
			if grown := heap() - before; grown > int64(pages*pageSize+4<<20) {
				t.Errorf("%d KiB are alive, counted as %d pages", grown>>10, pages)
			}
			if given := g.lost > 0; given == tt.released {
				t.Errorf("%d packets are given up", g.lost)
			}
			runtime.KeepAlive(g)
		})
	}
}

// TestRoCEWaitingEnds: packets behind a gap are dissected some seconds later, also if no packet of their connection comes any
// more. A retransmission after the longest timeout of an adapter comes in time.
func TestRoCEWaitingEnds(t *testing.T) {
	g := newRoCEGaps()
	g.put(2, 1, 0)
	g.put(2, 3, 10)
	g.at = g.at.Add(9 * time.Second)
	g.put(3, 1, 0)
	if packets, _, _ := g.RoCEWaiting(); packets != 1 || g.lost != 0 {
		t.Errorf("%d packets wait, %d are given up", packets, g.lost)
	}
	g.at = g.at.Add(3 * time.Second)
	g.put(3, 2, 0)
	if packets, pages, _ := g.RoCEWaiting(); packets != 0 || pages != 0 || g.lost != 1 {
		t.Errorf("%d packets wait as %d pages, %d are given up", packets, pages, g.lost)
	}
}

// TestRoCEOutsideWindow: a packet far ahead, which the responder never acknowledges, does not hide anything that
// comes after it.
func TestRoCEOutsideWindow(t *testing.T) {
	for _, step := range []int64{1000, 100} { // in milliseconds; the connection may end before the packet has waited long
		testRoCEOutsideWindow(t, step, 1, 1<<22)
	}
	testRoCEOutsideWindow(t, 10, 300, 1<<22) // more than can wait
	testRoCEOutsideWindow(t, 10, 300, 16000)
}

func testRoCEOutsideWindow(t *testing.T, step int64, strays, far int) {
	w, messages, lost := newRoceWire(t), 0, uint64(0)
	d := capture.NewDissector(capture.Options{}, func(r *capture.Record) {
		switch r.Kind {
		case capture.Message:
			messages++
		case capture.Lost:
			lost += r.Length
		}
	})
	for i := range 30 {
		if i == 5 {
			for k := range strays {
				w.packet(0, ibta.Packet{BTH: ibta.BTH{OpCode: ibta.SendOnly, PSN: w.ends[0].psn.Add(far + k)}, Payload: []byte("stray")})
			}
		}
		w.message(0, immediate("payload"), 4096)
		w.answer(1, w.ends[0].psn.Add(-1), ibta.AckUnlimited)
	}
	for i, p := range w.list {
		d.Packet(time.Unix(int64(i)*step/1000, 0), p.Link, p.Data)
	}
	if n, _, _ := d.RoCEWaiting(); step == 1000 && n != 0 {
		t.Errorf("%d packets wait", n)
	}
	if d.Close(); messages != 30 || lost != 0 || d.Counts().Outside != uint64(strays) {
		t.Errorf("%d messages, %d packets lost, %+v", messages, lost, d.Counts())
	}
}

// TestRoCEWaitingCount: whatever packets arrive when, the pages of those that wait are counted, until the capture
// ends.
func TestRoCEWaitingCount(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := newRoCEGaps()
		psns := rapid.OneOf(rapid.IntRange(0, 20), rapid.IntRange(1<<24-20, 1<<24-1), rapid.IntRange(0, 1<<24-1))
		for range rapid.IntRange(1, 100).Draw(t, "packets") {
			g.at = g.at.Add(time.Duration(rapid.IntRange(0, 3).Draw(t, "seconds")) * time.Second)
			g.put(rapid.IntRange(2, 4).Draw(t, "queue pair"), psns.Draw(t, "PSN"), rapid.IntRange(0, 5000).Draw(t, "size"))
			g.check(t)
		}
		g.Close()
		if _, pages, _ := g.RoCEWaiting(); pages != 0 {
			t.Fatalf("%d pages wait after the end", pages)
		}
	})
}

// TestRoCEWaitingForgotten: packets that waited on connections that are forgotten no longer count, also if they came after
// the connection had ended.
func TestRoCEWaitingForgotten(t *testing.T) {
	g := newRoCEGaps()
	w := newRoceWire(t)
	connect := func(id ibta.CommID) {
		req := ibta.REQ{LocalID: id, QPN: w.ends[0].qp}
		rej := ibta.REJ{RemoteID: id}
		for side, body := range [][]byte{
			req.AppendTo(ibta.MAD{Attribute: ibta.AttrREQ}.AppendTo(nil)), rej.AppendTo(ibta.MAD{Attribute: ibta.AttrREJ}.AppendTo(nil)),
		} {
			w.packet(side, ibta.Packet{BTH: ibta.BTH{OpCode: ibta.UDSendOnly, DestQP: ibta.GSI}, Payload: body})
		}
	}
	connect(7)
	for _, psn := range []ibta.PSN{1, 3} {
		w.packet(1, ibta.Packet{BTH: ibta.BTH{OpCode: ibta.SendOnly, PSN: psn}, Payload: make([]byte, 100)})
	}
	for _, p := range w.list {
		g.Packet(g.at, p.Link, p.Data)
	}
	if packets, _, _ := g.RoCEWaiting(); packets != 2 {
		t.Fatalf("%d packets wait", packets)
	}
	for qp := range 5000 {
		g.put(qp+2, 1, 0)
	}
	if packets, pages, _ := g.RoCEWaiting(); packets != 0 || pages != 0 {
		t.Errorf("%d packets wait, counted as %d pages", packets, pages)
	}
}

// TestRoCETransfersAreBounded: transfers that never end, each with as many fragments as a descriptor can have, are
// remembered up to a bound for all connections together, whether the request has the descriptor (GET) or the answer (PUT).
// The dissector's counters agree with what it remembers.
func TestRoCETransfersAreBounded(t *testing.T) {
	frags := make([]kib.Frag, kib.MaxFrags)
	for i := range frags {
		frags[i] = kib.Frag{Address: uint64(i) << 12, Length: 4096}
	}
	desc, err := kib.MakeDesc(nil, 1, frags...)
	if err != nil {
		t.Fatal(err)
	}
	get := putHeader(0)
	get.SetGet(wire.GetCmd{Portal: 51, SinkLength: 1 << 20})
	for name, messages := range map[string][]kib.Msg{
		"GET": {{Header: kib.Header{Type: kib.GetReq}, LNet: get, Desc: desc}},
		"PUT": {{Header: kib.Header{Type: kib.PutReq}, LNet: putHeader(1 << 20)}, {Header: kib.Header{Type: kib.PutAck}, Desc: desc}},
	} {
		t.Run(name, func(t *testing.T) {
			d := capture.NewDissector(capture.Options{}, func(*capture.Record) {})
			for conn := range 20 {
				w := newRoceWire(t)
				for side := range w.ends {
					w.ends[side].qp += ibta.QPN(100 * conn)
				}
				for i := range 500 {
					for side, m := range messages {
						m.Cookie, m.DstCookie = uint64(i), uint64(i)
						w.message(side, m, 4096)
						w.answer(1-side, w.ends[side].psn.Add(-1), ibta.AckUnlimited)
					}
				}
				for _, p := range w.list {
					d.Packet(time.Unix(1, 0), p.Link, p.Data)
				}
			}
			transfers, fragments, counted := d.RoCEMoving()
			if counted > capture.MaxFragments || counted < capture.MaxFragments*9/10 || fragments != transfers*kib.MaxFrags || counted != fragments+16*transfers {
				t.Errorf("%d transfers with %d fragments, counted as %d", transfers, fragments, counted)
			}
			d.Close()
		})
	}
}

// TestRoCETransfersOfOthers: connections whose transfers fill the memory for unfinished ones do not keep the dissector from following
// the transfer of another connection to its end: the oldest transfers are forgotten.
func TestRoCETransfersOfOthers(t *testing.T) {
	var lines []string
	d := capture.NewDissector(capture.Options{}, func(r *capture.Record) {
		if r.RoCE != nil && r.RoCE.HasMsg && r.RoCE.Msg.Type == kib.GetDone {
			lines = append(lines, fmt.Sprint(r.RoCE.Transfer != nil, r.Err))
		}
	})
	desc, err := kib.MakeDesc(nil, 1, make([]kib.Frag, kib.MaxFrags)...)
	if err != nil {
		t.Fatal(err)
	}
	get := putHeader(0)
	get.SetGet(wire.GetCmd{Portal: 51, SinkLength: 1 << 20})
	for conn := range 20 {
		w := newRoceWire(t)
		for side := range w.ends {
			w.ends[side].qp += ibta.QPN(100 * conn)
		}
		for i := range 500 {
			w.message(0, kib.Msg{Header: kib.Header{Type: kib.GetReq}, LNet: get, Desc: desc, Cookie: uint64(i)}, 4096)
			w.answer(1, w.ends[0].psn.Add(-1), ibta.AckUnlimited)
		}
		if conn == 19 {
			w.message(1, kib.Msg{Header: kib.Header{Type: kib.GetDone}, Cookie: 499}, 4096)
			w.answer(0, w.ends[1].psn.Add(-1), ibta.AckUnlimited)
		}
		for _, p := range w.list {
			d.Packet(time.Unix(1, 0), p.Link, p.Data)
		}
	}
	d.Close()
	if len(lines) != 1 || lines[0] != "true <nil>" {
		t.Errorf("%q", lines)
	}
}

// TestRoCETransfersJoined: a capture begins inside a connection, so that each direction counts as a connection of its
// own until an ACK joins them. The transfers of both directions are transfers of the joined connection from then on.
// When the memory is full, those that do not end are forgotten like others.
func TestRoCETransfersJoined(t *testing.T) {
	desc, err := kib.MakeDesc(nil, 1, make([]kib.Frag, kib.MaxFrags)...)
	if err != nil {
		t.Fatal(err)
	}
	get := putHeader(0)
	get.SetGet(wire.GetCmd{Portal: 51, SinkLength: 1 << 20})
	request := kib.Msg{Header: kib.Header{Type: kib.GetReq}, LNet: get, Desc: desc}
	d := capture.NewDissector(capture.Options{}, func(*capture.Record) {})
	for conn := range 20 {
		w := newRoceWire(t)
		for side := range w.ends {
			w.ends[side].qp += ibta.QPN(100 * conn)
			w.message(side, request, 4096)
			w.message(side, request, 4096)
		}
		for side := range w.ends {
			w.answer(1-side, w.ends[side].psn.Add(-1), ibta.AckUnlimited)
		}
		for range 500 {
			w.message(0, request, 4096)
		}
		for _, p := range w.list {
			d.Packet(time.Unix(1, 0), p.Link, p.Data)
		}
	}
	if transfers, fragments, counted := d.RoCEMoving(); counted > capture.MaxFragments || counted != fragments+16*transfers {
		t.Errorf("%d transfers with %d fragments, counted as %d", transfers, fragments, counted)
	}
	d.Close()
}
