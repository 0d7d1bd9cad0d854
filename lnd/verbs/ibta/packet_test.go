package ibta_test

import (
	"bytes"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ulnet/lnd/verbs/ibta"
)

var packetGolden = []struct {
	name string
	want ibta.Packet
	hex  string // packet without ICRC; blanks separate fields
	text string
}{
	{
		"SEND ONLY, every flag",
		ibta.Packet{
			BTH: ibta.BTH{
				OpCode: ibta.SendOnly, Solicited: true, Migrated: true, Pad: 3, PKey: 0x7FFF, FECN: true, BECN: true,
				DestQP: 0x123456, AckReq: true, PSN: 0x654321,
			},
			Payload: []byte{9, 8, 7, 6, 5},
		},
		"04 f0 7fff c0 123456 80 654321 0908070605 000000", "SEND ONLY",
	},
	{
		"WRITE FIRST",
		ibta.Packet{
			BTH:     ibta.BTH{OpCode: ibta.WriteFirst, PKey: ibta.DefaultPKey, DestQP: 0x11, PSN: 1},
			RETH:    ibta.RETH{Address: 0xFF1CC4BB9639E000, RKey: 0x22A8, Length: 1 << 20},
			Payload: []byte{1, 2, 3, 4},
		},
		"06 00 ffff 00 000011 00 000001 ff1cc4bb9639e000 000022a8 00100000 01020304", "WRITE FIRST",
	},
	{
		"WRITE ONLY with immediate",
		ibta.Packet{
			BTH:       ibta.BTH{OpCode: ibta.WriteOnlyImm, DestQP: 2, PSN: 3},
			RETH:      ibta.RETH{Address: 1, RKey: 2, Length: 0},
			Immediate: 0xDEADBEEF,
		},
		"0b 00 0000 00 000002 00 000003 0000000000000001 00000002 00000000 deadbeef", "WRITE ONLY with immediate",
	},
	{
		"ACKNOWLEDGE",
		ibta.Packet{
			BTH:  ibta.BTH{OpCode: ibta.Acknowledge, PKey: ibta.DefaultPKey, DestQP: 0x4241, PSN: 0x3A105F},
			AETH: ibta.AETH{Syndrome: ibta.AckUnlimited, MSN: 0xABCDEF},
		},
		"11 00 ffff 00 004241 00 3a105f 1f abcdef", "ACKNOWLEDGE",
	},
	{
		"UD SEND ONLY with immediate",
		ibta.Packet{
			BTH:       ibta.BTH{OpCode: ibta.UDSendOnlyImm, PKey: ibta.DefaultPKey, DestQP: ibta.MulticastQPN},
			DETH:      ibta.DETH{QKey: ibta.CMQKey, SrcQP: 0xABCDEF},
			Immediate: 5, Payload: []byte{1, 2, 3, 4},
		},
		"65 00 ffff 00 ffffff 00 000000 01234567 00 abcdef 00000005 01020304", "UD SEND ONLY with immediate",
	},
	{
		"CNP",
		ibta.Packet{BTH: ibta.BTH{OpCode: ibta.CNP, PKey: ibta.DefaultPKey, BECN: true, DestQP: 0x118}},
		"81 00 ffff 40 000118 00 000000 00000000000000000000000000000000", "CNP",
	},
}

func TestPacketGolden(t *testing.T) {
	for _, tt := range packetGolden {
		t.Run(tt.name, func(t *testing.T) {
			want := unhex(t, tt.hex)
			packet := tt.want
			if got := packet.AppendTo(nil); !bytes.Equal(got, want) {
				t.Errorf("AppendTo:\n got %x\nwant %x", got, want)
			}
			whole := append(bytes.Clone(want), "ICRC"...)
			got, err := ibta.ParsePacket(whole)
			if diff := cmp.Diff(tt.want, got, cmp.Transformer("bytes", func(b []byte) string { return string(b) })); err != nil || diff != "" {
				t.Errorf("ParsePacket: %v (-want +got)\n%s", err, diff)
			}
			if got.OpCode.String() != tt.text {
				t.Errorf("text %q", got.OpCode)
			}
			for n := range len(want) - len(tt.want.Payload) - int(tt.want.Pad) + ibta.ICRCSize {
				if _, err := ibta.ParsePacket(whole[:n]); err != ibta.ErrShort {
					t.Errorf("%d bytes: %v", n, err)
				}
			}
		})
	}
}

func TestPacketRefused(t *testing.T) {
	tests := []struct {
		name, hex string
		err       error
	}{
		{"transport version 1", "04 01 ffff 00 000011 00 000001 00000000", ibta.ErrVersion},
		{"RDMA READ", "0c 00 ffff 00 000011 00 000001 00000000000000000000000000000000 00000000", ibta.ErrOpCode},
		{"unreliable connection", "24 00 ffff 00 000011 00 000001 00000000", ibta.ErrOpCode},
		{"padding without payload", "04 30 ffff 00 000011 00 000001 0000 00000000", ibta.ErrPad},
		{"WRITE FIRST without RETH", "06 00 ffff 00 000011 00 000001 00000000 00000000", ibta.ErrShort},
	}
	for _, tt := range tests {
		if _, err := ibta.ParsePacket(unhex(t, tt.hex)); err != tt.err {
			t.Errorf("%s: %v, want %v", tt.name, err, tt.err)
		}
	}
}

