package ibta_test

import (
	"bytes"
	"errors"
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ulnet/lnd/verbs/ibta"
)

// cmMessage is any CM message.
type cmMessage struct {
	mad  ibta.MAD
	body interface{ AppendTo([]byte) []byte }
}

func (m cmMessage) append() []byte { return m.body.AppendTo(m.mad.AppendTo(nil)) }

// parseCM parses a CM message.
func parseCM(b []byte) (m cmMessage, err error) {
	c, err := ibta.ParseCM(b)
	if err != nil {
		return m, err
	}
	m.mad = c.MAD
	switch c.MAD.Attribute {
	case ibta.AttrREQ:
		m.body = &c.REQ
	case ibta.AttrREP:
		m.body = &c.REP
	case ibta.AttrREJ:
		m.body = &c.REJ
	case ibta.AttrMRA:
		m.body = &c.MRA
	case ibta.AttrRTU:
		m.body = &c.RTU
	case ibta.AttrDREQ:
		m.body = &c.DREQ
	case ibta.AttrDREP:
		m.body = &c.DREP
	}
	if again := c.AppendTo(nil); !bytes.Equal(again, b[:ibta.MADSize]) && bytes.Equal(m.append(), b[:ibta.MADSize]) {
		return m, errors.New("CM.AppendTo encodes another message")
	}
	return m, nil
}

func fill(n int, c byte) []byte { return bytes.Repeat([]byte{c}, n) }

// each is one CM message of each kind with every field set.
var each = []cmMessage{
	{ibta.MAD{Status: 1, ClassSpecific: 2, TransactionID: 3, Attribute: ibta.AttrREQ, Modifier: 4}, &ibta.REQ{
		LocalID: 0x11223344, ServiceID: ibta.PortSpaceTCP.Service(987), LocalGUID: 0x0250560000000001, QKey: 5, QPN: 0xABCDEF,
		ResponderResources: 6, EECN: 7, InitiatorDepth: 8, RemoteEECN: 9, RemoteTimeout: 20, Transport: 2, FlowControl: true,
		StartingPSN: 0x123456, LocalTimeout: 21, RetryCount: 5, PKey: 0x8001, MTU: ibta.MTU1024, RDC: true, RNRRetryCount: 6,
		MaxCMRetries: 15, SRQ: true, ExtendedTransport: 3,
		Primary: ibta.PathRecord{
			LocalLID: 0xFFFF, RemoteLID: 0xFFFE, LocalGID: ibta.GID{1}, RemoteGID: ibta.GID{2}, FlowLabel: 0xFFBC1, Rate: 33,
			TrafficClass: 0x68, HopLimit: 64, SL: 9, SubnetLocal: true, AckTimeout: 17,
		},
		Alternate: ibta.PathRecord{LocalLID: 1, AckTimeout: 31}, Private: fill(ibta.REQPrivateSize, 0xAA),
	}},
	{ibta.MAD{TransactionID: 3, Attribute: ibta.AttrREP}, &ibta.REP{
		LocalID: 1, RemoteID: 2, QKey: 3, QPN: 0xABCDEF, EECN: 4, StartingPSN: 0x3A105F, ResponderResources: 5, InitiatorDepth: 6,
		AckDelay: 15, Failover: 2, FlowControl: true, RNRRetryCount: 6, SRQ: true, LocalGUID: 7, Private: fill(ibta.REPPrivateSize, 0xAB),
	}},
	{ibta.MAD{Attribute: ibta.AttrREJ}, &ibta.REJ{
		LocalID: 1, RemoteID: 2, Rejected: ibta.RejectedOther, InfoLength: 72, Reason: ibta.RejectConsumer, Info: [72]byte{71: 9},
		Private: fill(ibta.REJPrivateSize, 0xAC),
	}},
	{ibta.MAD{Attribute: ibta.AttrMRA}, &ibta.MRA{LocalID: 1, RemoteID: 2, Message: ibta.RejectedREP, ServiceTimeout: 24, Private: fill(ibta.MRAPrivateSize, 0xAD)}},
	{ibta.MAD{Attribute: ibta.AttrRTU}, &ibta.RTU{LocalID: 1, RemoteID: 2, Private: fill(ibta.RTUPrivateSize, 0xAE)}},
	{ibta.MAD{Attribute: ibta.AttrDREQ}, &ibta.DREQ{LocalID: 1, RemoteID: 2, RemoteQPN: 0x123456, Private: fill(ibta.DREQPrivateSize, 0xAF)}},
	{ibta.MAD{Attribute: ibta.AttrDREP}, &ibta.DREP{LocalID: 1, RemoteID: 2, Private: fill(ibta.DREPPrivateSize, 0xB0)}},
}

