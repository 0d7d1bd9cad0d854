package replay

import (
	"net/netip"

	"ulnet/lnd/o2iblnd/kib"
	"ulnet/lnd/verbs/ibta"
)

// AddChecksums gives the messages of a host the checksums that it would send with cksum=1, or no
// checksums if c is Unknown. It is called before the play.
func (s *Script) AddChecksums(host netip.Addr, c kib.Counting) {
	for i := range s.Packets {
		p := &s.Packets[i]
		if m := p.message(); m != nil && p.From.Addr() == host {
			m.Checksum = sumOf(m, c)
			p.seal()
		}
	}
}

// message is the o2iblnd message in a packet, nil if there is none.
func (p *Packet) message() *kib.Msg {
	if p.CM != nil {
		return p.CM.Msg
	}
	return p.Msg
}

func sumOf(m *kib.Msg, c kib.Counting) uint32 {
	if c == kib.Unknown {
		return 0
	}
	b, err := m.AppendBinary(nil)
	if err != nil {
		return 0 // the packet was parsed, so this cannot happen
	}
	return kib.Checksum(b, c)
}

// Checksums permits the checksums of a node that has cksum=1 and talks to a host that computes
// checksums as c says: the node's connection requests have none, and all its other messages have
// the checksum that the host would compute.
func Checksums(c kib.Counting) Difference {
	return Difference{
		What: "checksum", Reason: "the recorded node had none",
		Adapt: func(_ *Differences, want, _ *Packet) (bool, error) {
			m := want.message()
			if m == nil || want.CM != nil && want.CM.MAD.Attribute == ibta.AttrREQ {
				return false, nil
			}
			m.Checksum = sumOf(m, c)
			return true, nil
		},
	}
}
