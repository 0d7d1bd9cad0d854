//go:build linux

package main_test

import (
	"fmt"
	"net/netip"
	"testing"

	"ulnet/lnd/o2iblnd"
	"ulnet/lnd/o2iblnd/kib"
	"ulnet/lnd/verbs"
	"ulnet/lnet/nid"
	"ulnet/lnet/wire"
)

// groupAddr and groupQKey are the address and Q_Key of hostileGroup in the default configuration.
var groupAddr = netip.MustParseAddr(fmt.Sprintf("239.76.0.%d", hostileGroup))

const groupQKey = 0x01234567

// rogueDatagrams are sent to a group that the daemon has joined.
var rogueDatagrams = []struct {
	name   string
	change func(d *wire.Datagram)
	spoil  func(b []byte) []byte
	want   o2iblnd.Reason
}{
	{name: "nothing", spoil: func([]byte) []byte { return nil }, want: o2iblnd.DatagramCut},
	{name: "cut", spoil: func(b []byte) []byte { return b[:60] }, want: o2iblnd.DatagramCut},
	{name: "another protocol", spoil: func([]byte) []byte { return evil }, want: o2iblnd.DatagramForeign},
	{name: "version 2", spoil: func(b []byte) []byte { b[4] = 2; return b }, want: o2iblnd.DatagramVersion},
	{name: "long header", spoil: func(b []byte) []byte { b[6] = 96; return b }, want: o2iblnd.DatagramHeader},
	{name: "payload of 4 GiB", change: func(d *wire.Datagram) { d.Header.PayloadLength = 1<<32 - 1 }, want: o2iblnd.DatagramLength},
	{name: "GET", change: func(d *wire.Datagram) { d.Header = getOf(d.Header.SrcNID, d.Header.DestNID) }, want: o2iblnd.DatagramType},
	{name: "in the daemon's name", change: func(d *wire.Datagram) { d.Header.SrcNID = nid.MustParse(besiegedAddr + "@o2ib") }, want: o2iblnd.DatagramOwn},
	{name: "in the good peer's name", change: func(d *wire.Datagram) { d.Header.SrcNID = nid.MustParse(goodAddr + "@o2ib") }, want: o2iblnd.DatagramSource},
	{name: "for another group", change: func(d *wire.Datagram) { d.Header.DestNID = nid.MustParse("239.76.0.200@o2ib") }, want: o2iblnd.DatagramGroup},
	{name: "for another net", change: func(d *wire.Datagram) { d.Header.DestNID = nid.FromAddr(nid.MustParseNet("o2ib5"), groupAddr) }, want: o2iblnd.DatagramNet},
}

// datagrams sends all rogueDatagrams.
func (b *blockade) datagrams(t *testing.T) {
	r := b.rogue(t, rogueAddr)
	qp, err := r.dev.NewUD(verbs.UDConfig{PD: r.pd, Sends: r.cq, Recvs: r.cq, Pool: r.pool, MaxSends: 64, QKey: groupQKey})
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range rogueDatagrams {
		t.Run(test.name, func(t *testing.T) {
			before := b.daemon.Reasons()
			d := wire.Datagram{Header: putOf(nid.MustParse(rogueAddr+"@o2ib"), nid.FromAddr(nid.MustParseNet("o2ib"), groupAddr), 0)}
			if test.change != nil {
				test.change(&d)
			}
			bytes, err := kib.Datagrams.Append(nil, &d)
			if err != nil {
				t.Fatal(err)
			}
			if test.spoil != nil {
				bytes = test.spoil(bytes)
			}
			if err := qp.PostSend([]verbs.Datagram{{
				Pieces: []verbs.SGE{{Bytes: bytes}}, To: groupAddr, QPN: verbs.MulticastQPN, QKey: groupQKey,
			}}); err != nil {
				t.Fatal(err)
			}
			b.wantReasons(t, before, test.want)
		})
	}
	b.goesOn(t)
}