func TestCMRoundTrip(t *testing.T) {
	for _, m := range each {
		b := m.append()
		if len(b) != ibta.MADSize {
			t.Fatalf("%v: %d bytes", m.mad.Attribute, len(b))
		}
		got, err := parseCM(append(b, "after"...))
		if diff := cmp.Diff(m, got, cmp.AllowUnexported(cmMessage{})); err != nil || diff != "" {
			t.Errorf("%v: %v (-want +got)\n%s", m.mad.Attribute, err, diff)
		}
		for n := range b {
			if _, err := parseCM(b[:n]); err != ibta.ErrShort {
				t.Fatalf("%v of %d bytes: %v", m.mad.Attribute, n, err)
			}
		}
	}
}

// connReq is the REQ of the worked example in rocev2 §18.
const connReq = `01070203 00000000 0000000111223344 0010 0000 00000000
	11223344 00000000 00000000010603db 0250560000000001 00000000 00000000
	00001100 00000000 000000a1 123456a5 ffff 36 f0 ffff ffff
	00000000000000000000ffff0a0a0001 00000000000000000000ffff0a0a0002
	07fbc003 00 40 00 88` + zeros44 + `
	004003ff 0000000000000000000000000a0a0001 0000000000000000000000000a0a0002
	911be90b1200c00038000000 00000000 01000a0a00000500 00105a5a3c430600 02000a0a00000500 0000000000000000 0800010100100000`

const zeros44 = ` 00000000000000000000000000000000 00000000000000000000000000000000 000000000000000000000000 `

func TestCMGolden(t *testing.T) {
	b := unhex(t, connReq)
	src, dst := netip.MustParseAddr("10.10.0.1"), netip.MustParseAddr("10.10.0.2")
	user := b[len(b)-ibta.REQUserSize:]
	want := ibta.REQ{
		LocalID: 0x11223344, ServiceID: 0x010603DB, LocalGUID: 0x0250560000000001, QPN: 0x11, RemoteTimeout: 20, FlowControl: true,
		StartingPSN: 0x123456, LocalTimeout: 20, RetryCount: 5, PKey: ibta.DefaultPKey, MTU: ibta.MTU1024, RNRRetryCount: 6, MaxCMRetries: 15,
		Primary: ibta.PathRecord{
			LocalLID: 0xFFFF, RemoteLID: 0xFFFF, LocalGID: ibta.GIDFrom(src), RemoteGID: ibta.GIDFrom(dst),
			FlowLabel: 0x07FBC, Rate: 3, HopLimit: 64, AckTimeout: 17,
		},
		Private: append(ibta.IPCM{SrcPort: 1023, Src: src, Dst: dst}.AppendTo(nil), user...),
	}
	got, err := ibta.ParseCM(b)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(ibta.MAD{TransactionID: 0x111223344, Attribute: ibta.AttrREQ}, got.MAD); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(want, got.REQ); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if local, remote := got.IDs(); local != want.LocalID || remote != 0 {
		t.Errorf("ids %v and %v", local, remote)
	}
	if again := want.AppendTo(got.MAD.AppendTo(nil)); !bytes.Equal(again, b) {
		t.Errorf("encoded\n% x, want\n% x", again, b)
	}

	// The packet in which the reference shows this message.
	p := ibta.Packet{
		BTH:     ibta.BTH{OpCode: ibta.UDSendOnly, Migrated: true, PKey: ibta.DefaultPKey, DestQP: ibta.GSI},
		DETH:    ibta.DETH{QKey: ibta.GSIQKey, SrcQP: ibta.GSI},
		Payload: b,
	}
	path := ibta.NewPath(netip.AddrPortFrom(src, 0xC000), netip.AddrPortFrom(dst, ibta.Port))
	packet := path.AppendICRC(0, p.AppendTo(nil))
	if icrc := packet[len(packet)-4:]; !bytes.Equal(icrc, unhex(t, "ac975d68")) || len(packet) != 308-28 {
		t.Errorf("ICRC % x, %d bytes", icrc, len(packet))
	}
}