// TestPacketsCaptured: all captured packets can be parsed. Those of kernel nodes, encoded again, have the same bytes.
func TestPacketsCaptured(t *testing.T) {
	n := 0
	for _, p := range captured(t) {
		packet, err := ibta.ParsePacket(p.roce)
		if err != nil {
			t.Fatal(p.name, err)
		}
		if !p.kernel() {
			continue
		}
		n++
		if got := packet.AppendTo(nil); !bytes.Equal(got, p.roce[:len(p.roce)-ibta.ICRCSize]) {
			t.Errorf("%s: encoded again % x", p.name, got)
		}
	}
	if n < 20 {
		t.Errorf("%d packets of kernel nodes", n)
	}
}

func TestOpCodes(t *testing.T) {
	for o := range 256 {
		o := ibta.OpCode(o)
		if o.HasImmediate() && (!o.IsLast() || !o.IsRequest()) {
			t.Errorf("%v: immediate data", o)
		}
		if o.IsRequest() != (o.IsSend() || o.IsWrite()) || o.IsSend() && o.IsWrite() || o.IsUD() && !o.IsSend() {
			t.Errorf("%v: contradicts itself", o)
		}
		if o.HeaderSize() < ibta.BTHSize || !o.IsKnown() && o.HeaderSize() != ibta.BTHSize {
			t.Errorf("%v: %d bytes", o, o.HeaderSize())
		}
	}
	for o, want := range map[ibta.OpCode]string{
		ibta.SendLastImm: "SEND LAST with immediate", ibta.WriteLastImm: "WRITE LAST with immediate",
		0x0C: "READ REQUEST", 0x2A: "opcode 0x2a", 0xFF: "opcode 0xff",
	} {
		if o.String() != want {
			t.Errorf("%q, want %q", o, want)
		}
	}
}

func TestPSN(t *testing.T) {
	tests := []struct {
		a, b ibta.PSN
		diff int
	}{
		{0, 0, 0},
		{1, 0, 1},
		{0, 1, -1},
		{0, 0xFFFFFF, 1},
		{0xFFFFFF, 0, -1},
		{0x7FFFFF, 0, 1<<23 - 1},
		{0x800000, 0, -1 << 23},
		{5, 0xFFFFF0, 21},
	}
	for _, tt := range tests {
		if got := tt.a.Sub(tt.b); got != tt.diff {
			t.Errorf("%#x - %#x = %d, want %d", tt.a, tt.b, got, tt.diff)
		}
		if got := tt.b.Add(tt.diff); got != tt.a {
			t.Errorf("%#x + %d = %#x, want %#x", tt.b, tt.diff, got, tt.a)
		}
	}
}

func TestPKey(t *testing.T) {
	tests := []struct {
		a, b ibta.PKey
		want bool
	}{{0xFFFF, 0xFFFF, true}, {0xFFFF, 0x7FFF, true}, {0x7FFF, 0x7FFF, false}, {0xFFFF, 0xFFFE, false}, {0x8001, 0x0001, true}}
	for _, tt := range tests {
		if tt.a.Matches(tt.b) != tt.want || tt.b.Matches(tt.a) != tt.want {
			t.Errorf("%#x with %#x: want %v", tt.a, tt.b, tt.want)
		}
	}
}

func FuzzPacket(f *testing.F) {
	for _, p := range captured(f)[:repositoryPackets] { // the packets that the repository has
		f.Add(p.roce)
	}
	for _, g := range packetGolden {
		f.Add(append(unhex(f, g.hex), "ICRC"...))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		p, err := ibta.ParsePacket(b)
		if err != nil {
			return
		}
		again, err := ibta.ParsePacket(append(p.AppendTo(nil), "ICRC"...))
		p.Pad = ibta.Pad(len(p.Payload)) // the pad count that belongs to this payload
		if diff := cmp.Diff(p, again); err != nil || diff != "" {
			t.Fatalf("%v (-parsed +again)\n%s", err, diff)
		}
	})
}

func TestNoAllocation(t *testing.T) {
	packets := captured(t)[:repositoryPackets]
	path := packets[0].path()
	buf := make([]byte, 0, 8192)
	var mads int
	allocs := testing.AllocsPerRun(20, func() {
		for i := range packets {
			p, _ := ibta.ParsePacket(packets[i].roce)
			b := p.AppendTo(buf)
			b = path.AppendICRC(0, b)
			path.CheckAny(b)
			m, err := ibta.ParseCM(p.Payload)
			if err != nil {
				continue
			}
			mads++
			b = m.MAD.AppendTo(buf)
			switch m.MAD.Attribute {
			case ibta.AttrREQ:
				m.REQ.AppendTo(b)
				h, _, _ := ibta.ParseIPCM(m.REQ.Private)
				h.AppendTo(buf)
			case ibta.AttrREP:
				m.REP.AppendTo(b)
			case ibta.AttrREJ:
				m.REJ.AppendTo(b)
			}
		}
	})
	if allocs != 0 || mads == 0 {
		t.Errorf("%v allocations, want none; %d CM messages", allocs, mads)
	}
}
