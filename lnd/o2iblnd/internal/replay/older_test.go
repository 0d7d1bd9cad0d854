package replay

import "ulnet/lnd/verbs/ibta"

// OlderAndImprovised are the further differences that are permitted in recordings of
// connection setups: their nodes were kernels of version 6.1 and an improvised peer.
var OlderAndImprovised = []Difference{olderLifetime, improvisedRate, improvisedLabel}

// olderLifetime is what kernels up to 6.1 say: a packet lives for 2^18 units of
// 4.096 µs. Newer ones say 2^16, and so do we.
var olderLifetime = Difference{
	What: "ACK timeout", Reason: "the lifetime of packets over RoCE was made shorter in Linux 6.2 (rocev2 §7): 17 for 19",
	Adapt: func(_ *Differences, want, node *Packet) (bool, error) {
		if want.CM == nil || want.CM.MAD.Attribute != ibta.AttrREQ || want.CM.REQ.Primary.AckTimeout != 19 || node.CM.REQ.Primary.AckTimeout != 17 {
			return false, nil
		}
		want.CM.REQ.Primary.AckTimeout = 17
		return true, nil
	},
}

// improvisedRate: the improvised peer says that its link has 10 Gb/s. Kernels whose
// device has no speed say 0, and so do we.
var improvisedRate = Difference{
	What: "packet rate", Reason: "the improvised peer is no reference; kernels without a speed say 0 (rocev2 §13)",
	Adapt: func(_ *Differences, want, node *Packet) (bool, error) {
		if want.CM == nil || want.CM.MAD.Attribute != ibta.AttrREQ || want.CM.REQ.Primary.Rate != 3 || node.CM.REQ.Primary.Rate != 0 {
			return false, nil
		}
		want.CM.REQ.Primary.Rate = 0
		return true, nil
	},
}

// improvisedLabel: the improvised peer says flow label 0x7fbc whatever its ports are.
var improvisedLabel = Difference{
	What: "flow label", Reason: "the improvised peer is no reference; kernels make it of the ports (rocev2 §13)",
	Adapt: func(_ *Differences, want, node *Packet) (bool, error) {
		if want.CM == nil || want.CM.MAD.Attribute != ibta.AttrREQ || want.CM.IP == nil {
			return false, nil
		}
		_, port, _ := want.CM.REQ.ServiceID.Port()
		label := (uint32(want.CM.IP.SrcPort)*31 + uint32(port)) & 0xFFFFF
		differs := want.CM.REQ.Primary.FlowLabel != label
		want.CM.REQ.Primary.FlowLabel = label
		return differs, nil
	},
}
