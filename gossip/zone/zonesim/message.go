package zonesim

import (
	"time"

	"ulnet/gossip/zone/wire"
	"ulnet/lnd/sim/scenario/kit"
)

// message is a message in flight: within a zone, or between zones.
type message struct {
	zone     wire.Message
	dispatch *wire.Dispatch
	sent     time.Duration // time at which the message was sent, by the network's clock
}

// hash returns a digest of a message. Of its lists only the lengths are in the digest, because
// their contents follow from steps that are in the digest already.
func hash(m *message) uint64 {
	if d := m.dispatch; d != nil {
		h := mix(uint64(d.Kind)<<16|uint64(d.Flags), d.Activation)
		h = mix(mix(h, d.Hash), d.Registration)
		return mix(h, uint64(d.Size)<<40|uint64(len(d.Joined))<<20|uint64(len(d.Left)))
	}
	z := &m.zone
	h := mix(uint64(z.Kind)<<48|uint64(z.Flags)<<16|uint64(z.Roles)<<8|uint64(z.Reason), uint64(z.From)<<32|uint64(z.About))
	h = mix(mix(h, z.Version.Inc), uint64(z.Version.Minor)<<32|uint64(z.AboutVersion.Minor))
	h = mix(mix(h, z.Hash), z.Tables)
	if l := z.Lists; l != nil {
		h = mix(h, uint64(len(l.Alive))<<32|uint64(len(l.Suspicions))<<16|uint64(len(l.Leaves)))
		h = mix(h, uint64(len(l.Removed))<<32|uint64(len(l.Tables))<<16|uint64(len(l.Data)))
	}
	return h
}

func mix(h, w uint64) uint64 { return kit.Mix(h, w^0xA0761D6478BD642F) }