// TestCMCaptured: the captured CM messages can be parsed. Those of kernel nodes, encoded again, have the same bytes.
func TestCMCaptured(t *testing.T) {
	var kinds [8]int
	for _, p := range captured(t) {
		packet, _ := ibta.ParsePacket(p.roce)
		if packet.DestQP != ibta.GSI {
			continue
		}
		m, err := parseCM(packet.Payload)
		if err != nil {
			t.Errorf("%s: %v", p.name, err)
			continue
		}
		if again := m.append(); p.kernel() && !bytes.Equal(again, packet.Payload) {
			t.Errorf("%s: encoded again\n% x, was\n% x", p.name, again, packet.Payload)
		}
		kinds[m.mad.Attribute-ibta.AttrREQ]++
	}
	for a, n := range map[ibta.Attribute]int{ibta.AttrREQ: 11, ibta.AttrREP: 4, ibta.AttrRTU: 4, ibta.AttrREJ: 7, ibta.AttrDREQ: 3, ibta.AttrDREP: 2} {
		if got := kinds[a-ibta.AttrREQ]; got%n != 0 || got == 0 {
			t.Errorf("%v: %d messages, want %d", a, got, n)
		}
	}
}

func TestMADRefused(t *testing.T) {
	good := unhex(t, connReq)
	for i, want := range map[int]error{0: ibta.ErrMAD, 1: ibta.ErrMAD, 2: ibta.ErrMAD, 3: ibta.ErrMAD, 16: ibta.ErrAttribute, 17: ibta.ErrAttribute} {
		b := bytes.Clone(good)
		b[i] ^= 0x80
		if _, _, err := ibta.ParseMAD(b); !errors.Is(err, want) {
			t.Errorf("byte %d: %v, want %v", i, err, want)
		}
	}
}

func TestIPCM(t *testing.T) {
	for _, h := range []ibta.IPCM{
		{1023, netip.MustParseAddr("10.88.0.2"), netip.MustParseAddr("10.88.0.1")},
		{2000, netip.MustParseAddr("fd88::2"), netip.MustParseAddr("fd88::1")},
	} {
		b := append(h.AppendTo(nil), "user"...)
		got, user, err := ibta.ParseIPCM(b)
		if got != h || string(user) != "user" || err != nil || len(b) != ibta.IPCMSize+4 {
			t.Errorf("%v: %v, %q, %v", h, got, user, err)
		}
		for n := range ibta.IPCMSize {
			if _, _, err := ibta.ParseIPCM(b[:n]); err != ibta.ErrShort {
				t.Errorf("%d bytes: %v", n, err)
			}
		}
		for i, c := range map[int]byte{0: 1, 1: 0x50} {
			bad := bytes.Clone(b)
			bad[i] = c
			if _, _, err := ibta.ParseIPCM(bad); err != ibta.ErrIPCM {
				t.Errorf("byte %d is %#x: %v", i, c, err)
			}
		}
	}
}

func TestNames(t *testing.T) {
	if s, port, ok := ibta.PortSpaceTCP.Service(987).Port(); s != ibta.PortSpaceTCP || port != 987 || !ok {
		t.Error("service of port 987", s, port, ok)
	}
	if _, _, ok := ibta.ServiceID(1 << 32).Port(); ok {
		t.Error("a service id that is no port's")
	}
	got := strings.Join([]string{
		ibta.AttrREQ.String(), ibta.AttrAPR.String(), ibta.Attribute(2).String(), ibta.RejectConsumer.String(),
		ibta.RejectReason(34).String(), ibta.RejectReason(99).String(),
	}, ", ")
	if want := "REQ, APR, attribute 0x2, consumer defined, reason 34, reason 99"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

func FuzzCM(f *testing.F) {
	for _, m := range each {
		f.Add(m.append())
	}
	for _, p := range captured(f)[:repositoryPackets] {
		if packet, _ := ibta.ParsePacket(p.roce); packet.DestQP == ibta.GSI {
			f.Add(packet.Payload)
		}
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		m, err := parseCM(b)
		if err != nil {
			return
		}
		again, err := parseCM(m.append())
		if diff := cmp.Diff(m, again, cmp.AllowUnexported(cmMessage{})); err != nil || diff != "" {
			t.Fatalf("%v (-parsed +again)\n%s", err, diff)
		}
		if r, ok := m.body.(*ibta.REQ); ok {
			if h, _, err := ibta.ParseIPCM(r.Private); err == nil {
				if got, _, err := ibta.ParseIPCM(h.AppendTo(nil)); err != nil || got != h {
					t.Fatalf("%v, %v, was %v", got, err, h)
				}
			}
		}
	})
}
